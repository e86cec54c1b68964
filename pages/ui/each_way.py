"""The same run under swap, recompute and compressed swap, computed once for each machine."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.cost.codecs import Codec
from core.cost.machine import Machine
from core.figures.parts import digits
from core.figures.states_each_way import StatesOverTime, states_over_time
from core.metrics import metrics
from core.scenario import Scenario
from core.swap_or_recompute import Way, same_run_each_way
from core.trace import Outcome, Trace
from pages.ui.numbers import size

MOST_REQUESTS = 400


class Run(NamedTuple):
    """One way."""

    states: StatesOverTime
    column: dict[str, str]
    """Label and value of each line of the table."""
    ended: str
    """Why it did not finish; empty if it did."""


def with_codec(machine: Machine, codec: Codec | None) -> Machine:
    """The machine with the codec's speeds on its GPU."""
    if codec is None:
        return machine
    bandwidth = machine.hardware.bandwidth_gb_s
    return machine.model_copy(update={
        "compress_gb_s": codec.compress_share * bandwidth,
        "decompress_gb_s": codec.decompress_share * bandwidth})


@st.cache_data(max_entries=64, show_spinner="Running it each way ...",
               hash_funcs={Scenario: Scenario.to_json, Machine: Machine.model_dump_json})
def each_way(scenario: Scenario, scheduler: str, machine: Machine,
             codec: Codec | None) -> dict[Way, Run]:
    """The runs on the machine, by way; without a codec none is compressed.

    Raises:
        ScenarioError: if the scheduler refuses the knobs.
    """
    knobs = {"compression_min_blocks": 0, **({"compression_ratio": codec.ratio} if codec else {})}
    asked = scenario.model_copy(update={"scheduler": scheduler, "clock": "seconds",
                                        "machine": machine}).with_knobs(**knobs)
    runs = same_run_each_way(asked)
    ways: tuple[Way, ...] = ("swap", "compressed_swap", "recompute")
    return {way: _run(runs[way]) for way in ways
            if way in runs and (codec or way != "compressed_swap")}


def _run(trace: Trace) -> Run:
    found = metrics(trace)
    totals, summary = found.totals, found.summary
    finished = int((found.requests["outcome"] == "finished").sum())
    column = {
        "whole run, s": digits(trace.end_s(trace.num_steps)),
        "output tokens/s": digits(totals["output_throughput"]),
        "E2EL mean, ms": digits(1000 * summary.loc["e2el_s", "mean"]),
        "E2EL p99, ms": digits(1000 * summary.loc["e2el_s", "p99"]),
        "TPOT mean, ms": digits(1000 * summary.loc["tpot_s", "mean"]),
        "swapped out": f"{sum(row.num_swaps for row in trace.request_rows):,}",
        "over the link": size(totals["swapped_bytes"] or 0.0),
        "recomputed": f"{totals['num_preemptions']:,.0f}",
        "tokens recomputed": f"{totals['num_recomputed_tokens']:,.0f}",
    }
    ended = "" if trace.end.outcome is Outcome.FINISHED else (
        f"the run is {trace.end.outcome.value} in step {trace.end.step:,}"
        + (f": {trace.end.message}" if trace.end.message else "")
        + f"; {finished} of {len(found.requests)} requests had finished.")
    return Run(states_over_time(trace), column, ended)
