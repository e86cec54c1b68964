"""Why a request got no token in a step: one verdict for everybody who is alive and got none.

A decision about the request itself counts first: it was refused, or lost its blocks, or ended. If
there is none, it was not looked at: it stands in a queue whose head was refused, or that was held
as a whole. In the step in which the engine dies nothing is computed for anybody.

The page's JavaScript (core/figures/theatre/explain.js) applies the same rule.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from core.explain import sentence, templates
from core.queue_replay import QUEUES, queues_by_step
from core.trace import Event, Kind, Trace


class Ground(StrEnum):
    """What a verdict rests on."""

    OWN = "own"
    """A decision about the request itself."""
    BEHIND = "behind"
    """Its queue was not looked at any further when somebody in front had been refused."""
    HELD = "held"
    """Nobody in its queue was looked at."""
    DIED = "died"
    """The engine died before anything was computed."""


class Verdict(NamedTuple):
    """Why one request got no token."""

    ground: Ground
    event: Event
    """The decision that it rests on; BEHIND: the refusal of the one in front."""


OWN_VERDICTS = frozenset({Kind.REFUSED, Kind.PREEMPTED, Kind.SWAPPED_OUT, Kind.IGNORED,
                          Kind.ABORTED})
"""Decisions about a request that leave it without a token."""


def verdicts(trace: Trace, step: int) -> dict[int, Verdict]:
    """The verdicts of one step, by request; those who got a token have none.

    The time is linear in the record up to the step. For all steps use ``verdicts_by_step``.
    """
    first = bisect_left(trace.event_rows, step, key=lambda event: event.step)
    end = bisect_left(trace.event_rows, step + 1, key=lambda event: event.step)
    queues = next(islice(queues_by_step(trace), step, None))
    return _verdicts(trace.event_rows[first:end], queues)


def verdicts_by_step(trace: Trace) -> Iterator[dict[int, Verdict]]:
    """The verdicts of every step in order, that of the engine's death included."""
    events, first = trace.event_rows, 0
    for step, queues in enumerate(queues_by_step(trace)):
        end = first
        while end < len(events) and events[end].step == step:
            end += 1
        yield _verdicts(events[first:end], queues)
        first = end


def verdict_sentence(trace: Trace, verdict: Verdict, language: str = "en") -> str:
    """The verdict in words."""
    if verdict.ground in (Ground.OWN, Ground.HELD):
        return sentence(trace, verdict.event, language)
    text = templates(language)[f"verdict.{verdict.ground.value}"]
    return text.format(other=trace.request_id(verdict.event.request))


def _verdicts(events: list[Event], queues: dict[str, list[int]]) -> dict[int, Verdict]:
    found: dict[int, Verdict] = {}
    of_queue: dict[str, Verdict] = {}
    for event in events:
        if event.kind is Kind.HELD and event.queue:
            of_queue.setdefault(event.queue, Verdict(Ground.HELD, event))
        elif event.kind in OWN_VERDICTS and event.request is not None:
            found[event.request] = Verdict(Ground.OWN, event)  # what came last stays
        if event.kind is Kind.REFUSED and event.queue:
            of_queue[event.queue] = Verdict(Ground.BEHIND, event)
        if event.kind is Kind.ABORTED:
            died = Verdict(Ground.DIED, event)
            of_queue = dict.fromkeys(QUEUES, died)
            for let_in in events:  # on its way from queue to queue, it may stand in none
                if let_in.kind is Kind.ADMITTED and let_in.request is not None:
                    found.setdefault(let_in.request, died)
    served = set(queues["scheduled"])
    for queue, verdict in of_queue.items():
        for request in queues[queue]:
            if request not in served:
                found.setdefault(request, verdict)
    return found
