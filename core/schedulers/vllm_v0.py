"""vLLM's classic scheduler (V0), decision for decision as in vllm 0.6.6.post1.

Three queues: waiting, running, swapped. A step either admits prompts or lets the running ones
decode; with chunked prefill it does both. Where the engine surprises, it is meant to be so here:

 1. A decode demands a free block even if its last one has room.
 2. Recomputed victims return in order of arrival, swapped ones in the order of being thrown out.
 3. One swapped-out request closes the door for all newcomers, unless prefill is chunked.
 4. Too few CPU blocks do not mean recompute instead: the engine dies. And it asks for one block
    too many at a block edge.
 5. Admission looks at the prompt only, so a request just admitted may be the next victim.
 6. The watermark does not bind the running: who grows into the reserve may be too large to return.
 7. Who outgrows the GPU while swapped out is ignored, and its CPU blocks are lost for good.
 8. With chunked prefill the length limit is held against the chunk, not the prompt.
 9. A half-done prompt that was swapped out must fit the budget with all of its rest; with prefix
    caching the engine dies instead.
10. With chunked prefill a victim's blocks can go to a newcomer in the same step.
11. A half-done prompt has all its blocks and yet demands a free one if its last is part-filled.
12. A hit in the prefix cache is counted when a request is first looked at, and never again.
13. A prompt's blocks count as cached after its first chunk, computed or not.
14. Cached blocks do not lower the need for blocks at admission.
15. With caching and chunks a decode costs a whole block of what is left of the budget.
16. Priority throws somebody out for the head of the queue as it stands, and sorts afterwards. With
    chunked prefill it does nothing. With swapping the victim's blocks are never handed to the
    worker to be copied, and the engine dies when it meets the victim in waiting.
17. The engine's own choice of preemption is always recompute.
18. A prompt over the limit is dropped only when it has become the head.

Section numbers are those of tests/golden/v0/README.md, the rules drawn from the recorded engine.
Left out: several sequences per request, lookahead slots, sliding windows, LoRA, asynchronous
output.
"""

from __future__ import annotations

from collections import deque

from core.engine import EngineDied
from core.schedulers.vllm_v0_support import V0Engine
from core.sequence import Sequence
from core.trace import Cause, Limit, State


class Scheduler(V0Engine):
    """vLLM's classic scheduler: prefill first, or chunks along with the decodes."""

    title = "vLLM V0 (0.6.6)"

    def schedule(self) -> list[Sequence]:
        self.new_budget()
        scheduled = self.chunked_step() if self.chunked else self.default_step()
        self.budget.used_tokens += self.cached_tokens  # so the engine reports it
        return scheduled

    def default_step(self) -> list[Sequence]:
        """Prompts, or else decodes (2.5)."""
        self.budget.used_seqs = len(self.running)
        admitted: list[Sequence] = []
        if self.swapped:  # surprise 3
            self.hold(self.waiting, Cause(Limit.SWAPPED_FIRST, other=self.swapped[0].request_id))
        else:
            admitted = self.schedule_prefills(others_run=bool(self.running))
        if admitted:
            self.hold(self.running, Cause(Limit.PREFILL_STEP, other=admitted[0].request_id))
            self.running.extend(admitted)
            return admitted

        if self.config.policy == "priority":
            self.schedule_priority_preemption()
        decodes, _, victims = self.schedule_running()
        scheduled = decodes + self.schedule_swapped(victims)
        self.running.become(scheduled)
        self.requeue(victims)
        return scheduled

    def chunked_step(self) -> list[Sequence]:
        """Decodes first, then whatever prompt tokens fit (2.6)."""
        served, unreached, victims = self.schedule_running()
        returned = self.schedule_swapped(victims)
        admitted = self.schedule_prefills(others_run=bool(unreached))  # surprise 10
        self.requeue(victims)
        decodes, chunks = by_state(served)
        returned_decodes, returned_chunks = by_state(returned)
        self.running.become(
            [*unreached, *returned_decodes, *returned_chunks, *decodes, *chunks, *admitted])
        return [*admitted, *chunks, *returned_chunks, *decodes, *returned_decodes]

    def schedule_prefills(self, others_run: bool) -> list[Sequence]:
        """Admission: waiting -> running, until the first that has to wait (2.7)."""
        admitted: list[Sequence] = []
        waiting = self.waiting
        while not (early := self.delay.look(self.now, waiting, others_run)) and waiting:
            seq = waiting[0]
            if seq.state is State.SWAPPED:  # surprise 16
                raise EngineDied("AssertionError: a request in waiting is swapped out",
                                 Cause(Limit.INTERNAL_ERROR), seq)
            charged, cached = self.cost(seq)
            if never := self.too_long(charged + cached) or self.blocks.can_never_allocate(seq):
                waiting.popleft()
                self.ignore(seq, never)  # surprise 18
                continue
            # the prompt has to fit, not what it will generate: surprise 5
            if cause := self.blocks.cannot_allocate(seq) or self.no_budget(charged):
                self.refuse(seq, cause, "waiting")
                break
            waiting.popleft()
            self.admit(seq)
            self.blocks.allocate(seq)
            self.compute(seq, charged, cached)
            self.budget.used_seqs += 1
            admitted.append(seq)
        if early and waiting:
            self.refuse(waiting[0], early, "waiting")
        if admitted:
            self.delay.admitted()
        return admitted

    def schedule_running(self) -> tuple[list[Sequence], deque[Sequence], list[Sequence]]:
        """One token or chunk for each, or somebody has to go: served, unreached, victims (2.8)."""
        served: list[Sequence] = []
        victims: list[Sequence] = []
        queue = deque(self.running)
        while queue:
            charged, cached = self.cost(queue[0])
            if not charged:
                self.refuse(queue[0], self.nothing_left(), "running")
                break
            seq = queue.popleft()
            while cause := self.blocks.cannot_append(seq):  # surprises 1 and 11
                victim = queue.pop() if queue else seq  # the last one; failing that, itself
                self.throw_out(victim, cause._replace(other=seq.request_id))
                victims.append(victim)
                if victim is seq:
                    break
            else:
                self.blocks.append(seq)
                self.compute(seq, charged, cached)
                served.append(seq)
        if self.chunked:
            self.budget.used_seqs += len(served)
        return served, queue, victims

    def schedule_swapped(self, victims: list[Sequence]) -> list[Sequence]:
        """Swap-in: swapped -> running, until the first that cannot come (2.9)."""
        returned: list[Sequence] = []
        if victims:
            self.hold(self.swapped, Cause(Limit.PREEMPTING_STEP, other=victims[0].request_id))
            return returned
        while self.swapped:
            seq = self.swapped[0]
            if never := self.blocks.can_never_swap_in(seq):
                self.swapped.popleft()
                self.ignore(seq, never)  # surprise 7
                continue
            cause = (self.blocks.cannot_swap_in(seq)
                     or self.no_budget(charged := self.cost_of_return(seq)))
            if cause:
                self.refuse(seq, cause, "swapped")
                break
            self.swapped.popleft()
            self.swap_in(seq)
            self.blocks.append(seq)
            self.compute(seq, charged, 0)
            self.budget.used_seqs += 1
            returned.append(seq)
        return returned

    def schedule_priority_preemption(self) -> None:
        """Throw the less urgent out for the head of waiting, to be admitted later (2.12)."""
        running = sorted(self.running, key=urgency)
        forced: list[Sequence] = []
        if self.waiting:
            head = self.waiting[0]  # surprise 16: not the most urgent one
            charged = 0 if head.state is State.SWAPPED else self.cost(head)[0]
            while running and urgency(running[-1]) > urgency(head):
                if head.state is State.SWAPPED:  # surprise 16
                    raise EngineDied("IndexError: the candidate in waiting is swapped out",
                                     Cause(Limit.INTERNAL_ERROR), head)
                if not (self.blocks.cannot_allocate(head) or self.no_budget(charged)):
                    break
                victim = running.pop()
                self.budget.used_seqs -= 1
                self.throw_out(victim, Cause(Limit.PRIORITY, other=head.request_id))
                forced.append(victim)
        self.waiting.become(sorted([*self.waiting, *forced], key=urgency))
        self.running.become(running)


def urgency(seq: Sequence) -> tuple[int, float]:
    """Smaller is more urgent."""
    return seq.priority, seq.arrival_time


def by_state(sequences: list[Sequence]) -> tuple[list[Sequence], list[Sequence]]:
    """Decodes and prefills, each in the order given."""
    return ([seq for seq in sequences if seq.state is State.DECODE],
            [seq for seq in sequences if seq.state is not State.DECODE])
