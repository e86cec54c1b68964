"""What it costs to take blocks away: thrashing, livelock, wasted work."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from core.phenomena.phenomenon import Evidence, Phenomenon
from core.trace import Event, Kind

THRASHING_TIMES = 3
"""So often in a row the same request has to lose its blocks."""
THRASHING_GAP = 10
"""Most steps from one loss to the next. Who keeps its blocks for longer gets on with its work."""

LIVELOCK_STEPS = 20
"""Steps in which nobody gets a token or ends, though the scheduler is busy."""
LIVELOCK_LOSSES = 3
"""Losses of blocks within them. Without these it may be one long prompt, or a pause."""

WASTED_SHARE = 0.05
"""Share of all computed tokens that had been computed before, from which on it is told."""


def thrashing(evidence: Evidence) -> list[Phenomenon]:
    """The same request loses its blocks again and again, soon after it got them back."""
    rows: dict[int | None, list[list[Event]]] = defaultdict(list)
    for event in evidence.losses:
        of_request = rows[event.request]
        if of_request and event.step - of_request[-1][-1].step <= THRASHING_GAP:
            of_request[-1].append(event)
        else:
            of_request.append([event])
    prefilled = defaultdict(list)
    for event in evidence.events(Kind.PREFILLED):
        prefilled[event.request].append(event)
    return [_thrashing(evidence, row, prefilled[request])
            for request, of_request in rows.items() for row in of_request
            if len(row) >= THRASHING_TIMES]


def _thrashing(evidence: Evidence, row: list[Event], prefilled: list[Event]) -> Phenomenon:
    first, last = row[0].step, row[-1].step
    blocks = sum(event.num_tokens for event in row if event.kind is Kind.SWAPPED_OUT)
    tokens = sum(event.num_tokens - event.num_cached_tokens for event in prefilled
                 if first < event.step <= last)
    return evidence.found(
        "thrashing", first, row[0].request, len(row), "swapped" if blocks else "",
        times=len(row), steps=last - first + 1, tokens=tokens, blocks=blocks)


def livelock(evidence: Evidence) -> list[Phenomenon]:
    """Stretches without a token for anybody in which requests come in and are thrown out again."""
    trace, losses = evidence.trace, evidence.losses
    ignored = [event.step for event in evidence.events(Kind.IGNORED)]
    progress = np.unique(np.concatenate((evidence.times.steps, [*ignored, -1, trace.num_steps])))
    at = np.array([event.step for event in losses])
    found = []
    for before, after in zip(progress[:-1].tolist(), progress[1:].tolist(), strict=True):
        if after - before <= LIVELOCK_STEPS:
            continue
        first, end = np.searchsorted(at, [before + 1, after]).tolist()
        steps = after - losses[first].step if first < end else 0
        if end - first >= LIVELOCK_LOSSES and steps >= LIVELOCK_STEPS:
            victim, _ = Counter(event.request for event in losses[first:end]).most_common(1)[0]
            found.append(evidence.found("livelock", losses[first].step, victim, steps,
                                        steps=steps, losses=end - first))
    return found


def wasted_work(evidence: Evidence) -> list[Phenomenon]:
    """Tokens that went through the model again after a preemption, of the run as a whole."""
    rows, again = evidence.trace.request_rows, evidence.times.num_recomputed
    tokens, computed = int(again.sum()), sum(row.num_computed_tokens for row in rows)
    if not tokens or tokens < WASTED_SHARE * computed:
        return []
    worst = int(again.argmax())
    lost = evidence.trace.first_preemptions[worst]
    step = next(event.step for event in evidence.events(Kind.PREFILLED)
                if event.request == worst and event.step > lost)
    return [evidence.found("wasted_work", step, worst, tokens, tokens=tokens, computed=computed,
                           own=int(again[worst]))]
