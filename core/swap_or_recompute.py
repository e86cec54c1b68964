"""What a preemption costs, by the length of its request: swapped, recomputed, swapped compressed.

Swapping moves every block to the host and back. Recomputing runs all tokens through the model
again, in one step of its own: short requests pay for reading all weights. Whichever is cheaper
depends on the GPU, the model, the link, the block size and the length.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from core.blocks import blocks_for
from core.cost.codecs import Codec
from core.cost.machine import Machine
from core.cost.seconds import StepCost
from core.cost.work import StepWork, prefill_pairs
from core.scenario import Scenario
from core.schedulers import schedulers
from core.simulator import simulate
from core.trace import Trace

Way = Literal["swap", "recompute", "compressed_swap"]


class PreemptionCost(NamedTuple):
    """One preemption of a request with so many computed tokens."""

    num_tokens: int
    num_blocks: int
    swap_bytes: int
    """Over the host links, out and back, on all GPUs together."""
    swap_s: float
    recomputed_tokens: int
    recompute_s: float
    compressed_bytes: int | None
    """The same as swap_bytes, compressed; None without a codec."""
    compressed_s: float | None
    """With the time for compressing and decompressing; None without a codec."""

    @property
    def cheapest(self) -> Way:
        """The way that takes the fewest seconds."""
        ways: list[tuple[float, Way]] = [(self.swap_s, "swap"), (self.recompute_s, "recompute")]
        if self.compressed_s is not None:
            ways.append((self.compressed_s, "compressed_swap"))
        return min(ways)[1]


class BreakEven(NamedTuple):
    """From this length on another way is the cheaper one of swap and recompute."""

    num_tokens: int
    cheaper: Way


def preemption_cost(machine: Machine, block_size: int, num_tokens: int,
                    codec: Codec | None = None) -> PreemptionCost:
    """What preempting a request costs.

    Args:
        num_tokens: tokens that it has in the cache.
        codec: how its blocks are compressed, on the GPU and before they cross the link.
    """
    cost = StepCost(machine, block_size)
    blocks = blocks_for(num_tokens, block_size)
    all_bytes = 2 * blocks * cost.block_bytes * machine.tensor_parallel
    compressed_bytes = compressed_s = None
    if codec is not None:
        compressed_bytes = round(all_bytes / codec.ratio)
        compressed_s = _compressed_swap(machine, cost, blocks, codec)
    return PreemptionCost(num_tokens, blocks, all_bytes, cost.swap(2 * blocks), num_tokens,
                          _recompute(cost, num_tokens), compressed_bytes, compressed_s)


def preemption_costs(machine: Machine, block_size: int, lengths: Iterable[int],
                     codec: Codec | None = None) -> list[PreemptionCost]:
    """``preemption_cost`` for each of the lengths."""
    return [preemption_cost(machine, block_size, length, codec) for length in lengths]


def break_evens(machine: Machine, block_size: int, max_tokens: int) -> list[BreakEven]:
    """The cheaper of swap and recompute, from one token on, and every length at which it changes.

    Only whole blocks are looked at: within a block swapping costs the same and recomputing more,
    so that lengths are exact to the block.
    """
    found: list[BreakEven] = []
    for blocks in range(1, max(1, max_tokens // block_size) + 1):
        one = preemption_cost(machine, block_size, blocks * block_size)
        cheaper: Way = "swap" if one.swap_s <= one.recompute_s else "recompute"
        if not found or found[-1].cheaper != cheaper:
            found.append(BreakEven(one.num_tokens if found else 1, cheaper))
    return found


def same_run_each_way(scenario: Scenario) -> dict[Way, Trace]:
    """The scenario with every preemption swapped, recomputed, and swapped compressed, as far as
    its scheduler knows these; compressed is all that is larger than the knobs say.

    Raises:
        ScenarioError: if the scheduler is unknown or refuses the knobs.
    """
    knobs: dict[Way, dict[str, object]] = {
        "swap": {"preemption_mode": "swap", "compress_swapped": False},
        "recompute": {"preemption_mode": "recompute", "compress_swapped": False},
        "compressed_swap": {"preemption_mode": "swap", "compress_swapped": True},
    }
    engine = schedulers().get(scenario.scheduler)
    known = engine.knobs if engine else ()
    if "compress_swapped" not in known:
        del knobs["compressed_swap"]
    if "preemption_mode" not in known:
        del knobs["swap"]
    return {way: simulate(scenario.with_knobs(**each)) for way, each in knobs.items()}


def _recompute(cost: StepCost, num_tokens: int) -> float:
    """The request's tokens in a step of their own."""
    return cost.seconds(StepWork(num_tokens=num_tokens, num_sequences=1, num_sampled=1,
                                 prefill_pairs=prefill_pairs(num_tokens)))


def _compressed_swap(machine: Machine, cost: StepCost, blocks: int, codec: Codec) -> float:
    """Compress, out, back, decompress. Each layer's part of a block stays a copy of its own."""
    bandwidth = machine.hardware.bandwidth_gb_s * 1e9
    all_bytes = blocks * cost.block_bytes
    coding = all_bytes / (codec.compress_share * bandwidth)
    coding += all_bytes / (codec.decompress_share * bandwidth)
    link = machine.rates().host_link
    saved = 2 * all_bytes * (1 - 1 / codec.ratio) / link
    return cost.swap(2 * blocks) - saved + coding
