"""From GPU and model to the number of blocks."""

from __future__ import annotations

import pytest

from core.cost.machine import Machine
from core.memory import GIB, RUNTIME_BYTES, num_cpu_blocks, num_gpu_blocks

MIB = 1 << 20


def test_blocks_of_a_gpu_are_what_the_sum_leaves() -> None:
    # A100, Llama-2-7B: 90 % of 80 GiB, less 6,738,149,376 weights of 2 bytes, less 2048 tokens of
    # (2 x 4096 + 2 x 11008) x 2 bytes, less 3 x 256 x 32000 x 4 bytes of logits
    found = num_gpu_blocks(Machine(), 16)
    assert [(line.key, line.num_bytes) for line in found.lines] == [
        ("gpu_memory", 81920 * MIB),
        ("not_used", -8192 * MIB),
        ("weights", -2 * 6_738_149_376),
        ("activations", -2048 * 30_208 * 2),
        ("logits", -98_304_000),
        ("runtime", -RUNTIME_BYTES),
    ]
    assert found.kv_bytes == sum(line.num_bytes for line in found.lines)
    assert found.block_bytes == 16 * 524_288
    assert found.num_gpu_blocks == found.kv_bytes // (8 * MIB)
    assert found.fits


def test_blocks_of_the_measured_rtx_4090_are_those_that_vllm_reported() -> None:
    machine = Machine(gpu="RTX 4090", model="Llama-3-8B")
    assert num_gpu_blocks(machine, 16).num_gpu_blocks == 2588


def test_blocks_that_vllm_reported_for_opt_13b_on_an_a100_are_met_within_two_percent() -> None:
    # DistServe's table of token capacities: 66,144; its share of the memory is not told
    tokens = 16 * num_gpu_blocks(Machine(model="OPT-13B"), 16,
                                 gpu_memory_utilization=0.95).num_gpu_blocks
    assert tokens == pytest.approx(66_144, rel=0.02)


def test_blocks_are_none_where_the_model_does_not_fit() -> None:
    found = num_gpu_blocks(Machine(gpu="T4", model="Llama-2-13B"), 16)
    assert (found.kv_bytes, found.num_gpu_blocks, found.fits) == (0, 0, False)


def test_tensor_parallel_leaves_more_room_and_makes_blocks_smaller() -> None:
    one, four = (num_gpu_blocks(Machine(tensor_parallel=n), 16) for n in (1, 4))
    assert four.lines[2].num_bytes == one.lines[2].num_bytes // 4
    assert four.block_bytes == one.block_bytes // 4
    assert four.num_gpu_blocks > 4 * one.num_gpu_blocks


@pytest.mark.parametrize("share", [0, -0.1, 1.01])
def test_utilization_beyond_its_bounds_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="gpu_memory_utilization"):
        num_gpu_blocks(Machine(), 16, gpu_memory_utilization=share)


def test_swap_space_is_gib_per_gpu_cut_into_blocks() -> None:
    assert num_cpu_blocks(Machine(), 16, 4) == 4 * GIB // (8 * MIB) == 512
    assert num_cpu_blocks(Machine(tensor_parallel=2), 16, 4) == 1024
    assert num_cpu_blocks(Machine(), 16, 0) == 0
    with pytest.raises(ValueError, match="swap_space"):
        num_cpu_blocks(Machine(), 16, -1)
