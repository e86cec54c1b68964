"""What an invariant is, and what looking at a run with it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Literal

from core.schedulers import schedulers
from core.trace import Trace

Detail = Mapping[str, int | str | None]
"""What was found, in short: names and values."""


@dataclass(frozen=True, slots=True)
class Breach:
    """The first place at which a run does not keep an invariant."""

    step: int | None
    """None if it is about the whole run."""
    detail: Detail


class Nothing(Enum):
    """A run in which there is nothing that an invariant could be wrong about."""

    TO_CHECK = "nothing to check"


Answer = Breach | Literal[Nothing.TO_CHECK] | None
"""None: the run keeps the invariant."""


class Verdict(StrEnum):
    """How a run stands to an invariant."""

    HELD = "held"
    BROKEN = "broken"
    EXEMPT = "exempt"
    """Broken, and the modelled algorithm is known not to keep it."""
    NOT_APPLICABLE = "not_applicable"
    """Nothing happened that the invariant speaks about, or the scheduler has no such limit."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What looking at a run with one invariant has found."""

    number: int
    name: str
    meaning: str
    verdict: Verdict
    step: int | None = None
    """BROKEN, EXEMPT: the first step that does not keep it; None if it is about the whole run."""
    detail: Detail = field(default_factory=dict)
    reason: str = ""
    """EXEMPT: why the algorithm does not keep it."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """One numbered thing that every run has to keep."""

    number: int
    name: str
    """Key of ``Engine.breaks``, and of the texts on the page."""
    meaning: str
    """In one sentence."""
    check: Callable[[Trace], Answer]

    def examine(self, trace: Trace) -> Finding:
        """Look at a run. The time is linear in its record."""
        answer = self.check(trace)
        if answer is None:
            return Finding(self.number, self.name, self.meaning, Verdict.HELD)
        if answer is Nothing.TO_CHECK:
            return Finding(self.number, self.name, self.meaning, Verdict.NOT_APPLICABLE)
        reason = schedulers()[trace.scenario.scheduler].breaks.get(self.name)
        verdict = Verdict.BROKEN if reason is None else Verdict.EXEMPT
        return Finding(self.number, self.name, self.meaning, verdict, answer.step, answer.detail,
                       reason or "")
