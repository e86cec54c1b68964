"""``run FILE [--set KNOB=VALUE] [--out DIR]``: a scenario or any trace file, and its tables."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from core.checked import json_data
from core.cli import ABNORMAL, DONE
from core.cli.inputs import (
    OPTION_HELP,
    SLICE_HELP,
    add_workload_arguments,
    file_bytes,
    knobs_from,
    scenario_from,
    workload_from,
)
from core.explain import end_sentence
from core.export.csv import all_csv
from core.faults import Fault, ScenarioError
from core.presets import totals
from core.runnable import runnable
from core.scenario import Scenario
from core.simulator import simulate
from core.trace import Outcome, Trace
from core.workloads.requests import to_requests

HELP = "run a scenario, a preset or any trace file; print a summary, write the tables as CSV"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, how to read a trace file, --set and --out."""
    add_workload_arguments(parser)
    parser.set_defaults(scheduler=None)
    parser.add_argument("--like", metavar="FILE", type=Path,
                        help="run a trace file's requests with the engine of this scenario")
    parser.add_argument("--out", metavar="DIR", type=Path,
                        help="folder for the CSV files; it is made if it does not exist")


def run(arguments: argparse.Namespace) -> int:
    """Run the scenario to its end."""
    trace = simulate(scenario_of(arguments))
    for line in summary(trace):
        print(line)
    if arguments.out is not None:
        write_tables(trace, arguments.out)
    return DONE if trace.end.outcome is Outcome.FINISHED else ABNORMAL


def scenario_of(arguments: argparse.Namespace) -> Scenario:
    """What the file and the arguments describe.

    Raises:
        ScenarioError: if a file cannot be read, or what it holds or a knob is refused.
    """
    data = _scenario_data(file_bytes(arguments.files[0]))
    if data is None:
        return _traced(arguments)
    if wrong := for_traces_only(arguments):
        raise ScenarioError(wrong)
    knobs = knobs_from(arguments.knobs)
    if isinstance(config := data.get("config", {}), dict):
        data = {**data, "config": {**config, **knobs}}
    if arguments.scheduler:
        data = {**data, "scheduler": arguments.scheduler}
    return runnable(data)


def _traced(arguments: argparse.Namespace) -> Scenario:
    """The requests of a trace file, with the engine of --like or one that fits them."""
    workload = workload_from(arguments)
    if arguments.like is None:
        arguments.scheduler = arguments.scheduler or "vllm_v1"
        return scenario_from(arguments, workload)
    data = read_scenario(arguments.like).with_knobs(**knobs_from(arguments.knobs)).model_dump()
    requests = [r.model_dump() for r in to_requests(workload, arguments.seconds_per_step)]
    scheduler = arguments.scheduler or data["scheduler"]
    return Scenario.parse({**data, "requests": requests, "scheduler": scheduler})


def for_traces_only(arguments: argparse.Namespace) -> list[Fault]:
    """What was given that says how to read a trace file; a scenario is taken as it is."""
    names = (*SLICE_HELP, *OPTION_HELP, "seconds_per_step", "gpu", "model", "tensor_parallel")
    return [Fault(f"--{name.replace('_', '-')}", value, "is for trace files, not for a scenario")
            for name in names if (value := getattr(arguments, name)) is not None]


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file, alone or as the "scenario" of a preset.

    Raises:
        ScenarioError: if the file cannot be read or what it holds is refused.
    """
    text = file_bytes(path)
    data = _scenario_data(text)
    return Scenario.parse(json_data(text) if data is None else data)


def holds_scenario(path: Path) -> bool:
    """Whether the file is a scenario or a preset, and not a trace."""
    return _scenario_data(file_bytes(path)) is not None


def _scenario_data(text: bytes) -> Any:
    """The plain data of a scenario or of a preset's; None if the file holds neither."""
    try:
        data = json_data(text)
    except ScenarioError:
        if text.lstrip().startswith(b"{") and not _is_json_lines(text):
            raise
        return None
    if not isinstance(data, dict):
        return None
    data = data.get("scenario", data)
    return data if isinstance(data, dict) and not {"requests", "config", "scheduler"}.isdisjoint(
        data) else None


def _is_json_lines(text: bytes) -> bool:
    """Whether the first line alone is a JSON object, as in traces with one object per line."""
    try:
        return isinstance(json.loads(text.lstrip().split(b"\n", 1)[0]), dict)
    except (ValueError, RecursionError):
        return False


def write_tables(trace: Trace, folder: Path) -> None:
    """Write the CSV files and say which.

    Raises:
        ScenarioError: if the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in all_csv(trace).items():
            (folder / name).write_bytes(content)
            print(f"wrote {folder / name}")
    except OSError as error:
        raise ScenarioError([Fault("--out", str(folder), error.strerror or str(error))]) from None


def summary(trace: Trace) -> list[str]:
    """The run in a few lines: how it ended, and its totals."""
    numbers = {name: value for name, value in totals(trace).items()
               if isinstance(value, int) and name != "num_steps"}
    width = max(map(len, numbers))
    return [
        f"{trace.scenario.name} ({trace.scenario.scheduler})",
        end_sentence(trace),
        *(f"  {name:<{width}} {value:>8}" for name, value in numbers.items()),
    ]
