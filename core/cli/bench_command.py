"""``bench``: how fast runs are, with their full record, on three seeded workloads."""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

from core.cli import DONE
from core.faults import Fault, ScenarioError
from core.scenario import Scenario
from core.schedulers import schedulers
from core.simulator import simulate
from core.workloads.shapes import SHAPES

HELP = "measure requests and steps per second on three seeded workloads"

COUNTS = (1_000, 10_000)
QUICK = (200, 1_000)


class Measurement(NamedTuple):
    """One run and the processor time that it took."""

    num_requests: int
    num_steps: int
    seconds: float
    outcome: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--scheduler and --quick."""
    parser.add_argument("--scheduler", metavar="NAME", default="article_repaired",
                        help="a scheduler's name, or all (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"only {QUICK} requests")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print a line for each run."""
    chosen = _chosen(arguments.scheduler)
    print(f"{'scheduler':<18}{'shape':<10}{'requests':>9}{'steps':>9}{'seconds':>9}"
          f"{'requests/s':>12}{'steps/s':>10}  outcome")
    for scheduler in chosen:
        for shape in SHAPES:
            for count in QUICK if arguments.quick else COUNTS:
                found = measure(scheduler, shape, count)
                print(f"{scheduler:<18}{shape:<10}{count:>9,}{found.num_steps:>9,}"
                      f"{found.seconds:>9.2f}{count / found.seconds:>12,.0f}"
                      f"{found.num_steps / found.seconds:>10,.0f}  {found.outcome}", flush=True)
    return DONE


def measure(scheduler: str, shape: str, count: int) -> Measurement:
    """Run so many requests of a shape. The time is that of ``simulate`` alone."""
    requests, config = SHAPES[shape]
    scenario = Scenario(name=shape, scheduler=scheduler, config=config,
                        requests=tuple(requests(count)), max_steps=100_000_000)
    start = time.process_time()
    trace = simulate(scenario)
    seconds = max(time.process_time() - start, 1e-9)
    return Measurement(count, trace.num_steps, seconds, trace.end.outcome.value)


def _chosen(name: str) -> list[str]:
    """The schedulers to measure.

    Raises:
        ScenarioError: if there is none of this name.
    """
    known = list(schedulers())
    if name == "all":
        return known
    if name not in known:
        raise ScenarioError([Fault("--scheduler", name, f"must be one of {', '.join(known)}")])
    return [name]
