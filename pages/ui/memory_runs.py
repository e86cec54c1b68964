"""The same requests under every scheduler, for what their memory holds. Computed once each."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import streamlit as st

from core.claim import COMPARED, ClaimWorkload
from core.figures.memory_over_time import UseOverTime, use_over_time
from core.memory_contrast import Contrast, contrast
from core.scenario import Request
from core.simulator import simulate
from core.workloads import Lengths

OUTPUT_TOKENS = 36_000
"""Requests come all at once, until they have so many output tokens together: a second of
computing, in which somebody waits nearly to the end."""


class Contents(NamedTuple):
    """What is chosen."""

    prompt: Lengths
    output: Lengths
    max_model_len: int
    block_size: int
    seed: int


class Held(NamedTuple):
    """What one scheduler's memory held."""

    contrast: Contrast
    over_time: UseOverTime
    num_requests: int


@st.cache_resource(max_entries=48, show_spinner="Running six schedulers ...",
                   hash_funcs={Contents: repr})
def held_by_each(contents: Contents) -> dict[str, Held]:
    """Run every scheduler on the machine of the claim. Shared between sessions: never changed."""
    workload = ClaimWorkload(
        prompt=contents.prompt, output=contents.output, seed=contents.seed,
        max_model_len=contents.max_model_len, block_size=contents.block_size,
        max_num_batched_tokens=max(2048, contents.max_model_len))  # V0 computes prompts whole
    found = {}
    for scheduler in COMPARED:
        scenario = workload.scenario(scheduler, None)
        some = first_requests(scenario.requests)
        trace = simulate(scenario.model_copy(update={"requests": some}))
        found[scheduler] = Held(contrast(trace), use_over_time(trace), len(some))
    return found


def first_requests(requests: tuple[Request, ...]) -> tuple[Request, ...]:
    """As many of the requests as have OUTPUT_TOKENS together, one more than does at most."""
    totals = accumulate((request.output_len for request in requests), initial=0)
    return tuple(r for r, before in zip(requests, totals, strict=False) if before < OUTPUT_TOKENS)
