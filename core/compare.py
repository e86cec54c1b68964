"""Two runs of the same requests held against each other."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from core.presets import totals
from core.trace import Kind, Trace

COUNTED = ("num_steps", "num_finished", "num_ignored", "num_preemptions", "num_swaps",
           "num_computed_tokens", "num_cached_tokens", "max_running", "max_waiting", "max_swapped",
           "min_free_gpu_blocks")
"""The totals that are compared."""


class Row(NamedTuple):
    """One number of both runs."""

    name: str
    first: int
    second: int

    @property
    def difference(self) -> int:
        """Second minus first."""
        return self.second - self.first


class Finish(NamedTuple):
    """When one request ended in both runs; None if it did not."""

    request_id: str
    first_step: int | None
    second_step: int | None


def rows(first: Trace, second: Trace) -> list[Row]:
    """The totals of both runs."""
    one, two = totals(first), totals(second)
    return [Row(name, one[name], two[name]) for name in COUNTED]


def finishes(first: Trace, second: Trace) -> list[Finish]:
    """For each request of the first run the step in which it ended, in both.

    Raises:
        ValueError: if the runs do not have the same requests.
    """
    ids = [r.request_id for r in first.scenario.requests]
    if ids != [r.request_id for r in second.scenario.requests]:
        raise ValueError("the two runs must have the same requests")
    return [Finish(name, a.end_step, b.end_step)
            for name, a, b in zip(ids, first.request_rows, second.request_rows, strict=True)]


def first_divergence(first: Trace, second: Trace) -> int | None:
    """The first step in which the two runs gave tokens differently; None if they never did.

    Compared are the order in which requests are served and the tokens of their prompts.
    """
    one, two = _served(first), _served(second)
    steps = sorted(one.keys() | two.keys())
    now: tuple[object, object] = ((), ())
    for step in steps:
        now = (one.get(step, _decoding(now[0])), two.get(step, _decoding(now[1])))
        if now[0] != now[1]:
            return step
    if first.num_steps != second.num_steps:
        return min(first.num_steps, second.num_steps)
    return None


def _decoding(served: object) -> object:
    """What goes on being served where nothing is noted: the same requests, a token each."""
    return tuple((request, 1) for request, _ in served)  # type: ignore[attr-defined]


def _served(trace: Trace) -> dict[int, tuple[tuple[int, int], ...]]:
    """At each step in which this changes, the requests served in order, with their tokens."""
    prompts: dict[int, dict[int, int]] = defaultdict(dict)
    for event in trace.event_rows:
        if event.kind is Kind.PREFILLED and event.request is not None:
            prompts[event.step][event.request] = event.num_tokens
    edits = {e.step: e for e in trace.queue_edits if e.queue == "scheduled"}
    order: list[int] = []
    served = {}
    for step in sorted(edits.keys() | prompts.keys() | {s + 1 for s in prompts}):
        if edit := edits.get(step):
            order[edit.position : edit.position + edit.removed] = edit.inserted
        if step < trace.num_steps:
            served[step] = tuple((r, prompts[step].get(r, 1)) for r in order)
    return served
