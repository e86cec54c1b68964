"""Orca's iteration-level scheduling; every request reserves the longest possible sequence.

In each step every running request gets a token, and whoever waits first starts as soon as a seat
and a run of blocks are free: nobody waits for a batch to end. The run is as long as
``max_model_len``, for nobody knows how long the output will be. The vLLM paper (section 6.1) calls
this variant "Orca (Max)".
"""

from __future__ import annotations

from core.schedulers.orca_support import ReservingEngine
from core.sequence import Sequence


class Scheduler(ReservingEngine):
    """Orca (Max): continuous batching, with max_model_len tokens reserved for everybody."""

    title = "Orca (Max)"

    def schedule(self) -> list[Sequence]:
        self.begin_step()
        for seq in self.running:
            self.decode(seq)
        while self.waiting:
            seq = self.waiting[0]
            num_blocks = self.blocks_to_reserve(self.config.max_model_len)
            if cause := self.never(seq, num_blocks):
                self.give_up(seq, cause)
            elif cause := self.not_now(seq, num_blocks):
                self.refuse(seq, cause, "waiting")
                break
            else:
                self.start(seq, num_blocks)
        return self.scheduled
