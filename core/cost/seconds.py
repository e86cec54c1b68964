"""Seconds of a step, part by part: a roofline whose peaks are scaled by fitted efficiencies.

The form follows from the public step-time models (Vidur, DistServe, LLM-Viewer, inference-lab):
linear layers take the longer of computing and reading the weights; decodes read the K and V of
their context; prompts compute attention; lm_head runs once per sampled sequence; the rest is
overhead per step and per sequence. Swapping is added, as V0 does it before the batch.
"""

from __future__ import annotations

from typing import NamedTuple

from core.cost.machine import Machine
from core.cost.models import BYTES_PER_VALUE
from core.cost.work import StepWork


class StepSeconds(NamedTuple):
    """The seconds of a step by what they go to. Their sum is the step's duration."""

    linear: float
    attention: float
    """Prompts on their own and earlier tokens."""
    kv_read: float
    """Decodes reading the K and V of their context."""
    lm_head: float
    all_reduce: float
    """Between the GPUs of tensor parallelism."""
    swap: float
    compression: float
    """Compressing and decompressing."""
    overhead: float


class StepCost:
    """The cost of steps on one machine with one block size."""

    def __init__(self, machine: Machine, block_size: int) -> None:
        self.machine = machine
        self.block_bytes = block_size * machine.kv_bytes_per_token()
        """Bytes of a block on each GPU."""
        self._rates = machine.rates()
        self._shape = machine.shape

    def seconds(self, work: StepWork) -> float:
        """How long the step takes."""
        return sum(self.parts(work))

    def parts(self, work: StepWork) -> StepSeconds:
        """How long the step takes, by what it goes to."""
        machine, shape, rates = self.machine, self._shape, self._rates
        gpus = machine.tensor_parallel
        attention_rate = machine.attention_efficiency * rates.flops
        return StepSeconds(
            linear=self._linear(work.num_tokens),
            attention=work.prefill_pairs * shape.attention_flops_per_pair / gpus / attention_rate,
            kv_read=work.decode_context * machine.kv_bytes_per_token() / rates.memory,
            lm_head=self._lm_head(work.num_sampled),
            all_reduce=self._all_reduce(work.num_tokens),
            swap=self.swap(work.blocks_moved),
            compression=self.block_bytes * (work.blocks_compressed / rates.compress
                                            + work.blocks_decompressed / rates.decompress),
            overhead=machine.step_overhead_s + machine.seq_overhead_s * work.num_sequences,
        )

    def swap(self, blocks_moved: int) -> float:
        """Seconds on the host link: the bytes, and a copy of K and of V per block and layer."""
        copies = 2 * self._shape.num_layers * blocks_moved
        moved = blocks_moved * self.block_bytes
        return moved / self._rates.host_link + copies * self.machine.copy_overhead_s

    def _linear(self, num_tokens: int) -> float:
        if not num_tokens:
            return 0.0
        compute = num_tokens * self._shape.linear_flops_per_token / self._rates.flops
        read = self._shape.linear_bytes(num_tokens) / self._rates.memory
        return max(compute, read) / self.machine.tensor_parallel

    def _lm_head(self, num_sampled: int) -> float:
        if not num_sampled:
            return 0.0
        params = self._shape.lm_head_params
        compute = 2 * params * num_sampled / self._rates.flops
        read = BYTES_PER_VALUE * params / self._rates.memory
        return max(compute, read) / self.machine.tensor_parallel

    def _all_reduce(self, num_tokens: int) -> float:
        """Two all-reduces per layer, each as a ring: 2(n-1)/n of the bytes cross every link."""
        gpus = self.machine.tensor_parallel
        if gpus == 1 or not num_tokens:
            return 0.0
        crossing = 2 * (gpus - 1) / gpus * num_tokens * self._shape.hidden_size * BYTES_PER_VALUE
        each = crossing / self._rates.peer_link + self.machine.all_reduce_s
        return 2 * self._shape.num_layers * each


def step_seconds(machine: Machine, block_size: int, work: StepWork) -> float:
    """Seconds of a step with this work; see StepCost for many steps of one machine."""
    return StepCost(machine, block_size).seconds(work)
