"""Invariants of the decisions: nobody passes a refused head, all end once, every no has a why."""

from __future__ import annotations

from collections import Counter

from core.invariants.finding import Answer, Breach, Nothing
from core.trace import Cause, Event, Kind, Outcome, State, Trace

LET_IN = {Kind.ADMITTED: "waiting", Kind.SWAPPED_IN: "swapped"}
"""Decisions that let a request in, and the queue that it comes from."""

SAYS_NO = frozenset({Kind.REFUSED, Kind.HELD, Kind.PREEMPTED, Kind.SWAPPED_OUT, Kind.TAKEN_BACK,
                     Kind.IGNORED, Kind.ABORTED})

PUT_INTO = {"waiting": Kind.PREEMPTED, "swapped": Kind.SWAPPED_OUT}
"""The decision that puts a request that ran into a queue."""


def nobody_passes_the_head(trace: Trace) -> Answer:
    """Once the head of a queue has been refused, or the queue is held, nobody comes out of it in
    this step."""
    closed: dict[str | None, Event] = {}
    for event in trace.event_rows:
        if event.kind is Kind.REFUSED or event.kind is Kind.HELD:
            closed[event.queue] = event
        elif event.kind in LET_IN:
            refusal = closed.get(LET_IN[event.kind])
            if refusal is not None and refusal.step == event.step:
                return Breach(event.step, {"queue": refusal.queue,
                                           "request_id": trace.request_id(refusal.request),
                                           "other": trace.request_id(event.request)})
    return None if closed else Nothing.TO_CHECK


def everybody_ends_once(trace: Trace) -> Answer:
    """Every request ends exactly once, or the run says why not."""
    if not trace.scenario.requests:
        return Nothing.TO_CHECK
    ends = Counter(e.request for e in trace.event_rows
                   if e.kind in (Kind.FINISHED, Kind.IGNORED, Kind.ABORTED))
    for index, row in enumerate(trace.request_rows):
        request_id, count = trace.request_id(index), ends[index]
        ended = row.state in (State.FINISHED, State.IGNORED)
        if count > 1 or (ended and not count):
            return Breach(row.end_step, {"request_id": request_id, "ends": count})
        if not ended and trace.end.outcome is Outcome.FINISHED:
            return Breach(None, {"request_id": request_id, "outcome": row.state.value})
        if row.state is State.FINISHED and not _is_complete(trace, index):
            return Breach(row.end_step, {"request_id": request_id,
                                         "num_output_tokens": row.num_output_tokens})
    return _run_says_why(trace, ends)


def _is_complete(trace: Trace, index: int) -> bool:
    """It has all the tokens that it asked for, or as many as the engine allows."""
    request, done = trace.scenario.requests[index], trace.request_rows[index].num_output_tokens
    longest = trace.scenario.config.max_model_len
    return done == request.output_len or (
        done < request.output_len and request.prompt_len + done >= longest)


def _run_says_why(trace: Trace, ends: Counter[int | None]) -> Answer:
    end = trace.end
    limit = None if end.cause is None else end.cause.limit.value
    told: dict[Outcome, bool] = {
        Outcome.FINISHED: True,
        Outcome.STUCK: end.cause is not None and sum(ends.values()) < len(trace.request_rows),
        Outcome.ABORTED: end.cause is not None and ends[end.request] == 1,
        Outcome.STEP_LIMIT: end.step == trace.scenario.max_steps,
    }
    if told[end.outcome]:
        return None
    return Breach(end.step, {"outcome": end.outcome.value, "limit": limit})


def every_no_has_a_cause(trace: Trace) -> Answer:
    """Every refusal has a cause that is a shortage, and whoever is left waiting or swapped out at
    the end of a step was refused, held or thrown out in it."""
    told: dict[str, set[int]] = {"waiting": set(), "swapped": set()}
    breaches: list[Breach] = []
    any_no = False
    for event in trace.event_rows:
        for queue, steps in told.items():
            if event.kind is PUT_INTO[queue] or (event.cause and event.queue == queue):
                steps.add(event.step)
        if event.kind in SAYS_NO:
            any_no = True
            if not _is_shortage(event.cause):
                breaches.append(Breach(event.step, _what(trace, event)))
                break
    for step, row in enumerate(trace.step_rows):
        left = {"waiting": row.num_waiting, "swapped": row.num_swapped}
        silent = [queue for queue, count in left.items() if count and step not in told[queue]]
        if silent:
            breaches.append(Breach(step, {"queue": silent[0], "left": left[silent[0]]}))
            break
    first = min(breaches, key=lambda breach: breach.step or 0, default=None)
    return first if first or any_no else Nothing.TO_CHECK


def _is_shortage(cause: Cause | None) -> bool:
    if cause is None:
        return False
    return cause.needed is None or cause.available is None or cause.needed > cause.available


def _what(trace: Trace, event: Event) -> dict[str, int | str | None]:
    cause = event.cause
    return {
        "kind": event.kind.value, "request_id": trace.request_id(event.request),
        "limit": cause.limit.value if cause else None,
        "needed": cause.needed if cause else None,
        "available": cause.available if cause else None,
    }
