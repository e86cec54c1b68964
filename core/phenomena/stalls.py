"""Running requests that get no token because the step computes prompts."""

from __future__ import annotations

from core.phenomena.phenomenon import Evidence, Phenomenon
from core.trace import Event, Kind, Limit

STALL_STEPS = 2
STALL_TOKENS = 64
"""A pause is worth telling if it lasts so many steps, or computes so many tokens of prompt."""


def decode_stall(evidence: Evidence) -> list[Phenomenon]:
    """Steps on end in which requests that generate got no token because a prompt was computed."""
    stalls: list[list[Event]] = []
    for event in evidence.events(Kind.HELD):
        if event.cause is None or event.cause.limit is not Limit.PREFILL_STEP:
            continue
        if stalls and stalls[-1][-1].step == event.step - 1:
            stalls[-1].append(event)
        else:
            stalls.append([event])
    return [found for stall in stalls if (found := _told(evidence, stall))]


def _told(evidence: Evidence, held: list[Event]) -> Phenomenon | None:
    first, steps, cause = held[0].step, len(held), held[0].cause
    rows = evidence.trace.step_rows[first : first + steps]
    tokens = sum(row.num_prefill_tokens for row in rows)
    if steps < STALL_STEPS and tokens < STALL_TOKENS:
        return None
    assert cause is not None, "the steps were held for a cause"
    return evidence.found(
        "decode_stall", first, evidence.index_of.get(cause.other), tokens,
        "" if steps == 1 else "many", steps=steps, tokens=tokens, other=cause.other,
        paused=max(row.num_running - row.num_scheduled for row in rows))
