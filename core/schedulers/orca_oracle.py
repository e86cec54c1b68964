"""Orca's iteration-level scheduling; exactly the true output length is reserved.

As orca_max.py, but the run of blocks ends where the sequence will. It is the most that reserving
can do, and still half of the reserved places are empty, on average over a request's life. The vLLM
paper (section 6.1) calls this variant "Orca (Oracle)"; no real engine can know the length.
"""

from __future__ import annotations

from typing import ClassVar

from core.schedulers.orca_support import ReservingEngine
from core.sequence import Sequence


class Scheduler(ReservingEngine):
    """Orca (Oracle): continuous batching, with the true output length reserved."""

    title = "Orca (Oracle)"
    needs_true_length = True
    breaks: ClassVar[dict[str, str]] = {
        "true_length_not_read": "it is told the output's length, to show the most that reserving"
        " memory in advance can reach",
    }

    def schedule(self) -> list[Sequence]:
        self.begin_step()
        for seq in self.running:
            self.decode(seq)
        while self.waiting:
            seq = self.waiting[0]
            num_blocks = self.blocks_to_reserve(self.true_lengths[seq.request_id])
            if cause := self.never(seq, num_blocks):
                self.give_up(seq, cause)
            elif cause := self.not_now(seq, num_blocks):
                self.refuse(seq, cause, "waiting")
                break
            else:
                self.start(seq, num_blocks)
        return self.scheduled
