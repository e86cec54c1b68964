"""A queue followed from step to step, with something sorted about those who stand in it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from core.trace import QueueEdit, Trace

Key = TypeVar("Key", int, tuple[int, int])


class FollowedQueue(Generic[Key]):
    """One or more queues as one, and the keys of all who stand in them in ascending order."""

    def __init__(self, trace: Trace, queues: Iterable[str],
                 key: Callable[[int, int], Key]) -> None:
        """``key`` is given a request and the step in which it joins the queue."""
        self.keys: list[Key] = []
        self._members: dict[str, list[Key]] = {name: [] for name in queues}
        self._edits = [edit for edit in trace.queue_edits if edit.queue in self._members]
        self._at = 0
        self._key: Callable[[int, int], Key] = key

    def go_to(self, step: int) -> list[Key]:
        """The keys when this step was decided. Steps have to be asked for in order."""
        while self._at < len(self._edits) and self._edits[self._at].step <= step:
            self._follow(self._edits[self._at])
            self._at += 1
        return self.keys

    def _follow(self, edit: QueueEdit) -> None:
        members, end = self._members[edit.queue], edit.position + edit.removed
        for key in members[edit.position : end]:
            del self.keys[bisect_left(self.keys, key)]
        come = [self._key(request, edit.step) for request in edit.inserted]
        members[edit.position : end] = come
        for key in come:
            insort(self.keys, key)
