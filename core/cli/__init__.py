"""The command line. A command is a file in this folder, added to COMMANDS.

It has HELP (one line), ``add_arguments(parser)`` and ``run(arguments)``, which returns the exit
code: 0 if all went well, 1 if a run ended abnormally, 2 if the input was refused. A ScenarioError
that it lets through is an input refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from core.faults import ScenarioError

DONE, ABNORMAL, REFUSED = 0, 1, 2
"""Exit codes."""

COMMANDS = ("run", "import", "export", "presets", "replay", "measured", "bench")
"""Names of the commands, each that of its file with ``_command`` behind it."""


def main(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name.

    Returns:
        The exit code. Wrong arguments exit with 2, as argparse does.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        code: int = given.run(given)
    except ScenarioError as error:
        for fault in error.faults:
            print(fault, file=sys.stderr)
        return REFUSED
    except BrokenPipeError:  # whoever read the output has seen enough
        sys.stdout = None
        return DONE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core", description="A deterministic model of vLLM's schedulers.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        command = import_module(f"{__name__}.{name}_command")
        one = commands.add_parser(name, help=command.HELP, description=command.HELP)
        command.add_arguments(one)
        one.set_defaults(run=command.run)
    return parser
