"""The queues of a run, step by step, replayed from their edits."""

from __future__ import annotations

from collections.abc import Iterator

from core.trace import Outcome, Trace

QUEUES = ("waiting", "running", "swapped")
"""The queues in which a request stands while it lives."""


def num_shown_steps(trace: Trace) -> int:
    """Steps in which something was decided: the one in which the engine died has no row."""
    return trace.num_steps + (trace.end.outcome is Outcome.ABORTED)


def queues_by_step(trace: Trace) -> Iterator[dict[str, list[int]]]:
    """For each step the queues when all was decided: waiting, running, swapped, and scheduled.

    ``scheduled`` are those whom the step served; in a step in which the engine dies, nobody. The
    lists are changed in place from one step to the next: copy what you want to keep.
    """
    queues: dict[str, list[int]] = {name: [] for name in (*QUEUES, "scheduled")}
    edits, at = trace.queue_edits, 0
    for step in range(num_shown_steps(trace)):
        while at < len(edits) and edits[at].step <= step:
            edit = edits[at]
            queues[edit.queue][edit.position : edit.position + edit.removed] = edit.inserted
            at += 1
        if step == trace.num_steps:
            queues["scheduled"].clear()
        yield queues
