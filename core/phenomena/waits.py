"""Requests that wait although others are served: starvation and priority inversion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.phenomena.followed_queue import FollowedQueue
from core.phenomena.phenomenon import Evidence, Phenomenon
from core.trace import Kind, State

STARVED_STEPS = 20
"""Steps that a request waits in one go before one speaks of starvation."""
OVERTAKEN = 2
"""Requests that came later and are let in meanwhile. Without them it is only a long queue."""

INVERTED_STEPS = 5
"""Steps that an urgent request waits while a less urgent one runs. Less is the time that a
scheduler needs to react."""


def starvation(evidence: Evidence) -> list[Phenomenon]:
    """Long stays in waiting or swapped, during which several that came later were let in."""
    trace = evidence.trace
    arrived = np.full(len(trace.request_rows), -1)
    for place, event in enumerate(evidence.events(Kind.ARRIVED)):
        arrived[event.request] = place
    began = np.array([-1 if row.first_scheduled_step is None else row.first_scheduled_step
                      for row in trace.request_rows])
    found = []
    for span in trace.span_rows:
        steps = span.to_step - span.from_step
        if steps < STARVED_STEPS or span.state not in (State.WAITING, State.SWAPPED):
            continue
        passed = ((arrived > arrived[span.request]) & (began >= span.from_step)
                  & (began < span.to_step))
        count = int(passed.sum())
        if count >= OVERTAKEN:
            found.append(evidence.found("starvation", span.from_step, span.request, steps * count,
                                        steps=steps, overtakers=count))
    return found


class _Inversion(NamedTuple):
    """The most urgent request that waits, and the least urgent one that runs."""

    request: int
    other: int
    """The one in the first step; later it may be another."""
    step: int
    steps: int = 1


def priority_inversion(evidence: Evidence) -> list[Phenomenon]:
    """Urgent requests that wait while less urgent ones run, under the policy ``priority``."""
    if evidence.config.policy != "priority":
        return []
    trace, requests = evidence.trace, evidence.trace.scenario.requests

    def urgency(request: int, _: int) -> tuple[int, int]:
        return requests[request].priority, request

    waits = FollowedQueue(trace, ["waiting", "swapped"], urgency)
    runs = FollowedQueue(trace, ["running"], urgency)
    found: list[_Inversion] = []
    for step in range(trace.num_steps):
        most, least = waits.go_to(step)[:1], runs.go_to(step)[-1:]
        if not most or not least or most[0][0] >= least[0][0]:
            continue
        request, last = most[0][1], found[-1] if found else None
        if last and (last.request, last.step + last.steps) == (request, step):
            found[-1] = last._replace(steps=last.steps + 1)
        else:
            found.append(_Inversion(request, least[0][1], step))
    return [_told(evidence, each) for each in found if each.steps >= INVERTED_STEPS]


def _told(evidence: Evidence, inversion: _Inversion) -> Phenomenon:
    requests, (request, other, step, steps) = evidence.trace.scenario.requests, inversion
    return evidence.found(
        "priority_inversion", step, request, steps, steps=steps,
        priority=requests[request].priority, other=requests[other].request_id,
        other_priority=requests[other].priority)
