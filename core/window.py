"""A window of a long run: a small Trace of some steps and some requests, for the pictures."""

from __future__ import annotations

from core.trace import End, Event, Outcome, QueueEdit, Span, StepRow, TableLease, Trace
from core.vocabulary import State

BUSY = frozenset({State.PREFILL, State.DECODE, State.SWAPPED})
"""States in which a request stands in running or swapped."""


def window(trace: Trace, first: int, last: int, max_requests: int) -> Trace:
    """The steps ``first`` to ``last`` as a Trace of their own, numbered from 0.

    Everybody who runs or is swapped out in the window is kept; if they are more than
    ``max_requests``, the window ends sooner. Of those who only wait in it, as many are kept as
    there is room for, those at the front first; the others are missing in the waiting queue and in
    the decisions. The numbers of each step are those of the whole run.

    Raises:
        ValueError: unless 0 <= first <= last < number of steps.
    """
    if not 0 <= first <= last < trace.num_steps:
        raise ValueError(f"a window must lie within steps 0 to {trace.num_steps - 1}")
    last = _last_that_fits(trace, first, last, max_requests)
    kept = _kept(trace, first, last, max_requests)
    new = {old: i for i, old in enumerate(kept)}
    requests = tuple(trace.scenario.requests[i] for i in kept)
    events, refusals = _events(trace, first, last, new)
    return Trace(
        trace.scenario.model_copy(update={"requests": requests}),
        _end(trace, last, new),
        [_row(row, refusals) for row in trace.step_rows[first : last + 1]],
        events,
        _spans(trace, first, last, new),
        _leases(trace, first, last, new),
        _edits(trace, first, last, new),
        [trace.request_rows[i] for i in kept],
        None if trace.starts_s is None else trace.starts_s[first : last + 1],
        None if trace.durations_s is None else trace.durations_s[first : last + 1],
        [parking._replace(from_step=max(0, parking.from_step - first),
                          to_step=min(parking.to_step, last + 1) - first)
         for parking in trace.parkings if parking.from_step <= last and parking.to_step > first],
    )


def _last_that_fits(trace: Trace, first: int, last: int, most: int) -> int:
    """The last step up to which no more than so many requests run or are swapped out."""
    starts: dict[int, int] = {}
    for span in trace.span_rows:
        if span.state in BUSY and span.from_step <= last and span.to_step > first:
            begin = max(first, span.from_step)
            starts[span.request] = min(begin, starts.get(span.request, begin))
    too_many = sorted(starts.values())[most : most + 1]
    return max(first, too_many[0] - 1) if too_many else last


def _kept(trace: Trace, first: int, last: int, most: int) -> list[int]:
    busy: set[int] = set()
    waiting: dict[int, int] = {}
    for span in trace.span_rows:
        if span.from_step <= last and span.to_step >= first:
            if span.state in BUSY and span.to_step > first:
                busy.add(span.request)
            else:
                waiting.setdefault(span.request, span.from_step)
    front = sorted(waiting.keys() - busy, key=lambda request: (waiting[request], request))
    return sorted([*busy, *front[: max(0, most - len(busy))]])


def _events(trace: Trace, first: int, last: int,
            new: dict[int, int]) -> tuple[list[Event], dict[int, int]]:
    """The decisions about whoever is kept, and where each refusal now stands."""
    events: list[Event] = []
    moved: dict[int, int] = {}
    for i, event in enumerate(trace.event_rows):
        if first <= event.step <= last and (event.request is None or event.request in new):
            moved[i] = len(events)
            request = None if event.request is None else new[event.request]
            events.append(event._replace(step=event.step - first, request=request))
    return events, moved


def _row(row: StepRow, refusals: dict[int, int]) -> StepRow:
    return row if row.refusal is None else row._replace(refusal=refusals.get(row.refusal))


def _spans(trace: Trace, first: int, last: int, new: dict[int, int]) -> list[Span]:
    return [
        span._replace(request=new[span.request], from_step=max(0, span.from_step - first),
                      to_step=min(span.to_step, last + 1) - first)
        for span in trace.span_rows
        if span.request in new and span.from_step <= last and span.to_step >= first
    ]


def _leases(trace: Trace, first: int, last: int, new: dict[int, int]) -> list[TableLease]:
    """Blocks that joined before the window have been there since its first step."""
    return [
        lease._replace(request=new[lease.request], to_step=min(lease.to_step, last + 1) - first,
                       since=[max(0, since - first) for since in lease.since])
        for lease in trace.lease_rows
        if lease.request in new and lease.to_step > first and lease.since[0] <= last
    ]


def _edits(trace: Trace, first: int, last: int, new: dict[int, int]) -> list[QueueEdit]:
    """The queues' edits with whoever is left out taken out of them."""
    queues: dict[str, list[int]] = {}
    edits: list[QueueEdit] = []
    started = False
    for edit in trace.queue_edits:
        if edit.step > last:
            break
        if edit.step > first and not started:
            edits += _opening(queues, new)
            started = True
        queue = queues.setdefault(edit.queue, [])
        end = edit.position + edit.removed
        if started:
            position = _count(queue, edit.position, new)
            removed = sum(i in new for i in queue[edit.position : end])
            inserted = tuple(new[i] for i in edit.inserted if i in new)
            if removed or inserted:
                edits.append(QueueEdit(edit.step - first, edit.queue, position, removed, inserted))
        queue[edit.position : end] = edit.inserted
    return edits if started else _opening(queues, new)


def _opening(queues: dict[str, list[int]], new: dict[int, int]) -> list[QueueEdit]:
    """The queues as they stand in the window's first step."""
    return [QueueEdit(0, name, 0, 0, tuple(new[i] for i in members if i in new))
            for name, members in queues.items()]


def _count(queue: list[int], position: int, new: dict[int, int]) -> int:
    """How many of the first entries of a queue are kept."""
    return sum(i in new for i in queue[:position])


def _end(trace: Trace, last: int, new: dict[int, int]) -> End:
    if last == trace.num_steps - 1 and trace.end.outcome is not Outcome.ABORTED:
        request = None if trace.end.request is None else new.get(trace.end.request)
        return trace.end._replace(step=last + 1, request=request)
    return End(Outcome.FINISHED, last + 1)
