"""``run FILE [--out DIR]``: one scenario, its summary, and its tables as CSV."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.checked import json_data
from core.cli import ABNORMAL, DONE
from core.explain import end_sentence
from core.export.csv import tables_csv
from core.faults import Fault, ScenarioError
from core.presets import totals
from core.scenario import Scenario
from core.simulator import simulate
from core.trace import Outcome, Trace

HELP = "run a scenario (its JSON, or a preset file), print a summary, write the tables as CSV"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE and --out."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a scenario or a preset, as JSON")
    parser.add_argument("--out", metavar="DIR", type=Path,
                        help="folder for the CSV files; it is made if it does not exist")


def run(arguments: argparse.Namespace) -> int:
    """Run the scenario to its end."""
    scenario = read_scenario(arguments.file)
    trace = simulate(scenario)
    for line in summary(trace):
        print(line)
    if arguments.out is not None:
        write_tables(trace, arguments.out)
    return DONE if trace.end.outcome is Outcome.FINISHED else ABNORMAL


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file, alone or as the "scenario" of a preset.

    Raises:
        ScenarioError: if the file cannot be read or what it holds is refused.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ScenarioError([Fault("FILE", str(path), error.strerror or str(error))]) from None
    data = json_data(text)
    if isinstance(data, dict) and "scenario" in data:
        data = data["scenario"]
    return Scenario.parse(data)


def write_tables(trace: Trace, folder: Path) -> None:
    """Write the CSV files and say which.

    Raises:
        ScenarioError: if the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in tables_csv(trace).items():
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
