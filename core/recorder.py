"""Writes a run down while it happens. Only the simulator and the engine's verbs hold one."""

from __future__ import annotations

import sys
import traceback
from collections import deque
from collections.abc import Iterable

from core.sequence import Sequence
from core.trace import (
    Cause,
    Event,
    Kind,
    Parking,
    QueueEdit,
    Span,
    State,
    StepRow,
    TableLease,
)


class Recorder:
    """The growing record of one run."""

    def __init__(self, source_file: str) -> None:
        self.step = 0
        self.steps: list[StepRow] = []
        self.events: list[Event] = []
        self.spans: list[Span] = []
        self.leases: list[TableLease] = []
        self.edits: list[QueueEdit] = []
        self.parkings: list[Parking] = []
        self.prefill_tokens = 0
        """Prefill tokens given in this step so far."""
        self.refusal: int | None = None
        """Index in ``events`` of this step's first refusal."""
        self._source_file = source_file
        self._scheduled: list[Sequence] = []
        self._parked: dict[int, int] = {}

    def event(
        self,
        kind: Kind,
        seq: Sequence | None,
        num_tokens: int = 0,
        cause: Cause | None = None,
        queue: str | None = None,
        num_cached_tokens: int = 0,
        block_id: int | None = None,
        step: int | None = None,
        death: BaseException | None = None,
    ) -> None:
        """Write a decision down, with the line of the scheduler's source that took it.

        ``death`` is what ended the engine, if this tells of it: it knows the line.
        """
        if kind is Kind.REFUSED and self.refusal is None:
            self.refusal = len(self.events)
        request = None if seq is None else seq.index
        at = self.step if step is None else step
        line = self._line() if death is None else self._line_of(death)
        self.events.append(Event(at, kind, request, num_tokens, cause, line, queue,
                                 num_cached_tokens, block_id))

    def _line(self) -> int | None:
        """The line of the innermost caller that stands in the scheduler's own file."""
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self._source_file:
            frame = frame.f_back  # type: ignore[assignment]
        return None if frame is None else frame.f_lineno

    def _line_of(self, death: BaseException) -> int | None:
        """The innermost line of the scheduler's own file that was at work."""
        lines = [line for frame, line in traceback.walk_tb(death.__traceback__)
                  if frame.f_code.co_filename == self._source_file]
        return lines[-1] if lines else None

    def enter(self, seq: Sequence, state: State) -> None:
        """The request enters ``state`` at the present step; its stay in the last one ends."""
        if self.step > seq.state_since:
            self.end_stay(seq)
        seq.state = state
        seq.state_since = self.step
        seq.span_tokens = 0
        seq.outputs_before = seq.num_output_tokens

    def end_stay(self, seq: Sequence) -> None:
        """Write down the request's stay in its present state, up to the present step."""
        tokens = seq.span_tokens
        if seq.state is State.DECODE:
            tokens = seq.num_output_tokens - seq.outputs_before
            seq.total_computed += tokens
        self.spans.append(
            Span(seq.index, seq.state, seq.attempt, seq.state_since, self.step, tokens)
        )

    def lease(self, device: str, seq: Sequence, blocks: list[int], since: list[int],
              compressed: bool = False) -> None:
        """The request gave up these blocks. The lists are kept: hand over, don't touch again."""
        if blocks:
            self.leases.append(TableLease(device, seq.index, blocks, since, self.step, compressed))

    def park(self, block: int) -> None:
        """From now on nobody holds this GPU block, but what it holds can still be found."""
        self._parked[block] = self.step

    def unpark(self, block: int) -> None:
        """The block, if it was parked, is held again or handed out."""
        since = self._parked.pop(block, self.step)
        if since < self.step:
            self.parkings.append(Parking(block, since, self.step))

    def unpark_all(self) -> None:
        """The run is over."""
        for block in list(self._parked):
            self.unpark(block)

    def scheduled(self, sequences: list[Sequence]) -> None:
        """Note the order in which this step served its requests, if it differs from the last."""
        if sequences != self._scheduled:
            edit = splice(self._scheduled, sequences)
            self.edits.append(QueueEdit(self.step, "scheduled", *edit))
            self._scheduled = list(sequences)

    def close_step(self, row: StepRow) -> None:
        """The scheduler has decided: keep the step's numbers. What follows belongs to the next."""
        self.steps.append(row)
        self.step += 1
        self.prefill_tokens = 0
        self.refusal = None


class Queue(deque[Sequence]):
    """A queue of requests that writes every edit down."""

    def __init__(self, name: str, record: Recorder) -> None:
        super().__init__()
        self.name = name
        self._record = record

    def append(self, seq: Sequence) -> None:
        self._log(len(self), 0, (seq.index,))
        super().append(seq)

    def appendleft(self, seq: Sequence) -> None:
        self._log(0, 0, (seq.index,))
        super().appendleft(seq)

    def extend(self, sequences: Iterable[Sequence]) -> None:
        for seq in list(sequences):
            self.append(seq)

    def extendleft(self, sequences: Iterable[Sequence]) -> None:
        for seq in list(sequences):
            self.appendleft(seq)

    def insert(self, position: int, seq: Sequence) -> None:
        self._log(position, 0, (seq.index,))
        super().insert(position, seq)

    def popleft(self) -> Sequence:
        self._log(0, 1, ())
        return super().popleft()

    def pop(self) -> Sequence:  # type: ignore[override]
        self._log(len(self) - 1, 1, ())
        return super().pop()

    def remove(self, seq: Sequence) -> None:
        self._log(self.index(seq), 1, ())
        super().remove(seq)

    def become(self, sequences: list[Sequence]) -> None:
        """Hold exactly these, in this order."""
        before = list(self)
        if before != sequences:
            self._log(*splice(before, sequences))
            super().clear()
            super().extend(sequences)

    def _log(self, position: int, removed: int, inserted: tuple[int, ...]) -> None:
        record = self._record
        record.edits.append(QueueEdit(record.step, self.name, position, removed, inserted))


def splice(old: list[Sequence], new: list[Sequence]) -> tuple[int, int, tuple[int, ...]]:
    """The one edit (position, removed, inserted) that makes ``new`` of ``old``."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] is new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] is new[-1 - tail]:
        tail += 1
    return head, len(old) - head - tail, tuple(s.index for s in new[head : len(new) - tail])
