"""Figures of measured runs: a point for each request, and who runs and waits at each tick."""

from __future__ import annotations

import pandas as pd
import pytest

from core.figures.measured_over_time import (
    Curve,
    measured_curves,
    measured_over_time_alt,
    plot_measured_over_time,
    simulated_curves,
)
from core.figures.measured_scatter import measured_scatter_alt, pairs, plot_measured_scatter
from core.measured import MeasuredRun, Tick
from tests.conftest import make_requests, run

FRAME = pd.DataFrame({"request_id": ["a", "b", "c"], "ttft_s": [0.5, None, 2.0],
                      "simulated_ttft_s": [0.4, 1.0, 3.0]})


def test_pairs_are_the_requests_known_on_both_sides_in_the_unit_shown() -> None:
    assert pairs(FRAME, "ttft_s", 1000) == [("a", 500, 400), ("c", 2000, 3000)]


def test_scatter_has_the_same_range_on_both_axes_with_every_point_and_a_diagonal() -> None:
    figure = plot_measured_scatter(pairs(FRAME, "ttft_s"), "TTFT", "s")
    assert figure.layout.xaxis.range == figure.layout.yaxis.range
    assert figure.layout.xaxis.range[1] > 3
    diagonal, points = figure.data
    assert diagonal.x == diagonal.y
    assert list(points.x) == [0.5, 2.0] and list(points.y) == [0.4, 3.0]
    assert "mean 1.25 s measured, 1.7 s simulated" in measured_scatter_alt(
        pairs(FRAME, "ttft_s"), "TTFT", "s")
    assert "No request" in measured_scatter_alt([], "TPOT", "ms")


def test_measured_curves_stand_at_the_end_of_each_tick() -> None:
    measured = MeasuredRun("run", (), (Tick(2, 1), Tick(3, 0)), {})
    curves = measured_curves(measured, tick_s=0.5)
    assert curves["num_running"] == Curve([0.5, 1.0], [2, 3])
    assert curves["num_waiting"].values == [1, 0]


def test_simulated_curves_are_of_the_latest_step_and_zero_behind_the_end() -> None:
    # steps of one unit each: four tokens take steps 0 to 3, the run ends at 4
    trace = run(make_requests(2, output_len=4), scheduler="vllm_v1", max_num_seqs=1)
    assert trace.num_steps == 8
    curves = simulated_curves(trace, until_s=10, tick_s=2)
    assert curves["num_running"].times_s[:5] == [2, 4, 6, 8, 10]
    assert curves["num_running"].values[:5] == [1, 1, 1, 0, 0]
    assert curves["num_waiting"].values[:5] == [1, 0, 0, 0, 0]


def test_over_time_figure_lays_both_sides_in_each_panel() -> None:
    one, two = Curve([1.0, 2.0], [4, 5]), Curve([1.0, 2.0], [6, 7])
    measured, simulated = ({"num_running": each, "num_waiting": each} for each in (one, two))
    figure = plot_measured_over_time(measured, simulated)
    assert [trace.name for trace in figure.data] == ["measured", "simulated"] * 2
    assert [max(trace.y) for trace in figure.data] == [5, 7, 5, 7]
    assert "at most 5 running measured, 7 simulated" in measured_over_time_alt(
        measured, simulated)


@pytest.mark.parametrize("until", [0.0, 3.5])
def test_simulated_curves_of_a_short_run_reach_its_end_and_what_is_asked_for(
        until: float) -> None:
    trace = run(make_requests(1, output_len=2), scheduler="vllm_v1")
    times = simulated_curves(trace, until)["num_running"].times_s
    assert times[-1] >= max(until, trace.num_steps)
