"""Figures of preemptions: what one costs by its length, and the states of a run each way."""

from __future__ import annotations

import pytest

from core.cost.codecs import CODECS
from core.cost.machine import Machine
from core.figures.preemption_costs import (
    break_even_sentence,
    byte_curves,
    per_token,
    plot_preemption_costs,
    preemption_costs_alt,
    time_curves,
)
from core.figures.states_each_way import (
    MAX_POINTS,
    plot_states_each_way,
    states_each_way_alt,
    states_over_time,
)
from core.swap_or_recompute import BreakEven, break_evens, preemption_costs
from tests.conftest import make_requests, run, two_that_outgrow_their_blocks

COSTS = preemption_costs(Machine(), 16, [16, 128, 1024], CODECS["int8"])
TURNS = [BreakEven(1, "swap"), BreakEven(128, "recompute"), BreakEven(8336, "swap")]


def test_cost_curves_are_in_milliseconds_microseconds_per_token_and_mib() -> None:
    times, sizes = time_curves(COSTS), byte_curves(COSTS)
    assert list(times) == ["swap", "compressed_swap", "recompute"]
    assert times["swap"][0] == (16, pytest.approx(1000 * COSTS[0].swap_s))
    assert per_token(times)["recompute"][2] == (
        1024, pytest.approx(1e6 * COSTS[2].recompute_s / 1024))
    # Llama-2-7B: 512 KiB a token, 16 of them out and back
    assert sizes["swap"][0] == (16, 16.0)
    assert sizes["compressed_swap"][0] == (16, 8.0)


def test_cost_curves_without_a_codec_leave_the_compressed_way_out() -> None:
    plain = preemption_costs(Machine(), 16, [16])
    assert list(time_curves(plain)) == ["swap", "recompute"]
    assert list(byte_curves(plain)) == ["swap"]


def test_cost_figure_marks_every_turn_and_no_beginning() -> None:
    figure = plot_preemption_costs(COSTS, TURNS)
    assert {shape.x0 for shape in figure.layout.shapes} == {128, 8336}
    assert [note.text for note in figure.layout.annotations] == ["128: recompute", "8,336: swap"]
    assert plot_preemption_costs(COSTS, TURNS[:1]).layout.shapes == ()


def test_break_even_sentence_tells_each_stretch() -> None:
    assert break_even_sentence(TURNS, 16_384) == (
        "the cheaper is swap below 128 tokens, then recompute below 8,336 tokens, and swap from"
        " 8,336 on")
    assert break_even_sentence(TURNS[:1], 512) == (
        "swap is the cheaper at every length up to 512 tokens")
    turns = break_evens(Machine(), 16, 1024)
    assert break_even_sentence(turns, 1024) in preemption_costs_alt(COSTS, turns)


def test_states_over_time_are_those_of_the_steps() -> None:
    # in step 3 the second loses its block, and waits until the first has ended with step 4
    states = states_over_time(two_that_outgrow_their_blocks("article_repaired",
                                                            preemption_mode="recompute"))
    assert states.starts_s.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert states.counts["preempted"].tolist() == [0, 0, 0, 1, 1, 0, 0]
    assert states.counts["decode"].tolist() == [0, 2, 2, 1, 1, 0, 1]
    assert states.counts["prefill"].tolist() == [2, 0, 0, 0, 0, 1, 0]


def test_states_over_time_of_a_long_run_are_few_pieces() -> None:
    trace = run(make_requests(1, prompt_len=1, output_len=1500), scheduler="vllm_v1",
                max_model_len=2000, num_gpu_blocks=500, max_steps=2000)
    states = states_over_time(trace)
    assert len(states.starts_s) == len(states.counts["decode"]) == 375 <= MAX_POINTS
    assert states.end_s == trace.num_steps


def test_states_each_way_figure_has_a_panel_for_each_way_and_one_time_axis() -> None:
    runs = {"swap": states_over_time(two_that_outgrow_their_blocks(
                "vllm_v0", preemption_mode="swap", num_cpu_blocks=4)),
            "recompute": states_over_time(two_that_outgrow_their_blocks("vllm_v0"))}
    figure = plot_states_each_way(runs)
    titles = [note.text for note in figure.layout.annotations]
    assert [title.split(":")[0] for title in titles] == ["swap", "recompute"]
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range
    shown = [trace.name for trace in figure.data if trace.showlegend]
    assert len(shown) == len(set(shown))
    words = states_each_way_alt(runs)
    assert "at most 1 swapped, at most 0 waiting again" in words
    assert "at most 0 swapped, at most 1 waiting again" in words
