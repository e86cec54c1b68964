"""The tables of a Trace as pandas frames. Names carry units where a column is not a count."""

from __future__ import annotations

from itertools import groupby

import pandas as pd

from core.schedulers import schedulers
from core.trace import Span, State, Trace

EVENT_COLUMNS = ["step", "order", "kind", "request_id", "queue", "num_tokens", "num_cached_tokens",
                 "limit", "needed", "available", "other", "block_id", "source_line"]
SPAN_COLUMNS = ["request_id", "state", "attempt", "from_step", "to_step", "start_s", "end_s",
                "num_tokens"]
LEASE_COLUMNS = ["device", "block_id", "request_id", "position", "from_step", "to_step",
                 "compressed"]


def steps_frame(trace: Trace) -> pd.DataFrame:
    """One row per step. Counts are those after the decisions, before anything is computed."""
    rows = trace.step_rows
    frame = pd.DataFrame.from_records(rows, columns=list(rows[0]._fields) if rows else [
        "num_batched_tokens", "num_prefill_tokens", "num_scheduled", "num_running", "num_waiting",
        "num_swapped", "free_gpu_blocks", "free_cpu_blocks", "seqs_used", "refusal"])
    frame.insert(0, "step", range(len(rows)))
    starts = range(len(rows)) if trace.starts_s is None else trace.starts_s
    frame.insert(1, "start_s", pd.Series(starts, dtype=float))
    frame.insert(2, "duration_s", 1.0 if trace.durations_s is None else trace.durations_s)
    refusals = [None if row.refusal is None else trace.event_rows[row.refusal] for row in rows]
    causes = [None if event is None else event.cause for event in refusals]
    frame = frame.drop(columns="refusal")
    scheduler = schedulers()[trace.scenario.scheduler]
    frame["token_budget"], frame["seq_budget"] = scheduler.budgets(trace.scenario.config)
    frame["refused_id"] = [None if e is None else trace.request_id(e.request) for e in refusals]
    frame["refused_limit"] = [None if c is None else c.limit.value for c in causes]
    frame["refused_needed"] = _counts(None if c is None else c.needed for c in causes)
    frame["refused_available"] = _counts(None if c is None else c.available for c in causes)
    return frame


def events_frame(trace: Trace) -> pd.DataFrame:
    """One row per decision; ``order`` counts within the step."""
    rows = []
    for step, group in groupby(trace.event_rows, key=lambda event: event.step):
        for order, event in enumerate(group):
            cause = event.cause
            rows.append((
                step, order, event.kind.value, trace.request_id(event.request), event.queue,
                event.num_tokens, event.num_cached_tokens,
                cause and cause.limit.value, cause and cause.needed, cause and cause.available,
                cause and cause.other, event.block_id, event.line,
            ))
    frame = pd.DataFrame.from_records(rows, columns=EVENT_COLUMNS)
    for column in ("needed", "available", "block_id", "source_line"):
        frame[column] = _counts(frame[column])
    return frame


def spans_frame(trace: Trace) -> pd.DataFrame:
    """One row per stay of a request in a state, by request and then by time."""
    order = sorted(range(len(trace.span_rows)), key=lambda i: (trace.span_rows[i].request, i))
    rows = [
        (trace.request_id(s.request), s.state.value, s.attempt, s.from_step, s.to_step,
         *_seconds(trace, s), s.num_tokens)
        for s in (trace.span_rows[i] for i in order)
    ]
    return pd.DataFrame.from_records(rows, columns=SPAN_COLUMNS)


def _seconds(trace: Trace, span: Span) -> tuple[float, float]:
    """When a stay began and ended. A request ends with its last step; all else begins steps."""
    if span.state is State.FINISHED:
        return (trace.end_s(span.from_step - 1),) * 2
    start = trace.start_s(span.from_step)
    return start, trace.end_s(span.to_step - 1) if span.to_step > span.from_step else start


def leases_frame(trace: Trace) -> pd.DataFrame:
    """One row per stay of a physical block with a holder that lasted at least one step."""
    rows = [
        (lease.device, block, trace.request_id(lease.request), position, since, lease.to_step,
         lease.compressed)
        for lease in trace.lease_rows
        for position, (block, since) in enumerate(zip(lease.blocks, lease.since, strict=True))
        if since < lease.to_step
    ]
    return pd.DataFrame.from_records(rows, columns=LEASE_COLUMNS)


def requests_frame(trace: Trace) -> pd.DataFrame:
    """One row per request: what it asked for and what became of it."""
    asked = [
        (r.request_id, r.arrival_step, r.arrival_s, r.prompt_len, r.output_len, r.priority,
         r.prefix_id, r.prefix_len)
        for r in trace.scenario.requests
    ]
    columns = ["request_id", "arrival_step", "arrival_s", "prompt_len", "output_len", "priority",
               "prefix_id", "prefix_len"]
    frame = pd.DataFrame.from_records(asked, columns=columns)
    if trace.scenario.arrives_in_seconds:
        frame["arrival_step"] = _counts(None for _ in asked)
    if any(r.prefix_hashes for r in trace.scenario.requests):  # of traces with block ids only
        hashes = [(r.prefix_hash_block, " ".join(map(str, r.prefix_hashes)))
                  for r in trace.scenario.requests]
        frame["prefix_hash_block"] = _counts(block for block, _ in hashes)
        frame["prefix_hashes"] = [ids for _, ids in hashes]
    rows = trace.request_rows
    frame["outcome"] = [row.state.value for row in rows]
    for name in ("num_output_tokens", "first_scheduled_step", "first_token_step", "end_step",
                 "num_preemptions", "num_swaps", "num_computed_tokens", "num_cached_tokens"):
        frame[name] = _counts(getattr(row, name) for row in rows)
    return frame


def _counts(values: object) -> pd.Series:
    """Whole numbers, some of which may be missing."""
    return pd.Series(list(values), dtype="Int64")  # type: ignore[call-overload]
