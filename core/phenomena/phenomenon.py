"""What a detector gives, and what it looks at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core.engine import Engine
from core.explain import templates
from core.memory_use import MemoryUse, memory_use
from core.schedulers import schedulers
from core.token_times import TokenTimes, token_times
from core.trace import Event, Kind, Trace


@dataclass(frozen=True, slots=True)
class Phenomenon:
    """One occurrence of a phenomenon in a run."""

    key: str
    """Which phenomenon; its texts have keys that begin with ``phenomenon.<key>``."""
    step: int
    """Where to look: the step in which it begins or is worst."""
    request: int | None
    """Whom it is about most of all; None if about all."""
    numbers: Mapping[str, int | str]
    """What stands in the sentence about this occurrence."""
    variant: str = ""
    """Which of several such sentences, if there are several."""
    weight: int = 0
    """How bad it is, to be held against others of its kind only."""

    def name(self, language: str = "en") -> str:
        """What it is called."""
        return templates(language)[f"phenomenon.{self.key}.name"]

    def meaning(self, language: str = "en") -> str:
        """What the phenomenon is, in a sentence."""
        return templates(language)[f"phenomenon.{self.key}.meaning"]

    def here(self, language: str = "en") -> str:
        """What happened in this run, with its numbers."""
        key = ".".join(filter(None, ("phenomenon", self.key, "here", self.variant)))
        return templates(language)[key].format(**self.numbers)


class Evidence:
    """A run, and what several detectors derive from it, worked out once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.config = trace.scenario.config

    @cached_property
    def engine(self) -> type[Engine]:
        """The scheduler that made the run."""
        return schedulers()[self.trace.scenario.scheduler]

    def knob(self, name: str) -> Any:
        """The value of a knob; None if the scheduler does not read it."""
        return getattr(self.config, name) if name in self.engine.knobs else None

    @cached_property
    def index_of(self) -> dict[str | None, int]:
        """The position of a request in the scenario's list, by its id."""
        return {request.request_id: i for i, request in enumerate(self.trace.scenario.requests)}

    @cached_property
    def times(self) -> TokenTimes:
        """When every token came."""
        return token_times(self.trace)

    @cached_property
    def memory(self) -> MemoryUse:
        """What the KV memory held."""
        return memory_use(self.trace, self.times)

    def num_tokens(self, request: int, step: int) -> int:
        """Tokens of a request when a step begins: its prompt and what it has generated."""
        prompt_len = self.trace.scenario.requests[request].prompt_len
        if request not in self.trace.first_preemptions:  # it waits, so it has generated nothing
            return prompt_len
        return prompt_len + int(self.times.of(request).searchsorted(step))

    @cached_property
    def _events(self) -> dict[Kind, list[Event]]:
        by_kind = defaultdict(list)
        for event in self.trace.event_rows:
            by_kind[event.kind].append(event)
        return by_kind

    def events(self, kind: Kind) -> list[Event]:
        """All decisions of a kind in order."""
        return self._events[kind]

    @cached_property
    def losses(self) -> list[Event]:
        """All decisions that took a request's GPU blocks away, in order."""
        both = [*self.events(Kind.PREEMPTED), *self.events(Kind.SWAPPED_OUT)]
        return sorted(both, key=lambda event: event.step)

    def found(self, key: str, step: int, request: int | None, weight: int, variant: str = "",
              **numbers: int | str | None) -> Phenomenon:
        """An occurrence; its sentence may name the request and the step."""
        named = {"request": self.trace.request_id(request), "step": step, **numbers}
        known = {name: value for name, value in named.items() if value is not None}
        return Phenomenon(key, step, request, known, variant, weight)
