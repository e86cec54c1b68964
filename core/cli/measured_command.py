"""``measured``: a measured run of a real server against the simulator's clock in seconds."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.cli import ABNORMAL, DONE
from core.faults import Fault, ScenarioError
from core.measured import measured_machine, measured_scenario, read_measured
from core.measured_check import Comparison, compare_measured
from core.simulator import simulate

HELP = "hold a measured run (requests.jsonl, timeseries.csv, meta.json) against the simulator"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """DIR, --within, --gpu, --efficiency."""
    parser.add_argument("dir", metavar="DIR", type=Path, help="the folder with the three files")
    parser.add_argument("--within", metavar="PERCENT", type=float,
                        help="exit 1 where a mean of TTFT, TPOT or latency is off by more")
    parser.add_argument("--gpu", metavar="NAME", help="the GPU, where the folder names none")
    parser.add_argument("--efficiency", metavar="SHARE", type=float,
                        help="share of the GPU's peaks, instead of the fitted one")


def run(arguments: argparse.Namespace) -> int:
    """Print measured, simulated, difference."""
    measured = read_measured(arguments.dir)
    machine = measured_machine(measured, arguments.gpu)
    if arguments.efficiency is not None:
        if not 0 < arguments.efficiency <= 1:
            raise ScenarioError([Fault("--efficiency", arguments.efficiency,
                                       "must be above 0 and at most 1")])
        machine = machine.model_copy(update={"compute_efficiency": arguments.efficiency,
                                             "memory_efficiency": arguments.efficiency})
    trace = simulate(measured_scenario(measured, machine))
    rates, gpu = machine.rates(), machine.hardware
    print(f"{measured.name}: {len(measured.requests)} requests, {machine.model} on {machine.gpu}, "
          f"{rates.flops / gpu.tflops / 1e12:.0%} of peak compute, "
          f"{rates.memory / gpu.bandwidth_gb_s / 1e9:.0%} of peak bandwidth")
    print(f"{'':<24}{'measured':>12}{'simulated':>12}{'difference':>12}")
    rows = compare_measured(measured, trace)
    for row in rows:
        print(_line(row))
    if arguments.within is None:
        return DONE
    off = [row.key for row in rows
           if row.statistic == "mean" and not abs(row.difference) <= arguments.within / 100]
    means = ", ".join(off) if off else "none"
    print(f"means off by more than {arguments.within:g} %: {means}")
    return ABNORMAL if off else DONE


def _line(row: Comparison) -> str:
    is_time = row.key.endswith("_s")
    scale, unit = (1000, "ms") if is_time else (1, "")
    name = f"{row.key.removesuffix('_s')} {row.statistic} {unit}".strip()
    decimals = 1 if is_time else 0
    return (f"{name:<24}{row.measured * scale:>12,.{decimals}f}"
            f"{row.simulated * scale:>12,.{decimals}f}{row.difference:>+12.1%}")
