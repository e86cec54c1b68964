"""What there is to learn from a run: phenomena found in its record, named and explained.

    for found in phenomena(trace):
        found.step, found.request, found.name(), found.meaning(), found.here()

A detector looks at the record alone, in a time linear in it, and gives every occurrence with a
weight; of each kind the heaviest few are kept. A detector's thresholds stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable

from core.phenomena.head_of_line import head_of_line
from core.phenomena.losses import livelock, thrashing, wasted_work
from core.phenomena.memory import fragmentation, never_fits, swap_exhausted
from core.phenomena.phenomenon import Evidence, Phenomenon
from core.phenomena.stalls import decode_stall
from core.phenomena.waits import priority_inversion, starvation
from core.trace import Trace

__all__ = ["DETECTORS", "MOST_OF_A_KIND", "Phenomenon", "phenomena"]

MOST_OF_A_KIND = 4
"""Occurrences of one phenomenon that a run tells of: the worst."""

DETECTORS: dict[str, Callable[[Evidence], list[Phenomenon]]] = {
    "head_of_line": head_of_line,
    "starvation": starvation,
    "thrashing": thrashing,
    "priority_inversion": priority_inversion,
    "decode_stall": decode_stall,
    "livelock": livelock,
    "never_fits": never_fits,
    "swap_exhausted": swap_exhausted,
    "wasted_work": wasted_work,
    "fragmentation": fragmentation,
}
"""By the key under which a phenomenon has its texts."""


def phenomena(trace: Trace) -> tuple[Phenomenon, ...]:
    """What a run shows, in order of the steps."""
    evidence = Evidence(trace)
    found: list[Phenomenon] = []
    for detect in DETECTORS.values():
        found += sorted(detect(evidence), key=lambda each: -each.weight)[:MOST_OF_A_KIND]
    return tuple(sorted(found, key=lambda each: each.step))
