"""``presets``: the ready scenarios with their titles and lessons."""

from __future__ import annotations

import argparse

from core.cli import DONE
from core.presets import FOLDER, groups, load_presets

HELP = "list the presets, each with its title and its lesson"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(arguments: argparse.Namespace) -> int:
    """Print the presets, by group, in the order of their file names."""
    for group, presets in groups(load_presets()):
        print(group)
        for preset in presets:
            print(f"  {FOLDER.name}/{preset.name}.json: {preset.title}")
            print(f"      {preset.lesson}")
    return DONE
