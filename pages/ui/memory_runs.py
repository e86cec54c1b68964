"""The same requests under every scheduler, for what their memory holds. Computed once each."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.claim import COMPARED, ClaimWorkload
from core.figures.memory_over_time import UseOverTime, use_over_time
from core.memory_contrast import Contrast, contrast
from core.simulator import simulate
from core.workloads import Lengths

REQUESTS = 120
"""All of them come at once, so that somebody waits nearly to the end."""


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


@st.cache_resource(max_entries=48, show_spinner="Running six schedulers ...",
                   hash_funcs={Contents: repr})
def held_by_each(contents: Contents) -> dict[str, Held]:
    """Run every scheduler on the machine of the claim. Shared between sessions: never changed."""
    workload = ClaimWorkload(
        prompt=contents.prompt, output=contents.output, seed=contents.seed,
        max_model_len=contents.max_model_len, block_size=contents.block_size)
    found = {}
    for scheduler in COMPARED:
        scenario = workload.scenario(scheduler, None)
        trace = simulate(scenario.model_copy(update={"requests": scenario.requests[:REQUESTS]}))
        found[scheduler] = Held(contrast(trace), use_over_time(trace))
    return found
