"""The two invariants that are seen only by running the scenario again."""

from __future__ import annotations

from typing import Any

from core.export.csv import TABLES, table_csv
from core.invariants.finding import Answer, Breach, Invariant, Nothing
from core.scenario import Scenario
from core.simulator import simulate
from core.trace import Kind, Trace

LONGER = 7
"""Tokens by which an output is made longer, to see whether anybody notices too early."""


def true_length_not_read(trace: Trace) -> Answer:
    """Longer outputs change nothing before the first of them goes on past its old end.

    The scenario is run twice more: once with all outputs longer, once with only that of the
    request which ended last, so that nearly the whole run is held against another one.
    """
    ended = [(event.step, event.request) for event in trace.event_rows
             if event.kind is Kind.FINISHED and event.request is not None]
    if not ended:
        return Nothing.TO_CHECK
    everybody = set(range(len(trace.scenario.requests)))
    return (_noticed(trace, everybody, until=min(ended)[0])
            or _noticed(trace, {max(ended)[1]}, until=max(ended)[0]))


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
    """The first table in which the run with longer outputs differs, up to the end of a step."""
    scenario = trace.scenario
    requests = tuple(
        request.model_copy(update={"output_len": request.output_len + LONGER})
        if index in longer else request
        for index, request in enumerate(scenario.requests)
    )
    other = simulate(scenario.model_copy(update={"requests": requests}))
    ours, theirs = _record_until(trace, until, longer), _record_until(other, until, longer)
    for name in ours:
        if ours[name] != theirs[name]:
            return Breach(until, {"table": name, "longer": len(longer)})
    return None


def _record_until(trace: Trace, until: int, longer: set[int]) -> dict[str, list[Any]]:
    """What had been written when step ``until`` was decided and computed, but for the ends of the
    requests whose outputs are longer in the other run."""
    return {
        "steps": trace.step_rows[: until + 1],
        "events": [event for event in trace.event_rows if event.step <= until
                   and not (event.kind is Kind.FINISHED and event.request in longer)],
        "queues": [edit for edit in trace.queue_edits if edit.step <= until],
        "spans": sorted(
            (span.request, span.from_step, span.to_step, span.state, span.attempt)
            for span in trace.span_rows if span.to_step <= until),
        "leases": sorted(
            (lease.device, block, since, lease.request)
            for lease in trace.lease_rows
            for block, since in zip(lease.blocks, lease.since, strict=True) if since <= until),
        "times": [] if trace.starts_s is None else trace.starts_s[: until + 1],
    }
