"""Three seeded workloads to measure speed with: light, burst and pressure.

They are plain requests with arrivals in steps; the same count and seed give the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from core.scenario import EngineConfig, Request
from core.workloads.arrivals import generator, poisson

RATE = 0.08
"""Arrivals per step: with ``light`` some eleven requests run at once on the average."""


def light(count: int, seed: int = 1) -> list[Request]:
    """Poisson arrivals; prompts of 32 to 512 and outputs of 16 to 256 tokens."""
    return _requests(count, seed, prompts=(32, 512), outputs=(16, 256))


def burst(count: int, seed: int = 1) -> list[Request]:
    """The same requests, all in step 0."""
    return [request.model_copy(update={"arrival_step": 0}) for request in light(count, seed)]


def pressure(count: int, seed: int = 1) -> list[Request]:
    """Arrivals as in ``light``; prompts of 256 to 1,024 and outputs of 128 to 512 tokens."""
    return _requests(count, seed, prompts=(256, 1024), outputs=(128, 512))


class Shape(NamedTuple):
    """A workload and the engine that it is meant for."""

    requests: Callable[[int], list[Request]]
    """So many requests."""
    config: EngineConfig


def _engine(num_gpu_blocks: int) -> EngineConfig:
    """An engine in which nothing but the GPU blocks is scarce. A victim is swapped out if the
    scheduler can do that."""
    return EngineConfig(
        num_gpu_blocks=num_gpu_blocks, num_cpu_blocks=100_000, max_num_seqs=256,
        max_num_batched_tokens=4096, max_model_len=4096, preemption_mode="swap")


SHAPES = {
    "light": Shape(light, _engine(4096)),
    "burst": Shape(burst, _engine(4096)),
    "pressure": Shape(pressure, _engine(512)),
}
"""By name, with the memory that makes them what they are called."""


def _requests(count: int, seed: int, prompts: tuple[int, int],
              outputs: tuple[int, int]) -> list[Request]:
    rng = generator(seed)
    arrivals = np.floor(poisson(rng, count, RATE)).astype(int)
    prompt_lens = rng.integers(*prompts, size=count, endpoint=True)
    output_lens = rng.integers(*outputs, size=count, endpoint=True)
    return [
        Request(request_id=f"r{number}", arrival_step=at, prompt_len=prompt, output_len=output)
        for number, (at, prompt, output) in enumerate(
            zip(arrivals.tolist(), prompt_lens.tolist(), output_lens.tolist(), strict=True))
    ]
