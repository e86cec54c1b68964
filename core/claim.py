"""How much more is served at the same latency? The article says 3 to 5 times, the paper 2 to 4.

Each scheduler is given the same requests on the same machine, at one arrival rate after another.
What counts is the rate at which the 99th percentile of the normalised latency (seconds from the
arrival to the last token, per output token; vLLM paper, section 6) meets a limit that all share.

The answer is what it is: it depends on the lengths, the memory and the limit. Requests come for
the same time at every rate, as in the paper: an overloaded engine's queue has as long to grow.
"""

from __future__ import annotations

from collections.abc import Sequence as Rows
from dataclasses import dataclass, field
from math import exp, log
from typing import NamedTuple

import numpy as np

from core.cost.machine import Machine
from core.memory import num_gpu_blocks
from core.scenario import EngineConfig, Request, Scenario
from core.simulator import simulate
from core.trace import State, Trace
from core.workloads import arrivals
from core.workloads.lengths import Lengths

COMPARED = ("static_batching", "orca_max", "orca_pow2", "orca_oracle", "vllm_v0", "vllm_v1")
CLAIMS = {"article": (3.0, 5.0), "paper": (2.0, 4.0)}
"""Times as much throughput: the article's last paragraph; the vLLM paper's abstract (against
FasterTransformer and Orca, at the same latency)."""
NEXT_RATE = 1.25
"""From one rate to the next, up or down."""
SATURATING = 200
"""Requests that come at once, to see what a scheduler can serve at most."""
MOST_RATES = 8
"""Rates that are looked at before a scheduler is given up."""


@dataclass(frozen=True, slots=True)
class ClaimWorkload:
    """The requests, the machine and the limit. Lengths are like ShareGPT's in the vLLM paper
    (section 6.1: 161 prompt and 338 output tokens on average)."""

    machine: Machine = field(
        default_factory=lambda: Machine(gpu="RTX 4090", model="Llama-2-7B"))
    prompt: Lengths = field(
        default_factory=lambda: Lengths(typical=80, spread=1.25, high=1024))
    output: Lengths = field(
        default_factory=lambda: Lengths(typical=250, spread=0.85, high=1024))
    duration_s: float = 150.0
    """Requests come for so long."""
    seed: int = 1
    limit_s: float = 0.2
    """Highest p99 of the normalised latency, seconds per output token."""
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 2048
    max_model_len: int = 2048
    block_size: int = 16

    def scenario(self, scheduler: str, rate: float | None) -> Scenario:
        """The workload at so many requests per second; None: SATURATING ones at once."""
        count = SATURATING if rate is None else max(1, round(rate * self.duration_s))
        prompts = self.prompt.draw(arrivals.generator(self.seed, 1), count)
        outputs = self.output.draw(arrivals.generator(self.seed, 2), count)
        when = np.zeros(count) if rate is None else arrivals.poisson(
            arrivals.generator(self.seed, 0), count, rate)
        blocks = num_gpu_blocks(
            self.machine, self.block_size, max_num_seqs=self.max_num_seqs,
            max_num_batched_tokens=self.max_num_batched_tokens).num_gpu_blocks
        return Scenario(
            name="claim", scheduler=scheduler, clock="seconds", machine=self.machine,
            max_steps=10_000_000,
            config=EngineConfig(
                block_size=self.block_size, num_gpu_blocks=blocks, num_cpu_blocks=0,
                max_num_seqs=self.max_num_seqs, max_model_len=self.max_model_len,
                max_num_batched_tokens=self.max_num_batched_tokens,
                enable_chunked_prefill=scheduler == "vllm_v1"),  # each engine's own default
            requests=tuple(
                Request(request_id=f"r{i}", arrival_s=float(at), prompt_len=prompt,
                        output_len=output)
                for i, (at, prompt, output) in enumerate(zip(when, prompts, outputs, strict=True))
            ))


class Point(NamedTuple):
    """One scheduler at one arrival rate."""

    scheduler: str
    rate: float
    """Requests per second that arrive."""
    p99_s: float
    """99th percentile of the normalised latency; infinite if somebody was not served."""
    mean_s: float
    request_throughput: float
    output_throughput: float
    num_preemptions: int


class Served(NamedTuple):
    """The arrival rate at which a scheduler meets the limit."""

    scheduler: str
    rate: float | None
    """Between two points, interpolated in the logarithms; None if none met the limit."""
    above: float
    """Highest rate looked at that met the limit; 0 if none did."""
    below: float | None
    """Lowest rate above it that did not; None if all did."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What was found."""

    limit_s: float
    points: tuple[Point, ...]
    served: dict[str, Served]

    def ratio(self, scheduler: str, baseline: str) -> float | None:
        """Times as much served at the limit; None if one of the two never meets it."""
        mine, other = self.served[scheduler].rate, self.served[baseline].rate
        return None if mine is None or other is None else mine / other


def claim(workload: ClaimWorkload, compared: Rows[str] = COMPARED) -> Claim:
    """Look at every scheduler at several rates."""
    points: list[Point] = []
    served: dict[str, Served] = {}
    for scheduler in compared:
        own = sweep(workload, scheduler)
        points += own
        served[scheduler] = served_rate(own, workload.limit_s)
    return Claim(workload.limit_s, tuple(points), served)


def sweep(workload: ClaimWorkload, scheduler: str) -> list[Point]:
    """The scheduler at rates from its own capacity on: up until the limit is missed, or down
    until it is met, so that the last two stand on either side of it."""
    rate = run_point(workload, scheduler, None).request_throughput
    points = [run_point(workload, scheduler, rate)]
    met = points[0].p99_s <= workload.limit_s
    while len(points) < MOST_RATES and met == (points[-1].p99_s <= workload.limit_s):
        rate = rate * NEXT_RATE if met else rate / NEXT_RATE
        points.append(run_point(workload, scheduler, rate))
    return sorted(points, key=lambda point: point.rate)


def run_point(workload: ClaimWorkload, scheduler: str, rate: float | None) -> Point:
    """One run. ``rate`` None: everybody comes at once."""
    trace = simulate(workload.scenario(scheduler, rate))
    rows, requests = trace.request_rows, trace.scenario.requests
    latencies = _normalized_latencies(trace)
    duration = trace.end_s(trace.num_steps - 1)
    all_served = len(latencies) == len(requests)
    return Point(
        scheduler, float("inf") if rate is None else rate,
        float(np.percentile(latencies, 99)) if all_served else float("inf"),
        float(np.mean(latencies)) if len(latencies) else float("inf"),
        len(latencies) / duration, sum(row.num_output_tokens for row in rows) / duration,
        sum(row.num_preemptions for row in rows))


def served_rate(points: Rows[Point], limit_s: float) -> Served:
    """Where the scheduler's points, by rising rate, first cross the limit."""
    scheduler, met = points[0].scheduler, None
    for point in points:
        if point.p99_s > limit_s:
            if met is None:
                return Served(scheduler, None, 0.0, point.rate)
            return Served(scheduler, _crossing(met, point, limit_s), met.rate, point.rate)
        met = point
    assert met is not None, "a sweep has points"
    return Served(scheduler, met.rate, met.rate, None)


def _crossing(met: Point, missed: Point, limit_s: float) -> float:
    """The rate at which the straight line between two points, in logarithms, is at the limit."""
    if missed.p99_s == float("inf"):
        return met.rate
    part = log(limit_s / met.p99_s) / log(missed.p99_s / met.p99_s)
    return exp(log(met.rate) + part * log(missed.rate / met.rate))


def _normalized_latencies(trace: Trace) -> list[float]:
    """Of the finished requests: seconds from arrival to last token, per output token."""
    return [
        (trace.end_s(row.end_step) - (request.arrival_s or 0.0)) / row.num_output_tokens
        for row, request in zip(trace.request_rows, trace.scenario.requests, strict=True)
        if row.state is State.FINISHED and row.end_step is not None
    ]
