"""``import FILE``: a trace in any known format, its summary, and a scenario of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.cli import DONE
from core.cli.inputs import add_workload_arguments, scenario_from, workload_from, write_file
from core.faults import Fault, ScenarioError
from core.workloads.summary import sentences

HELP = "read a trace in any known format, print its summary, write a scenario of it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, what to take of them, and --out."""
    add_workload_arguments(parser)
    parser.add_argument("--out", metavar="FILE", type=Path, help="write a scenario here, as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the summary; write the scenario if asked to."""
    workload = workload_from(arguments)
    if not workload.rows:
        raise ScenarioError([Fault("rows", 0, "no request is left: take more of the file")])
    for line in sentences(workload.summary):
        print(line)
    if arguments.out is not None:
        scenario = scenario_from(arguments, workload)
        write_file(arguments.out, scenario.to_json().encode() + b"\n")
    return DONE
