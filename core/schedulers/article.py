"""The article's three-queue scheduler, as printed.

Three passes share one budget of tokens and sequences: bring swapped requests back, admit waiting
ones if nobody is left swapped, then give every running request, the ones just admitted included,
one token, or preempt it. What the listing leaves open is filled in by article_support.py.

The slips are the listing's own and are kept. article_repaired.py mends them; compare the two.

1. A restored request is charged one sequence for each of its tokens.
2. Running requests are held against a sequence budget that already counts the newly admitted, and
   they are not counted in it themselves.
3. Whoever finds no room is the victim, first come first hit.
4. ``extendleft`` turns the order of the recomputed round.
5. A recomputed request is charged its prompt only, though its outputs are computed again.
6. A restored request is charged its token twice.
7. A request thrown out in the cycle that let it in is swapped out with a prompt that nobody
   computed, and comes back as if it had been.
"""

from __future__ import annotations

from typing import ClassVar

from core.engine import SchedulingBudget
from core.schedulers.article_support import ArticleEngine
from core.sequence import Sequence
from core.trace import Cause, Limit


class Scheduler(ArticleEngine):
    """Article, as printed (sections 2 and 3)."""

    title = "Article, as printed"

    breaks: ClassVar[dict[str, str]] = {
        "tokens_within_budget": "slip 5: a recomputed request is charged its prompt only, so a"
        " cycle can compute more tokens than its budget has",
        "running_within_seq_budget": "slip 2: running requests are not counted as sequences, so a"
        " cycle can admit as many again",
    }

    def schedule(self) -> list[Sequence]:
        self.run_scheduling_cycle()
        return self.scheduled

    def run_scheduling_cycle(self) -> None:
        budget = self.new_budget()
        self.order_waiting()

        # 1. swapped requests first
        restored = self.schedule_swapped(budget)
        self.running.extend(restored)

        # 2. waiting requests, only if nobody is swapped out
        if not self.swapped:
            new_seqs = self.schedule_prefills(budget)
            self.running.extend(new_seqs)
        else:
            self.hold(self.waiting, Cause(Limit.SWAPPED_FIRST, other=self.swapped[0].request_id))

        # 3. every running request gets a token or has to go
        preempted, swapped = self.schedule_running(budget)
        self.waiting.extendleft(preempted)  # slip 4
        self.swapped.extend(swapped)
        self.compress_swapped()

    def schedule_prefills(self, budget: SchedulingBudget) -> list[Sequence]:
        scheduled: list[Sequence] = []
        while self.waiting:
            seq_group = self.waiting[0]

            if seq_group.prompt_len > self.max_prompt_len:
                self.waiting.popleft()
                self.ignore(seq_group,
                            Cause(Limit.MODEL_LEN, seq_group.prompt_len, self.max_prompt_len))
                continue

            if cause := self.group_is_full(scheduled) or self.cannot_allocate(seq_group):
                self.refuse(seq_group, cause, "waiting")
                break

            new_tokens = seq_group.prompt_len  # slip 5
            new_seqs = 1
            if cause := budget.refusal(new_tokens, new_seqs):
                self.refuse(seq_group, cause, "waiting")
                break

            self.waiting.popleft()
            self.start(seq_group)
            scheduled.append(seq_group)
            budget.used_tokens += new_tokens
            budget.used_seqs += new_seqs
        return scheduled

    def schedule_running(self, budget: SchedulingBudget) -> tuple[list[Sequence], list[Sequence]]:
        preempted: list[Sequence] = []
        swapped: list[Sequence] = []
        for seq_group in list(self.running):
            cause = budget.refusal(1, 1) or self.cannot_append(seq_group)  # slip 2
            if cause:
                self.running.remove(seq_group)  # slip 3
                if self.swap_strategy == "RECOMPUTE":
                    self.preempt(seq_group, cause)
                    preempted.append(seq_group)
                else:
                    self.swap_out(seq_group, cause)  # slip 7
                    swapped.append(seq_group)
            else:
                budget.used_tokens += 1
                self.append_token(seq_group)
        return preempted, swapped

    def schedule_swapped(self, budget: SchedulingBudget) -> list[Sequence]:
        restored: list[Sequence] = []
        while self.swapped:
            seq_group = self.swapped[0]

            new_tokens = 1
            new_seqs = seq_group.num_output_tokens + 1  # slip 1
            cause = budget.refusal(new_tokens, new_seqs) or self.cannot_restore(seq_group)
            if cause:
                self.refuse(seq_group, cause, "swapped")
                break

            self.swapped.popleft()
            self.restore(seq_group)
            restored.append(seq_group)
            budget.used_tokens += new_tokens  # slip 6
            budget.used_seqs += new_seqs
        return restored
