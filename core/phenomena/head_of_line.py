"""Head-of-line blocking: the first in the queue does not fit, and nobody behind it is tried."""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby

from core.phenomena.followed_queue import FollowedQueue
from core.phenomena.phenomenon import Evidence, Phenomenon
from core.schedulers.orca_support import ReservingEngine
from core.trace import Event, Kind, Limit

BLOCKED_STEPS = 3
"""Steps that one head has to block somebody who would fit; shorter waits are part of any queue."""

_BLOCKS = frozenset({Limit.GPU_BLOCKS, Limit.WATERMARK, Limit.FULL_ISL})
_TOKENS = frozenset({Limit.TOKEN_BUDGET, Limit.SCHEDULED_TOKENS, Limit.CHUNKED_PREFILL})
"""Limits that a smaller request may keep where a larger one cannot."""


def head_of_line(evidence: Evidence) -> list[Phenomenon]:
    """Heads of the waiting queue that were refused in some steps while others would have fitted.

    Whoever would have fitted is rather counted too low: what a request would find in the prefix
    cache is left out, and so are steps in which somebody was preempted. So are schedulers that
    reserve memory in advance: how much somebody behind would reserve is not in the record.
    """
    if issubclass(evidence.engine, ReservingEngine):
        return []
    preempting = {event.step for event in evidence.losses}
    refusals = [event for event in evidence.events(Kind.REFUSED)
                if event.queue == "waiting" and event.step not in preempting
                and event.step < evidence.trace.num_steps]
    sizes = FollowedQueue(evidence.trace, ["waiting"], evidence.num_tokens)
    room = _Room(evidence)
    found = []
    for _, of_one_head in groupby(refusals, key=lambda event: event.request):
        fitting = {event: bisect_right(sizes.go_to(event.step), room.for_another(event))
                   for event in of_one_head}
        blocked = [event for event, count in fitting.items() if count]
        if len(blocked) >= BLOCKED_STEPS:
            found.append(_told(evidence, blocked, max(fitting.values())))
    return found


def _told(evidence: Evidence, blocked: list[Event], fitting: int) -> Phenomenon:
    first, steps = blocked[0], len(blocked)
    assert first.cause is not None, "every refusal has a cause"
    return evidence.found(
        "head_of_line", first.step, first.request, steps * fitting,
        "blocks" if first.cause.limit in _BLOCKS else "tokens", needed=first.cause.needed,
        available=first.cause.available, steps=steps, fitting=fitting)


class _Room:
    """How much a step could have let in besides what it did."""

    def __init__(self, evidence: Evidence) -> None:
        config, knob = evidence.config, evidence.knob
        self._rows = evidence.trace.step_rows
        self._block_size = config.block_size
        self._reserve = int((knob("watermark") or 0) * config.num_gpu_blocks)
        self._token_budget, self._seats = evidence.engine.budgets(config)
        self._chunked = bool(knob("enable_chunked_prefill"))

    def for_another(self, refusal: Event) -> int:
        """Tokens of the largest request that would have fitted where the head did not."""
        row, cause = self._rows[refusal.step], refusal.cause
        tokens = self._token_budget - row.num_batched_tokens
        blocks = row.free_gpu_blocks - self._reserve
        if cause is None or cause.available is None:
            return 0
        if cause.limit in _TOKENS and not self._chunked:  # else all are in want of the same
            tokens = cause.available
        elif cause.limit in _BLOCKS:
            blocks = cause.available - (0 if cause.limit is Limit.WATERMARK else self._reserve)
        else:
            return 0
        if tokens <= 0 or row.seqs_used >= self._seats:
            return 0
        in_blocks = blocks * self._block_size
        return in_blocks if self._chunked else min(in_blocks, tokens)
