"""The article's scheduler with its slips mended.

The three passes of article.py, line for line, but:

1. A restored request is charged one sequence.
2. Running requests are counted once, with one token each, before anybody is let in. So the budget
   says no at the door only, and what a running request can lack is a block.
3. Victims are taken from the end: the one that started last has the least to lose.
4. The recomputed go back to the front of the waiting queue in the order of their arrival.
5. A recomputed request is charged all that is computed again, outputs included.
6. The token of whoever is let in is charged once.
7. A victim that has computed nothing has nothing to save: it waits again instead of being swapped.
"""

from __future__ import annotations

from core.engine import SchedulingBudget
from core.schedulers.article_support import ArticleEngine
from core.sequence import Sequence
from core.trace import Cause, Limit


class Scheduler(ArticleEngine):
    """Article, repaired."""

    title = "Article, repaired"

    def schedule(self) -> list[Sequence]:
        self.run_scheduling_cycle()
        return self.scheduled

    def run_scheduling_cycle(self) -> None:
        budget = self.new_budget()
        budget.used_tokens = budget.used_seqs = len(self.running)  # mends 2
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

        # 3. every running request gets a token, or somebody has to go
        preempted, swapped = self.schedule_running(budget)
        self.waiting.extendleft(preempted)  # mends 4: the eldest is in front
        self.swapped.extend(reversed(swapped))
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

            new_tokens = seq_group.num_tokens  # mends 5; the step's own token comes with them
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
        for place, seq_group in enumerate(list(self.running)):
            if place >= len(self.running):
                break  # from here on they are victims
            while cause := self.cannot_append(seq_group):  # mends 2
                victim = self.running.pop()  # mends 3
                cause = cause._replace(other=seq_group.request_id)
                if self.swap_strategy == "RECOMPUTE" or not victim.num_computed_tokens:  # mends 7
                    self.preempt(victim, cause)
                    preempted.append(victim)
                else:
                    self.swap_out(victim, cause)
                    swapped.append(victim)
                if victim is seq_group:
                    break
            else:
                self.append_token(seq_group)
        return preempted, swapped

    def schedule_swapped(self, budget: SchedulingBudget) -> list[Sequence]:
        restored: list[Sequence] = []
        while self.swapped:
            seq_group = self.swapped[0]

            new_tokens = 1
            new_seqs = 1  # mends 1
            cause = budget.refusal(new_tokens, new_seqs) or self.cannot_restore(seq_group)
            if cause:
                self.refuse(seq_group, cause, "swapped")
                break

            self.swapped.popleft()
            self.restore(seq_group)
            restored.append(seq_group)
            budget.used_tokens += new_tokens
            budget.used_seqs += new_seqs
        return restored
