"""The serving metrics of a run, per request and overall. metric_names.py says what each means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.cost.seconds import StepCost
from core.memory_use import memory_use
from core.metric_names import DURATIONS, STATISTICS
from core.token_times import TokenTimes, token_times
from core.trace import Kind, State, Trace

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Objectives:
    """What a request must keep to count for the goodput. None asks nothing."""

    ttft_s: float | None = None
    tpot_s: float | None = None


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of a run."""

    requests: pd.DataFrame
    """One row per request: INSTANTS, DURATIONS without ITL, COUNTS. NaN where it never was."""
    itl_s: Floats
    """The inter-token latencies of all finished requests."""
    summary: pd.DataFrame
    """One row per duration of DURATIONS, with its STATISTICS over the finished requests."""
    totals: dict[str, float | None]
    """TOTALS by key; None where it cannot be known."""


def metrics(trace: Trace, objectives: Objectives | None = None) -> Metrics:
    """Every metric of a run.

    Args:
        objectives: what the goodput asks for; by default nothing, and it is the throughput.
    """
    times = token_times(trace)
    ends = np.array([trace.end_s(step) for step in range(trace.num_steps)])
    requests = _requests(trace, times, ends)
    done = requests["outcome"] == State.FINISHED.value
    itl = _itl(times, ends, np.asarray(done))
    finished = requests[done]
    summary = pd.DataFrame(
        {m.key: _statistics(itl if m.key == "itl_s" else finished[m.key].to_numpy())
         for m in DURATIONS}, index=list(STATISTICS)).T
    totals = _throughput(trace, finished, objectives or Objectives())
    for key in ("num_preemptions", "num_recomputed_tokens", "num_swapped_blocks"):
        totals[key] = float(requests[key].sum())
    machine = trace.scenario.machine
    totals["swapped_bytes"] = None if machine is None else float(requests["swapped_bytes"].sum())
    totals |= _memory(trace, times)
    return Metrics(requests, itl, summary, totals)


def _requests(trace: Trace, times: TokenTimes, ends: Floats) -> pd.DataFrame:
    asked, rows = trace.scenario.requests, trace.request_rows
    first, counts = times.first[:-1], np.diff(times.first)
    done = np.array([row.state is State.FINISHED for row in rows], dtype=bool)
    some = counts > 0
    frame = pd.DataFrame({"request_id": [r.request_id for r in asked],
                          "outcome": [row.state.value for row in rows]})
    frame["arrival_s"] = [
        trace.start_s(r.arrival_step) if r.arrival_s is None else r.arrival_s for r in asked
    ]
    frame["scheduled_s"] = [
        np.nan if row.first_scheduled_step is None else trace.start_s(row.first_scheduled_step)
        for row in rows
    ]
    frame["first_token_s"] = np.nan
    frame.loc[some, "first_token_s"] = ends[times.steps[first[some]]]
    frame["last_token_s"] = np.nan
    frame.loc[done, "last_token_s"] = ends[times.steps[times.first[1:][done] - 1]]
    frame["queue_s"] = frame["scheduled_s"] - frame["arrival_s"]
    frame["ttft_s"] = frame["first_token_s"] - frame["arrival_s"]
    between = np.where(counts > 1, counts - 1, np.nan)
    frame["tpot_s"] = (frame["last_token_s"] - frame["first_token_s"]) / between
    frame["e2el_s"] = frame["last_token_s"] - frame["arrival_s"]
    frame["normalized_latency_s"] = frame["e2el_s"] / np.where(some, counts, np.nan)
    frame["num_output_tokens"] = counts
    frame["num_preemptions"] = [row.num_preemptions for row in rows]
    frame["num_recomputed_tokens"] = times.num_recomputed
    frame["num_swaps"] = [row.num_swaps for row in rows]
    frame["num_swapped_blocks"] = _swapped_blocks(trace)
    frame["swapped_bytes"] = frame["num_swapped_blocks"] * _block_bytes(trace)
    frame["prompt_len"] = [r.prompt_len for r in asked]
    return frame


def _swapped_blocks(trace: Trace) -> list[int]:
    """For each request the blocks that crossed the host link, as small as they were then."""
    moved = [0] * len(trace.request_rows)
    out: dict[int, tuple[int, int]] = {}
    for event in trace.event_rows:
        if event.request is None:
            continue
        if event.kind in (Kind.SWAPPED_OUT, Kind.SWAPPED_IN):
            moved[event.request] += event.num_tokens
            out[event.request] = (event.step, event.num_tokens)
        elif event.kind is Kind.COMPRESSED and out[event.request][0] == event.step:
            moved[event.request] -= out[event.request][1] - event.num_tokens
    return moved


def _block_bytes(trace: Trace) -> float:
    """Bytes of a block on all GPUs together; NaN without a machine."""
    machine = trace.scenario.machine
    if machine is None:
        return np.nan
    cost = StepCost(machine, trace.scenario.config.block_size)
    return float(cost.block_bytes * machine.tensor_parallel)


def _itl(times: TokenTimes, ends: Floats, done: NDArray[np.bool_]) -> Floats:
    """Gaps between the tokens of finished requests."""
    if len(times.steps) < 2:
        return np.zeros(0)
    gaps = np.diff(ends[times.steps])
    within = np.ones(len(gaps), dtype=bool)
    borders = times.first[1:-1]  # the gap before a request's first token belongs to nobody
    within[borders[(borders > 0) & (borders < len(times.steps))] - 1] = False
    of_done = np.repeat(done, np.diff(times.first))[1:]
    return np.asarray(gaps[within & of_done])


def _statistics(values: Floats) -> list[float]:
    values = values[~np.isnan(values)]
    if not len(values):
        return [np.nan] * len(STATISTICS)
    return [float(np.mean(values)), *(float(np.percentile(values, p)) for p in (50, 90, 99))]


def _throughput(trace: Trace, finished: pd.DataFrame,
                objectives: Objectives) -> dict[str, float | None]:
    """Counts and rates of the finished requests."""
    kept = pd.Series(True, index=finished.index)
    if objectives.ttft_s is not None:
        kept &= finished["ttft_s"] <= objectives.ttft_s
    if objectives.tpot_s is not None:  # a single token has no TPOT, and counts as kept
        kept &= ~(finished["tpot_s"] > objectives.tpot_s)
    inputs, outputs = finished["prompt_len"].sum(), finished["num_output_tokens"].sum()
    arrivals = [trace.start_s(r.arrival_step) if r.arrival_s is None else r.arrival_s
                for r in trace.scenario.requests]
    duration = finished["last_token_s"].max() - min(arrivals) if len(finished) else None
    totals: dict[str, float | None] = {
        "duration_s": None if duration is None else float(duration),
        "completed": float(len(finished)),
        "total_input_tokens": float(inputs),
        "total_output_tokens": float(outputs),
    }
    amounts = {"request_throughput": len(finished), "request_goodput": kept.sum(),
               "output_throughput": outputs, "total_token_throughput": inputs + outputs}
    for key, amount in amounts.items():
        totals[key] = float(amount / duration) if duration else None
    rows = trace.step_rows
    totals["max_concurrent_requests"] = float(
        max((max(row.num_running, row.num_scheduled) for row in rows), default=0))
    return totals


def _memory(trace: Trace, times: TokenTimes) -> dict[str, float | None]:
    """How full the KV memory was, and how much of what was held was empty."""
    if not trace.num_steps:
        return dict.fromkeys(("kv_usage_mean", "kv_usage_max", "fragmentation_mean"))
    use = memory_use(trace, times)
    durations = np.array(trace.durations_s or [1.0] * trace.num_steps)
    held = use.num_slots - use.free - use.unusable
    holding = durations * (held > 0)
    return {
        "kv_usage_mean": float(np.average(held, weights=durations) / use.num_slots),
        "kv_usage_max": float(held.max() / use.num_slots),
        "fragmentation_mean":
            float(np.average(use.waste(), weights=holding)) if holding.any() else 0.0,
    }
