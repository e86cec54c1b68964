"""Memory that is too small, used up, or held and empty."""

from __future__ import annotations

import numpy as np

from core.phenomena.phenomenon import Evidence, Phenomenon
from core.trace import Event, Kind, Limit, Outcome, State

EMPTY_SHARE = 0.25
"""Share of the held places that hold no token, from which on it is told. A last block is half
empty on average, so this is a question of how many blocks a request has."""
EMPTY_BLOCKS = 1
"""And so many blocks have to be empty, counted together: with less nobody could do anything."""

_ROOM = frozenset({Limit.GPU_BLOCKS, Limit.WATERMARK, Limit.FULL_ISL, Limit.CONTIGUOUS_RUN})
_UNIT = {
    Limit.GPU_BLOCKS: "blocks", Limit.FULL_ISL: "blocks", Limit.WATERMARK: "blocks",
    Limit.TOKEN_BUDGET: "tokens", Limit.SCHEDULED_TOKENS: "tokens",
    Limit.CHUNKED_PREFILL: "tokens", Limit.MODEL_LEN: "tokens",
    Limit.SEQ_BUDGET: "seats", Limit.ACTIVE_SEQS: "seats",
}


def never_fits(evidence: Evidence) -> list[Phenomenon]:
    """Requests that ask for more than there can ever be, the first time that it shows.

    Who got all its tokens in the end was not one of them: V1 asks for less another time if the
    prompt is cut otherwise.
    """
    rows = evidence.trace.request_rows
    done = {request for request, row in enumerate(rows) if row.state is State.FINISHED}
    shown: dict[int | None, Phenomenon] = {}
    for event in [*evidence.events(Kind.IGNORED), *evidence.events(Kind.REFUSED)]:
        if event.request in shown or event.request in done:
            continue
        if event.cause is None or event.cause.needed is None:
            continue
        most = _most_ever(evidence, event)
        if most is not None and event.cause.needed > most:
            shown[event.request] = evidence.found(
                "never_fits", event.step, event.request, event.cause.needed - most,
                _UNIT[event.cause.limit], needed=event.cause.needed, most=most)
    return list(shown.values())


def _most_ever(evidence: Evidence, event: Event) -> int | None:
    """All that there is of what was asked for; None if that is no number."""
    assert event.cause is not None, "every refusal has a cause"
    config, limit = evidence.config, event.cause.limit
    if event.kind is Kind.IGNORED or limit is Limit.MODEL_LEN:
        return event.cause.available  # the engine has compared it with the whole itself
    if limit is Limit.CHUNKED_PREFILL:  # other limits may make it ask for less another time
        end = evidence.trace.end
        for_ever = (end.outcome, end.request, end.cause) == (
            Outcome.STUCK, event.request, event.cause)
        return event.cause.available if for_ever else None
    blocks = config.num_gpu_blocks - evidence.engine.has_null_block
    if limit is Limit.WATERMARK and event.queue == "swapped":  # V0; in V1 it can cease to count
        return blocks - int(config.watermark * config.num_gpu_blocks)
    return {
        Limit.GPU_BLOCKS: blocks,
        Limit.FULL_ISL: blocks,
        Limit.TOKEN_BUDGET: config.max_num_batched_tokens,
        Limit.SEQ_BUDGET: config.max_num_seqs,
    }.get(limit)


def swap_exhausted(evidence: Evidence) -> list[Phenomenon]:
    """The engine dies for lack of swap space, or every block of it is taken for some steps."""
    total = evidence.config.num_cpu_blocks
    found = [
        evidence.found("swap_exhausted", event.step, event.request, evidence.trace.num_steps + 1,
                       "died", needed=event.cause.needed, available=event.cause.available,
                       total=total)
        for event in evidence.events(Kind.ABORTED)
        if event.cause is not None and event.cause.limit is Limit.CPU_BLOCKS
    ]
    if not evidence.events(Kind.SWAPPED_OUT):
        return found  # some engines have no swap space
    free = np.array([row.free_cpu_blocks for row in evidence.trace.step_rows], dtype=np.int64)
    borders = np.flatnonzero(np.diff(np.concatenate(([1], free, [1])) == 0)).tolist()
    for first, end in zip(borders[::2], borders[1::2], strict=True):
        found.append(evidence.found("swap_exhausted", first, None, end - first, "full",
                                    total=total, steps=end - first))
    return found


def fragmentation(evidence: Evidence) -> list[Phenomenon]:
    """The step in which most held places are empty while somebody finds no room; and requests
    for which enough blocks are free, but not side by side."""
    trace = evidence.trace
    no_room: dict[int, Event] = {}
    in_pieces: dict[int | None, list[Event]] = {}
    for event in [*evidence.events(Kind.REFUSED), *evidence.losses]:
        if event.cause is not None and event.cause.limit in _ROOM:
            if event.step < trace.num_steps:
                no_room.setdefault(event.step, event)
            if event.cause.limit is Limit.CONTIGUOUS_RUN:
                in_pieces.setdefault(event.request, []).append(event)
    found = [_in_pieces(evidence, events) for events in in_pieces.values()]
    if not no_room:
        return found
    memory, steps = evidence.memory, np.array(list(no_room))
    empty = (memory.reserved + memory.internal)[steps]
    held = memory.used[steps] + empty
    size = evidence.config.block_size
    enough = (empty >= EMPTY_SHARE * held) & (empty >= EMPTY_BLOCKS * size)
    worst = int(np.argmax(np.where(enough, empty, 0)))
    if enough[worst]:
        step = int(steps[worst])
        found.append(evidence.found(
            "fragmentation", step, no_room[step].request, int(empty[worst]),
            empty=int(empty[worst]), held=int(held[worst]), size=size))
    return found


def _in_pieces(evidence: Evidence, refused: list[Event]) -> Phenomenon:
    step, cause = refused[0].step, refused[0].cause
    assert cause is not None, "every refusal has a cause"
    return evidence.found(
        "fragmentation", step, refused[0].request, len(refused), "pieces", steps=len(refused),
        needed=cause.needed, available=cause.available,
        free=evidence.trace.step_rows[step].free_gpu_blocks)
