"""The two invariants that are seen only by running the scenario again."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from core.export.csv import TABLES, table_csv
from core.invariants.finding import Answer, Breach, Invariant, Nothing
from core.scenario import Scenario
from core.simulator import simulate
from core.trace import Kind, Trace

Row = tuple[Any, ...]
"""The step to which it belongs, and what is compared."""


def true_length_not_read(trace: Trace) -> Answer:
    """Longer outputs change nothing until the first of them goes on past its old end.

    The scenario is run up to three times more: with longer outputs for all requests, for those
    that ended in the second half, and for the one that ended last, so that nearly the whole run
    is held against another one.
    """
    if not trace.num_steps:
        return Nothing.TO_CHECK
    ended = [(event.step, event.request) for event in trace.event_rows
             if event.kind is Kind.FINISHED and event.request is not None]
    everybody = set(range(len(trace.scenario.requests)))
    if not ended:
        return _noticed(trace, everybody, trace.num_steps - 1)
    for first in sorted({0, len(ended) // 2, len(ended) - 1}):
        as_before = {request for _, request in ended[:first]}
        if breach := _noticed(trace, everybody - as_before, ended[first][0]):
            return breach
    return None


def deterministic_csv(trace: Trace) -> Answer:
    """The same scenario gives the same tables, byte for byte."""
    again = simulate(Scenario.from_json(trace.scenario.to_json()))
    for name in TABLES:
        ours, theirs = table_csv(trace, name), table_csv(again, name)
        if ours != theirs:
            lines = zip(ours.splitlines(), theirs.splitlines(), strict=False)
            first = next((n for n, (a, b) in enumerate(lines) if a != b), None)
            return Breach(None, {"table": name, "line": first})
    return None


def beginning(trace: Trace, most: int) -> Trace:
    """The run itself, or the first steps of it if its steps served more than ``most`` requests in
    all: so that running it again takes no longer than a moment."""
    served = 0
    for step, row in enumerate(trace.step_rows):
        served += row.num_scheduled
        if served > most and 0 < step < trace.num_steps - 1:
            return simulate(trace.scenario.model_copy(update={"max_steps": step}))
    return trace


RERUNS = (
    Invariant(8, "true_length_not_read",
              "No decision depends on how long an output is going to be.",
              true_length_not_read),
    Invariant(9, "deterministic_csv",
              "The same scenario gives the same tables, byte for byte.",
              deterministic_csv),
)
"""Slower than the others: each runs the scenario again."""


def _noticed(trace: Trace, longer: set[int], until: int) -> Breach | None:
    """The first difference between the run and one with longer outputs, up to the end of a step.

    Whose output was the longest of these has the shortest then, so that order tells as well.
    """
    scenario = trace.scenario
    longest = max(scenario.requests[index].output_len for index in longer)
    requests = tuple(
        request.model_copy(update={"output_len": 2 * longest + 1 - request.output_len})
        if index in longer else request
        for index, request in enumerate(scenario.requests)
    )
    other = simulate(scenario.model_copy(update={"requests": requests, "max_steps": until + 1}))
    ours, theirs = _record_until(trace, until, longer), _record_until(other, until, longer)
    found = [(step, name) for name in ours
             if (step := _first_difference(ours[name], theirs[name])) is not None]
    if not found:
        return None
    step, name = min(found)
    return Breach(step, {"table": name, "longer": len(longer)})


def _first_difference(ours: list[Row], theirs: list[Row]) -> int | None:
    """The step of the first row that is in one list and not in the same place of the other."""
    for mine, other in zip_longest(ours, theirs):
        if mine != other:
            step: int = min(row[0] for row in (mine, other) if row is not None)
            return step
    return None


def _record_until(trace: Trace, until: int, longer: set[int]) -> dict[str, list[Row]]:
    """What had been written when step ``until`` was decided and computed, but for the ends of the
    requests whose outputs are longer in the other run."""
    return {
        "steps": list(enumerate(trace.step_rows[: until + 1])),
        "events": [event for event in trace.event_rows if event.step <= until
                   and not (event.kind is Kind.FINISHED and event.request in longer)],
        "queues": [edit for edit in trace.queue_edits if edit.step <= until],
        "spans": sorted(
            (span.from_step, span.to_step, span.request, span.state, span.attempt)
            for span in trace.span_rows if span.to_step <= until),
        "leases": sorted(
            (since, min(lease.to_step, until + 1), lease.device, block, lease.request)
            for lease in trace.lease_rows
            for block, since in zip(lease.blocks, lease.since, strict=True) if since <= until),
        "times": list(enumerate((trace.starts_s or [])[: until + 1])),
    }
