"""From a GPU and a model to the number of KV blocks, with the sum as lines.

As vLLM does at its start: of the share of the GPU's memory that it may use, what weights,
activations and the runtime leave is cut into blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from core.cost.machine import Machine
from core.cost.models import BYTES_PER_VALUE

GIB = 1 << 30
RUNTIME_BYTES = 660 << 20
"""CUDA context, libraries and captured graphs. Fitted: with it, Llama-3.1-8B on an RTX 4090 gets
the 2,588 blocks of 16 that its measured vLLM 0.19 run reports (LLMServingSim). Elsewhere expect
the number of blocks to be off by a few percent, on small GPUs by more."""
LOGIT_COPIES = 3
"""float32 arrays of max_num_seqs x vocabulary that sampling holds at once. An assumption."""


class MemoryLine(NamedTuple):
    """One line of the sum, per GPU."""

    key: str
    num_bytes: int
    """Taken away if negative."""


@dataclass(frozen=True, slots=True)
class KvBlocks:
    """How many blocks there are, and why."""

    lines: tuple[MemoryLine, ...]
    """gpu_memory, not_used, weights, activations, logits, runtime; together what is left."""
    kv_bytes: int
    """Their sum: bytes for the KV cache, per GPU. 0 if the model does not fit."""
    block_bytes: int
    """Bytes of a block, per GPU."""
    num_gpu_blocks: int
    """The quotient, rounded down."""

    @property
    def fits(self) -> bool:
        """Whether there is room for the model and at least one block."""
        return self.num_gpu_blocks > 0


def num_gpu_blocks(machine: Machine, block_size: int, *, gpu_memory_utilization: float = 0.9,
                   max_num_batched_tokens: int = 2048, max_num_seqs: int = 256) -> KvBlocks:
    """The KV blocks of a machine.

    Args:
        gpu_memory_utilization: vLLM's knob: share of the GPU's memory that it may use.
        max_num_batched_tokens: as many tokens are in the largest step, with their activations.
        max_num_seqs: for as many sequences are there logits.

    Raises:
        ValueError: if the utilization is not above 0 and at most 1.
    """
    if not 0 < gpu_memory_utilization <= 1:
        raise ValueError("gpu_memory_utilization must be above 0 and at most 1")
    shape, gpus = machine.shape, machine.tensor_parallel
    memory = machine.hardware.memory_mib << 20
    # the widest point of a layer: its input, its residual, and the feed-forward's two halves
    widest = 2 * shape.hidden_size + (2 if shape.gated_ffn else 1) * shape.ffn_size // gpus
    lines = (
        MemoryLine("gpu_memory", memory),
        MemoryLine("not_used", -round(memory * (1 - gpu_memory_utilization))),
        MemoryLine("weights", -(shape.weight_bytes // gpus)),
        MemoryLine("activations", -max_num_batched_tokens * widest * BYTES_PER_VALUE),
        MemoryLine("logits", -LOGIT_COPIES * max_num_seqs * shape.vocab_size * 4),
        MemoryLine("runtime", -RUNTIME_BYTES),
    )
    kv_bytes = max(0, sum(line.num_bytes for line in lines))
    block_bytes = block_size * machine.kv_bytes_per_token()
    return KvBlocks(lines, kv_bytes, block_bytes, kv_bytes // block_bytes)


def num_cpu_blocks(machine: Machine, block_size: int, swap_space_gib: float) -> int:
    """Blocks of swap space. vLLM's knob ``swap_space`` is GiB of the host's memory per GPU."""
    if swap_space_gib < 0:
        raise ValueError("swap_space must not be negative")
    return int(swap_space_gib * GIB) // (block_size * machine.kv_bytes_per_token())
