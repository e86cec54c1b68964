"""What a preemption costs each way, by hand on an ideal A100 with Llama-2-7B."""

from __future__ import annotations

from typing import Any

import pytest

from core.cost.codecs import CODECS
from core.cost.machine import Machine
from core.swap_or_recompute import (
    break_evens,
    preemption_cost,
    preemption_costs,
    same_run_each_way,
)
from core.trace import Kind
from tests.conftest import ids_of, make_requests, make_scenario

WEIGHTS, LM_HEAD, BLOCK = 6_476_005_376, 131_072_000, 8_388_608


def ideal(**fields: Any) -> Machine:
    return Machine(**{"compute_efficiency": 1, "memory_efficiency": 1, "step_overhead_s": 0,
                      "seq_overhead_s": 0, "copy_overhead_s": 0, **fields})


def test_swap_moves_every_block_out_and_back() -> None:
    one = preemption_cost(ideal(), 16, 100)  # 7 blocks
    assert (one.num_blocks, one.swap_bytes) == (7, 14 * BLOCK)
    assert one.swap_s == pytest.approx(14 * BLOCK / 25e9)
    assert preemption_cost(ideal(tensor_parallel=2), 16, 100).swap_bytes == 14 * BLOCK


def test_recompute_of_a_short_request_reads_all_weights_of_a_long_one_computes() -> None:
    short, long = preemption_costs(ideal(), 16, [10, 4000])
    attention = 524_288 / (0.6 * 312e12)
    head = 2 * LM_HEAD / 2039e9
    assert short.recompute_s == pytest.approx(2 * WEIGHTS / 2039e9 + 50 * attention + head)
    assert long.recompute_s == pytest.approx(
        4000 * 2 * WEIGHTS / 312e12 + 8e6 * attention + head)
    assert (short.recomputed_tokens, long.recomputed_tokens) == (10, 4000)


def test_compressed_swap_saves_bytes_and_pays_for_coding() -> None:
    codec = CODECS["int8"]
    one = preemption_cost(ideal(), 16, 160, codec)  # 10 blocks
    coding = 10 * BLOCK / 2039e9 * (1 / codec.compress_share + 1 / codec.decompress_share)
    assert one.compressed_bytes == one.swap_bytes // 2
    assert one.compressed_s == pytest.approx(one.swap_s / 2 + coding)
    plain = preemption_cost(ideal(), 16, 160)
    assert plain.compressed_bytes is plain.compressed_s is None


def test_break_even_lies_where_reading_all_weights_takes_as_long_as_the_link() -> None:
    # At 20 GB/s a block out and back takes 0.839 ms, 52.4 µs a token. All weights and lm_head are
    # read in 6.48 ms: 7 blocks are cheaper to swap, 8 are not. From 153 tokens on recomputing
    # takes 41.5 µs a token, and 1.4 ns n² for attention, which makes up for the difference of
    # 10.9 µs a token at n = 7785
    machine = ideal(host_link_gb_s=20)
    assert break_evens(machine, 16, 16_384) == [
        (1, "swap"), (8 * 16, "recompute"), (487 * 16, "swap")]
    assert preemption_cost(machine, 16, 7 * 16).cheapest == "swap"
    assert preemption_cost(machine, 16, 8 * 16).cheapest == "recompute"


def test_small_blocks_make_swapping_dear_as_the_first_vllm_found() -> None:
    """Many small copies: with blocks of 16 recomputing wins, with blocks of 64 swapping does."""
    lengths = range(256, 2049, 256)
    small = preemption_costs(Machine(), 16, lengths)
    large = preemption_costs(Machine(), 64, lengths)
    assert {cost.cheapest for cost in small} == {"recompute"}
    assert {cost.cheapest for cost in large} == {"swap"}


def test_few_kv_heads_make_swapping_cheap() -> None:
    # Llama-3-8B has a quarter of the KV bytes of Llama-2-7B and as much to compute
    assert break_evens(Machine(model="Llama-3-8B"), 16, 8192) == [(1, "swap")]


def test_same_run_goes_each_way_that_its_scheduler_knows() -> None:
    requests = make_requests(2, prompt_len=11, output_len=8)
    runs = same_run_each_way(make_scenario(requests, "article_repaired", num_gpu_blocks=6,
                                           compression_min_blocks=0))
    assert list(runs) == ["swap", "recompute", "compressed_swap"]
    assert ids_of(runs["swap"], Kind.SWAPPED_OUT) == ["2"]
    assert ids_of(runs["swap"], Kind.COMPRESSED) == []
    assert ids_of(runs["recompute"], Kind.PREEMPTED) == ["2"]
    assert ids_of(runs["compressed_swap"], Kind.COMPRESSED) == ["2"]
    assert list(same_run_each_way(make_scenario(requests, "vllm_v0"))) == ["swap", "recompute"]
    assert list(same_run_each_way(make_scenario(requests, "vllm_v1"))) == ["recompute"]
