"""``replay FILE...``: recordings of the real engines held against the model."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "replay recordings of the real engines and say where the model differs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files."""
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+",
                        help="recordings, as JSON or gzipped JSON")


def run(arguments: argparse.Namespace) -> int:
    """Replay each file."""
    from core import replay

    return replay.main(arguments.files)
