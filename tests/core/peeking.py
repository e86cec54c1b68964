"""A scheduler that cheats, to see whether it is found out."""

from __future__ import annotations

import sys

from core.schedulers import article_repaired
from core.sequence import Sequence


class PeekingScheduler(article_repaired.Scheduler):
    """Lets the request with the shortest output in first. It cannot know it, and so looks for it
    in the variables of the simulator, its caller."""

    def schedule(self) -> list[Sequence]:
        frame = sys._getframe(1)
        while "targets" not in frame.f_locals:
            assert frame.f_back is not None, "the simulator keeps the true lengths elsewhere"
            frame = frame.f_back
        targets = frame.f_locals["targets"]
        self.waiting.become(sorted(self.waiting, key=lambda seq: targets[seq.index]))
        return super().schedule()
