"""``import FILE``: a trace in any known format, its summary, and a scenario of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.cli import DONE
from core.cli.inputs import add_workload_arguments, scenario_from, workload_from, write_file
from core.cli.run_command import for_traces_only, holds_scenario, scenario_of
from core.faults import Fault, ScenarioError
from core.workloads.summary import sentences

HELP = "read a trace in any known format, print its summary, write a scenario of it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, what to take of them, and --out."""
    add_workload_arguments(parser)
    parser.set_defaults(scheduler=None, like=None)
    parser.add_argument("--out", metavar="FILE", type=Path, help="write a scenario here, as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the summary; write the scenario if asked to. A scenario file of which nothing else is
    wanted is taken with its scheduler and knobs."""
    if holds_scenario(arguments.files[0]) and not for_traces_only(arguments):
        scenario = scenario_of(arguments)
        print(f"{scenario.name}: {len(scenario.requests):,} requests for {scenario.scheduler},"
              " with its knobs.")
        if arguments.out is not None:
            write_file(arguments.out, scenario.to_json().encode() + b"\n")
        return DONE
    workload = workload_from(arguments)
    if not workload.rows:
        raise ScenarioError([Fault("rows", 0, "no request is left: take more of the file")])
    for line in sentences(workload.summary):
        print(line)
    if arguments.out is not None:
        arguments.scheduler = arguments.scheduler or "vllm_v1"
        scenario = scenario_from(arguments, workload)
        write_file(arguments.out, scenario.to_json().encode() + b"\n")
    return DONE
