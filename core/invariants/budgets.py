"""Invariants of the two budgets: tokens of a step, and requests that run at once."""

from __future__ import annotations

from core.invariants.finding import Answer, Breach, Nothing
from core.schedulers import schedulers
from core.trace import Kind, Limit, Trace


def tokens(trace: Trace) -> Answer:
    """No step computes more tokens than the token budget has. What the scheduler charged is
    another matter: this counts what goes through the model."""
    scheduler = schedulers()[trace.scenario.scheduler]
    if Limit.TOKEN_BUDGET not in scheduler.knobs or not trace.num_steps:
        return Nothing.TO_CHECK
    budget, _ = scheduler.budgets(trace.scenario.config)
    prefilled: dict[int, set[int | None]] = {}
    for event in trace.event_rows:
        if event.kind is Kind.PREFILLED:
            prefilled.setdefault(event.step, set()).add(event.request)
        elif event.kind is Kind.TAKEN_BACK:
            prefilled.get(event.step, set()).discard(event.request)
    for step, row in enumerate(trace.step_rows):
        num_decodes = row.num_scheduled - len(prefilled.get(step, ()))
        num_tokens = row.num_prefill_tokens + num_decodes
        if num_tokens > budget:
            return Breach(step, {"num_tokens": num_tokens, "token_budget": budget})
    return None


def running(trace: Trace) -> Answer:
    """No more requests run at once than the sequence budget has seats."""
    scheduler = schedulers()[trace.scenario.scheduler]
    if Limit.SEQ_BUDGET not in scheduler.knobs or not trace.num_steps:
        return Nothing.TO_CHECK
    _, budget = scheduler.budgets(trace.scenario.config)
    for step, row in enumerate(trace.step_rows):
        most = max(row.num_running, row.num_scheduled)
        if most > budget:
            return Breach(step, {"num_running": most, "seq_budget": budget})
    return None

