"""The clock in seconds: what every step of a run costs, and when it begins.

With the clock in steps nothing of this runs. Times are seconds from the beginning of the run.
"""

from __future__ import annotations

from collections.abc import Sequence as Rows

from core.cost.machine import Machine
from core.cost.seconds import StepCost
from core.cost.work import StepWork, prefill_pairs
from core.recorder import Recorder
from core.sequence import Sequence
from core.trace import Kind


class SecondsClock:
    """Advances by the cost of each step."""

    def __init__(self, machine: Machine, block_size: int) -> None:
        self.now = 0.0
        """The beginning of the coming step."""
        self.starts: list[float] = []
        self.durations: list[float] = []
        self.num_empty = 0
        """Steps in a row, up to now, that served nobody."""
        self._cost = StepCost(machine, block_size)
        self._num_events = 0
        """Events that belong to earlier steps."""
        self._swapped: dict[int, int] = {}
        """Blocks that each swapped-out request had on the GPU."""

    def jump(self, to_s: float) -> None:
        """Nothing to do until then."""
        self.now = max(self.now, to_s)

    def spend(self, scheduled: Rows[Sequence], record: Recorder) -> None:
        """A step has been decided and not yet computed: it begins now and takes its time."""
        duration = self._cost.seconds(self._work(scheduled, record))
        self.starts.append(self.now)
        self.durations.append(duration)
        self.now += duration
        self.num_empty = 0 if scheduled else self.num_empty + 1

    def _work(self, scheduled: Rows[Sequence], record: Recorder) -> StepWork:
        cached, moved, compressed, decompressed = self._moves(record)
        num_tokens = num_sampled = context = 0
        pairs = 0.0
        for seq in scheduled:
            new, before = seq.num_scheduled_tokens, seq.num_computed_tokens
            if before + new >= seq.num_tokens:
                num_sampled += 1
            if new == 1:
                num_tokens += 1
                context += before + 1
                continue
            if seq.index in cached:
                new -= cached[seq.index]
                before += cached[seq.index]
            num_tokens += new
            pairs += prefill_pairs(new, before)
        return StepWork(num_tokens, len(scheduled), num_sampled, pairs, context, moved, compressed,
                        decompressed)

    def _moves(self, record: Recorder) -> tuple[dict[int, int], int, int, int]:
        """From the step's events: tokens found in the prefix cache by request; blocks moved over
        the host link, compressed, decompressed.

        Blocks that are compressed in the step in which they are swapped out are so before they
        cross the link.
        """
        cached: dict[int, int] = {}
        going: set[int] = set()
        moved = compressed = decompressed = 0
        for event in record.events[self._num_events:]:
            kind, request, count = event.kind, event.request, event.num_tokens
            if request is None:
                continue
            if kind is Kind.PREFILLED and event.num_cached_tokens:
                cached[request] = event.num_cached_tokens
            elif kind is Kind.SWAPPED_OUT:
                going.add(request)
                self._swapped[request] = count
                moved += count
            elif kind is Kind.COMPRESSED:
                compressed += self._swapped[request]
                moved -= self._swapped[request] - count if request in going else 0
            elif kind is Kind.SWAPPED_IN:
                moved += count
                had = self._swapped.pop(request)
                decompressed += had if count < had else 0
        self._num_events = len(record.events)
        return cached, moved, compressed, decompressed
