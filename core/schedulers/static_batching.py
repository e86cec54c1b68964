"""Static batching: a batch is filled once and runs to its last token.

Nobody joins a running batch. Who ends early leaves a seat that stays empty, and a run of blocks
that stays reserved, until the last request of the batch has ended. Everybody reserves
``max_model_len`` tokens of neighbouring blocks, as FasterTransformer did. So served before Orca
(OSDI 2022, section 2).

Kinder than the real thing in two ways: tokens are seen when they are computed, though such servers
answered when the batch was over, and the padding of short prompts costs nothing.
"""

from __future__ import annotations

from core.blocks import blocks_for
from core.contiguous import ContiguousBlocks
from core.recorder import Recorder
from core.scenario import EngineConfig
from core.schedulers.orca_support import ReservingEngine
from core.sequence import Sequence
from core.trace import Cause, Limit


class BatchBlocks(ContiguousBlocks):
    """Blocks that are given back when the whole batch is over."""

    def free(self, seq: Sequence) -> None:
        """The request has ended; its blocks stay with it."""

    def free_batch(self, batch: list[Sequence]) -> None:
        """The batch is over."""
        for seq in batch:
            super().free(seq)


class Scheduler(ReservingEngine):
    """Static batching: nobody joins a batch, and it ends as a whole."""

    title = "Static batching"
    models = "request-level batching as in FasterTransformer (Orca, OSDI 2022, section 2)"
    blocks: BatchBlocks

    def __init__(self, config: EngineConfig, record: Recorder) -> None:
        super().__init__(config, record)
        self.batch: list[Sequence] = []
        """Whoever started with the present batch, ended or not."""

    def make_blocks(self) -> BatchBlocks:
        """One run per request, given back with the batch."""
        config = self.config
        return BatchBlocks(config.block_size, config.num_gpu_blocks, self.record)

    def schedule(self) -> list[Sequence]:
        self.begin_step()
        if self.running:
            for seq in self.running:
                self.decode(seq)
            size = len(self.batch)
            self.hold(self.waiting, Cause(Limit.BATCH_CLOSED, size + 1, size))
        else:
            self.fill_batch()
        return self.scheduled

    def fill_batch(self) -> None:
        num_blocks = blocks_for(self.config.max_model_len, self.config.block_size)
        while self.waiting:
            seq = self.waiting[0]
            if cause := self.never(seq, num_blocks):
                self.give_up(seq, cause)
            elif cause := self.not_now(seq, num_blocks):
                self.refuse(seq, cause, "waiting")
                break
            else:
                self.start(seq, num_blocks)
        self.batch = list(self.running)

    def finish(self, seq: Sequence) -> None:
        """The request has its last token. With the last of the batch, the batch is over."""
        super().finish(seq)
        if not self.running:
            self.blocks.free_batch(self.batch)
