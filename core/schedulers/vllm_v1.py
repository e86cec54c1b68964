"""vLLM's scheduler of today, V1: one budget; running first; whoever is behind wants the rest.

There is no prefill phase and no decode phase. A request has tokens (its prompt and what it has
generated), some of them computed; it wants the others, as far as the step's budget reaches. For a
decode that is one. The source is golden/v1; its sections' numbers stand in parentheses.

What V1 does otherwise than V0 (vllm_v0.py):

- A step serves those who run and then lets others in; in V0's default mode it is one or the other.
- A decode needs a block only when its token begins one; V0 wants a free one for each decode.
- The victim is the last to have been let in or, with priorities, the least urgent of all who run,
  even if it has its tokens already; in V0 whoever has been served is safe. Nothing is swapped.
- A step that preempted lets nobody in, and nobody who waits pushes a running request out.
- Who is let in needs no new blocks for what others hold in the cache; V0 counts them as needed.
  And the watermark counts only while somebody runs.
- Block 0 is never handed out. With prefix caching one queue holds all free blocks, cached ones at
  its far end; V0 keeps these apart and evicts by time of access.
- Nobody is ever given up: what can never fit waits, or runs in circles, for ever.

Left out: speculative decoding, asynchronous scheduling, KV connectors, LoRA, images, structured
output, sliding windows and hybrid caches, aborts.
"""

from __future__ import annotations

import sys

from core.schedulers.vllm_v1_support import V1Engine, urgency
from core.sequence import Sequence
from core.trace import Cause, Limit, State


class Scheduler(V1Engine):
    """The V1 scheduler of vllm 0.33.0, decision for decision."""

    title = "vLLM V1 (0.33.0)"
    has_null_block = True

    def schedule(self) -> list[Sequence]:
        self.begin_step()
        self.serve_running()
        if self.victims:  # however much room they left
            self.hold(self.waiting, Cause(Limit.PREEMPTING_STEP, other=self.victims[0].request_id))
        else:
            self.serve_waiting()
        self.end_step()
        return self.scheduled

    # -- running first (4) -------------------------------------------------------------------

    def serve_running(self) -> None:
        """In the order in which they were let in, under either policy."""
        budget, block_size = self.budget, self.config.block_size
        for seq in list(self.running):
            if seq.state is State.WAITING:
                continue  # preempted on behalf of somebody before it
            if budget.used_tokens == budget.token_budget:
                self.refuse(seq, self.no_token, "running")
                break
            num_tokens = 1 if seq.state is State.DECODE else self.next_chunk(seq)
            room = len(seq.block_table) * block_size - seq.num_computed_tokens
            if num_tokens and (num_tokens <= room or self.make_room(seq, num_tokens)):
                self.give(seq, num_tokens)

    def next_chunk(self, seq: Sequence) -> int:
        """Tokens that a request gets in the middle of its prompt; 0 if something holds it up."""
        computed, longest = seq.num_computed_tokens, self.config.max_model_len - 1
        if self.interval.hold:
            self.refuse(seq, self.interval.hold, "running")
            return 0
        if computed >= longest:  # no room for the next token: it sits here for ever
            self.refuse(seq, Cause(Limit.MODEL_LEN, seq.num_tokens, longest), "running")
            return 0
        return min(seq.num_tokens - computed, self.chunk_cap, self.tokens_left, longest - computed)

    def make_room(self, seq: Sequence, num_tokens: int) -> bool:
        """Take the blocks for so many more tokens; whoever has to go for that, goes."""
        missing = self.blocks_up_to(seq.num_computed_tokens + num_tokens) - len(seq.block_table)
        while missing > (free := self.blocks.gpu.num_free):
            victim = self.victim()
            self.send_back(victim, Cause(Limit.GPU_BLOCKS, missing, free, seq.request_id))
            if victim is seq:
                return False
        self.blocks.grow(seq, missing)
        return True

    def victim(self) -> Sequence:
        """The last to have been let in; with priorities the least urgent, wherever it stands."""
        return max(self.running, key=urgency) if self.by_priority else self.running[-1]

    def send_back(self, victim: Sequence, cause: Cause) -> None:
        """The victim loses its blocks and, if it has been served in this step, its tokens."""
        if victim in self.scheduled:
            self.take_back(victim, cause)
        self.running.remove(victim)
        self.preempt(victim, cause)
        self.victims.append(victim)
        if self.by_priority:
            self.enqueue(victim)
        else:
            self.waiting.appendleft(victim)  # the last victim stands first

    # -- then waiting (5) --------------------------------------------------------------------

    def serve_waiting(self) -> None:
        """Let in from the front, until one is held up: nobody passes it."""
        while self.waiting and self.let_in(self.waiting[0]):
            pass
        self.interval.waiting_was_served(left=bool(self.waiting))

    def let_in(self, seq: Sequence) -> bool:
        """Whether the head of the waiting queue can run now; if so, it does."""
        if cause := self.nothing_left():
            return self.turn_away(seq, cause)
        hits = self.cache.look_up(seq) if self.cache else []
        cached = len(hits) * self.config.block_size
        behind = seq.num_tokens - cached
        if behind > 1 and self.interval.hold:
            return self.turn_away(seq, self.interval.hold)
        num_tokens = min(behind, self.chunk_cap)
        if num_tokens > self.tokens_left and not self.config.enable_chunked_prefill:
            cause = Cause(Limit.CHUNKED_PREFILL, num_tokens, self.tokens_left)
            return self.turn_away(seq, cause)
        num_tokens = min(num_tokens, self.tokens_left)
        if cause := self.no_room(seq, hits, cached + num_tokens):
            return self.turn_away(seq, cause)

        self.start(self.waiting.popleft(), hits, num_tokens)
        return True

    def start(self, seq: Sequence, hits: list[int], num_tokens: int) -> None:
        """The request runs: its table is what the cache has of it, and new blocks."""
        cached = len(hits) * self.config.block_size
        self.admit(seq)
        self.running.append(seq)
        if self.cache:
            self.cache.adopt(seq, hits)
        self.blocks.grow(seq, self.blocks_up_to(cached + num_tokens) - len(hits))
        self.give(seq, num_tokens, cached)

    def no_room(self, seq: Sequence, hits: list[int], end: int) -> Cause | None:
        """None if the blocks up to token ``end`` are free; with scheduler_reserve_full_isl, those
        for the whole request, though nothing is set aside for it.

        A hit that nobody holds is as good as a new block. The watermark counts while anybody runs.
        """
        idle = self.cache.num_idle(hits) if self.cache else 0
        chunk = max(self.blocks_up_to(end) - len(hits), 0) + idle
        whole = max(self.blocks_up_to(seq.num_tokens) - len(hits), 0) + idle
        needed = whole if self.config.scheduler_reserve_full_isl else chunk
        kept = int(self.config.watermark * self.config.num_gpu_blocks) if self.running else 0
        free = self.blocks.gpu.num_free
        if needed + kept <= free:
            return None
        if chunk > free:
            return Cause(Limit.GPU_BLOCKS, chunk, free)
        if needed > free:
            return Cause(Limit.FULL_ISL, needed, free)
        return Cause(Limit.WATERMARK, needed, max(free - kept, 0))

    # -- the step's numbers (3) --------------------------------------------------------------

    def begin_step(self) -> None:
        """A new budget, and how much of it one request may have."""
        self.budget.used_tokens = 0
        self.scheduled, self.victims = [], []
        self.interval.begin_step(self.running)
        self.chunk_cap = self.config.long_prefill_token_threshold or sys.maxsize
        count = len(self.running) + len(self.waiting)
        if count <= 1:
            self.chunk_cap = sys.maxsize  # alone in the engine: no cap
        elif self.config.long_prefill_token_threshold_adaptive:
            self.chunk_cap = max(self.chunk_cap, self.config.max_num_batched_tokens // count)

    def end_step(self) -> None:
        """Close the books."""
        self.budget.used_seqs = len(self.running)
        self.interval.end_step(bool(self.scheduled))
