"""Seeded lengths: fixed, uniform, log-normal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from core.faults import Fault, ScenarioError
from core.workloads.workload import MAX_TOKENS


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many tokens the prompts, or the outputs, have."""

    kind: Literal["fixed", "uniform", "lognormal"] = "lognormal"
    typical: int = 128
    """fixed: the length; lognormal: the median."""
    spread: float = 0.8
    """lognormal: the standard deviation of the logarithm; about two thirds of the lengths lie
    between typical / e**spread and typical * e**spread."""
    low: int = 1
    high: int = 4096
    """uniform: the bounds, both included; lognormal: what is outside is moved to them."""

    def __post_init__(self) -> None:
        checks = (
            ("typical", 1 <= self.typical <= MAX_TOKENS, f"must be from 1 to {MAX_TOKENS:,}"),
            ("spread", 0 <= self.spread <= 10, "must be from 0 to 10"),
            ("low", 1 <= self.low <= self.high, "must be at least 1 and at most high"),
            ("high", self.high <= MAX_TOKENS, f"must be at most {MAX_TOKENS:,}"),
        )
        faults = [Fault(name, getattr(self, name), rule)
                  for name, fits, rule in checks if not fits]
        if faults:
            raise ScenarioError(faults)

    def draw(self, rng: Generator, count: int) -> list[int]:
        """So many lengths."""
        return [int(length) for length in self._drawn(rng, count)]

    def _drawn(self, rng: Generator, count: int) -> NDArray[np.int64]:
        if self.kind == "fixed":
            return np.full(count, self.typical)
        if self.kind == "uniform":
            return rng.integers(self.low, self.high, count, endpoint=True)
        values = rng.lognormal(math.log(self.typical), self.spread, count)
        return np.clip(np.rint(values), self.low, self.high).astype(np.int64)
