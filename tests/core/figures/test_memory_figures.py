"""Figures of the memory: the sum as stairs, the shares, and the use over time, by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest

from core.cost.machine import Machine
from core.figures.memory_over_time import (
    memory_over_time_alt,
    plot_memory_over_time,
    use_over_time,
)
from core.figures.memory_shares import memory_shares_alt, plot_memory_shares, share_parts
from core.figures.memory_sum import NAMES, memory_sum_alt, plot_memory_sum, stairs
from core.memory import GIB, num_gpu_blocks
from core.memory_contrast import contrast
from core.memory_use import KINDS
from tests.conftest import make_requests, make_scenario, run

BLOCKS = num_gpu_blocks(Machine(gpu="RTX 4090", model="Llama-3-8B"), 16)


def test_stairs_begin_where_the_one_before_ended_and_leave_the_kv_bytes() -> None:
    found = stairs(BLOCKS)
    assert [stair.key for stair in found] == list(NAMES)
    assert found[0].from_gib == 0
    for one, other in pairwise(found[:-1]):
        assert other.from_gib == one.to_gib
    assert found[-1].gib == pytest.approx(BLOCKS.kv_bytes / GIB)
    assert found[1].gib == pytest.approx(-0.1 * found[0].gib, rel=1e-6)


def test_stairs_of_a_model_that_does_not_fit_end_below_zero_and_are_in_view() -> None:
    blocks = num_gpu_blocks(Machine(gpu="T4", model="Llama-2-13B"), 16)
    end = stairs(blocks)[-1].to_gib
    assert end < 0
    assert plot_memory_sum(blocks).layout.xaxis.range[0] < end


def test_memory_sum_figure_draws_each_line_once_and_says_it_in_words() -> None:
    bars = [trace for trace in plot_memory_sum(BLOCKS).data if trace.type == "bar"]
    assert sorted(name for bar in bars for name in bar.y) == sorted(NAMES.values())
    assert "2,588 KV blocks" in memory_sum_alt(BLOCKS)


def test_share_parts_are_those_of_the_contrast_and_fill_each_bar() -> None:
    # 4 blocks of 4 for at most 16 tokens: of 32 slots 3 to 7 hold a token, on average 5
    trace = run(make_requests(1, prompt_len=3, output_len=5), scheduler="orca_max",
                max_model_len=16)
    found = contrast(trace)
    parts = share_parts([found])
    assert set(parts) == set(KINDS)
    assert parts["used"][0] == ("orca_max", pytest.approx(5 / 32))
    assert sum(part[0].share for part in parts.values()) == pytest.approx(1)
    figure = plot_memory_shares([found])
    assert figure.data[0].y == ("Orca (Max)",)
    assert "Orca (Max) 15.6% and 68.8%" in memory_shares_alt([found])  # 11 of 16 held are empty


def test_use_over_time_counts_each_step_as_long_as_it_lasts() -> None:
    trace = run(make_requests(1, prompt_len=3, output_len=5), scheduler="orca_max",
                max_model_len=16)
    use = use_over_time(trace)
    assert use.length == trace.num_steps == 5
    assert use.shares["used"] * 32 == pytest.approx([3, 4, 5, 6, 7])
    halves = use_over_time(trace, bins=2)  # 2.5 steps each: 3, 4, half of 5 and the rest
    assert halves.shares["used"] * 32 == pytest.approx([9.5 / 2.5, 15.5 / 2.5])


def test_use_over_time_in_seconds_has_the_length_of_the_busy_time() -> None:
    from core import simulate

    scenario = make_scenario(make_requests(2), "vllm_v1").model_copy(
        update={"clock": "seconds", "machine": Machine()})
    trace = simulate(scenario)
    assert trace.durations_s is not None
    use = use_over_time(trace)
    assert use.length == pytest.approx(sum(trace.durations_s))
    total = sum(use.shares[kind] for kind in KINDS)
    assert total == pytest.approx([1.0] * trace.num_steps)


def test_memory_over_time_figure_has_a_panel_and_a_title_for_each_scheduler() -> None:
    uses = {name: use_over_time(run(make_requests(3), scheduler=name, max_model_len=16))
            for name in ("static_batching", "orca_max", "orca_oracle", "vllm_v1")}
    figure = plot_memory_over_time(uses, "steps")
    titles = [annotation.text for annotation in figure.layout.annotations]
    assert [title.split(":")[0] for title in titles] == [
        "static batching", "Orca (Max)", "Orca (Oracle)", "vLLM V1"]
    assert len(figure.data) == 4 * len(KINDS)
    assert "vLLM V1 runs" in memory_over_time_alt(uses, "steps")


def test_memory_over_time_of_a_run_without_steps_is_empty() -> None:
    uses = {"vllm_v1": use_over_time(run([], scheduler="vllm_v1"))}
    assert uses["vllm_v1"].length == 0
    assert plot_memory_over_time(uses, "s").layout.xaxis.range == (0, 1)
