"""Seeded arrival processes: seconds from the start, in order. Randomness is numpy's PCG64 only.

The same seed gives the same numbers on every machine for a given numpy stream version; numpy keeps
``Generator``'s methods stable but for announced changes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

Seconds = NDArray[np.float64]


def generator(seed: int, stream: int | None = None) -> Generator:
    """The one kind of random source that the project uses.

    Args:
        stream: Sources of one seed and different streams are independent of each other, so that
            drawing more of one thing changes nothing of another.
    """
    return Generator(PCG64(seed if stream is None else [seed, stream]))


def poisson(rng: Generator, count: int, rate: float) -> Seconds:
    """Independent arrivals: exponential gaps with a mean of 1 / rate. The first is at 0."""
    return _from_gaps(rng.exponential(1 / rate, count))


def gamma(rng: Generator, count: int, rate: float, cv: float) -> Seconds:
    """Gamma gaps of this coefficient of variation: 1 is Poisson, above it is burstier."""
    shape = 1 / cv**2
    return _from_gaps(rng.gamma(shape, 1 / (rate * shape), count))


def uniform(count: int, rate: float) -> Seconds:
    """Equal gaps."""
    return np.arange(count) / rate


def burst(count: int, rate: float, size: int) -> Seconds:
    """``size`` requests at one moment, then a pause, so that the mean rate is kept."""
    return np.asarray(np.arange(count) // size * (size / rate), np.float64)


def gaps(rng: Generator, count: int, rate: float, family: str, shape: float) -> Seconds:
    """Gaps with a mean of 1 / rate from a family named as ServeGen names it.

    Args:
        family: ``Gamma`` or ``Weibull``, with its shape parameter; anything else is exponential.
    """
    if family == "Gamma":
        return rng.gamma(shape, 1 / (rate * shape), count)
    if family == "Weibull":
        return rng.weibull(shape, count) / (math.gamma(1 + 1 / shape) * rate)
    return rng.exponential(1 / rate, count)


def at_once(count: int) -> Seconds:
    """All at the start."""
    return np.zeros(count)


def _from_gaps(values: Seconds) -> Seconds:
    return np.asarray(np.cumsum(values) - values[:1], np.float64)
