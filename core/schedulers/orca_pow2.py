"""Orca's iteration-level scheduling; up to twice the output's true length is reserved.

As orca_max.py, but the run of blocks ends after the prompt and the next power of two of the true
output length: 25 tokens reserve 32. So at most half of the output's places stay empty. The vLLM
paper (section 6.1) calls this variant "Orca (Pow2)"; no real engine can know the length.
"""

from __future__ import annotations

from typing import ClassVar

from core.schedulers.orca_support import ReservingEngine
from core.sequence import Sequence


class Scheduler(ReservingEngine):
    """Orca (Pow2): continuous batching, with up to twice the true output length reserved."""

    title = "Orca (Pow2)"
    needs_true_length = True
    breaks: ClassVar[dict[str, str]] = {
        "true_length_not_read": "it is told the output's length, to show how much guessing it"
        " within a factor of two would help",
    }

    def schedule(self) -> list[Sequence]:
        self.begin_step()
        for seq in self.running:
            self.decode(seq)
        while self.waiting:
            seq = self.waiting[0]
            output_len = self.true_lengths[seq.request_id]
            num_blocks = self.blocks_to_reserve(next_power_of_two(output_len))
            if cause := self.never(seq, num_blocks):
                self.give_up(seq, cause)
            elif cause := self.not_now(seq, num_blocks):
                self.refuse(seq, cause, "waiting")
                break
            else:
                self.start(seq, num_blocks)
        return self.scheduled


def next_power_of_two(number: int) -> int:
    """The smallest power of two that is not below the number."""
    return 1 << (number - 1).bit_length()
