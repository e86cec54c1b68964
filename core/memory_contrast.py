"""The vLLM paper's contrast, live: how much of the KV memory holds tokens while requests wait.

Paper, section 1 and figure 2: 20.4 to 38.2 % in older systems. vLLM's authors (blog, 2023-06-20):
with paging, less than 4 % of what is held is wasted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.memory_use import memory_use
from core.trace import Trace

OLDER_SYSTEMS_USED = (0.204, 0.382)
"""Share of the KV memory that holds tokens: Orca (Max) and Orca (Oracle), vLLM paper, figure 2."""
PAGING_WASTE = 0.04
"""Share of the held memory that is wasted with paging, at most (vLLM blog, 2023-06-20)."""


class Contrast(NamedTuple):
    """One scheduler's memory, mean over the time in which somebody waits."""

    scheduler: str
    shares: dict[str, float]
    """Of the whole memory by kind, see ``memory_use.KINDS``."""
    waste: float
    """Share of the held slots that is empty."""
    loaded_s: float
    """How long somebody waited. If nobody ever did, the mean is over the whole run."""


def contrast(trace: Trace) -> Contrast:
    """What the memory held while it was short."""
    use = memory_use(trace)
    durations = np.array(trace.durations_s or [1.0] * trace.num_steps)
    waiting = durations * np.array([row.num_waiting > 0 for row in trace.step_rows], dtype=float)
    shares = use.shares(waiting if waiting.any() else durations)
    held = shares["used"] + shares["reserved"] + shares["internal"]
    waste = 1 - shares["used"] / held if held else 0.0
    return Contrast(trace.scenario.scheduler, shares, waste, float(waiting.sum()))
