"""The claim of 3 to 5 times looked at: every scheduler at several rates, each computed once."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.claim import (
    CLAIMS,
    COMPARED,
    Claim,
    ClaimWorkload,
    Point,
    run_point,
    served_rate,
    sweep,
)
from core.figures.claim_rates import Rate

BELOW = (0.35, 0.65)
ABOVE = 1.25
"""Further points of a curve, as multiples of the first and of the last rate of the sweep."""
BUSY = 400
"""Requests come for as long as vLLM V1 needs for so many, within bounds."""
SHORTEST_S, LONGEST_S = 10.0, 250.0


@st.cache_data(max_entries=200, show_spinner=False, hash_funcs={ClaimWorkload: repr})
def duration_s(workload: ClaimWorkload) -> float:
    """How long requests come: about BUSY of them at what vLLM V1 serves."""
    capacity = run_point(workload, "vllm_v1", None).request_throughput
    return float(round(min(max(BUSY / capacity, SHORTEST_S), LONGEST_S)))


@st.cache_data(max_entries=200, show_spinner=False, hash_funcs={ClaimWorkload: repr})
def swept(workload: ClaimWorkload, scheduler: str) -> tuple[list[Point], list[Point]]:
    """The points around the limit, and further ones for the curve."""
    around = sweep(workload, scheduler)
    first, last = around[0].rate, around[-1].rate
    further = [first * part for part in BELOW]
    if around[-1].p99_s < 2 * workload.limit_s:
        further.append(last * ABOVE)
    return around, [run_point(workload, scheduler, rate) for rate in further]


def look(workload: ClaimWorkload, tell: Callable[[float, str], object]) -> Claim:
    """All schedulers.

    Args:
        tell: is told the share that is done and whose turn it is.
    """
    points, served = [], {}
    for number, scheduler in enumerate(COMPARED):
        tell(number / len(COMPARED), scheduler)
        around, further = swept(workload, scheduler)
        points += around + further
        above = [point for point in further if point.rate > around[-1].rate]
        served[scheduler] = served_rate(around + above, workload.limit_s)
    return Claim(workload.limit_s, tuple(points), served)


def verdict(rate: Rate, claim: str) -> str:
    """How a multiple stands to a claim: within, above, below, or not known."""
    low, high = CLAIMS[claim]
    if rate.times is None:
        return "–"
    if rate.times < low and rate.times_bound != "≥ ":
        return f"less than {low:g}"
    if rate.times > high and rate.times_bound != "≤ ":
        return f"more than {high:g}"
    return "–" if rate.times_bound else f"within {low:g} to {high:g}"
