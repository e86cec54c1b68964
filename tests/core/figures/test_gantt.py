"""The bars of the Gantt chart are the stays of the requests; pauses and endings show."""

from __future__ import annotations

import pytest

from core import simulate
from core.figures.gantt import gantt_alt, gantt_bars, gantt_ending, gantt_ends, plot_gantt
from core.figures.theatre.view import chart_of, view_of
from core.presets import load_presets
from core.trace import Trace
from tests.conftest import make_requests, run

PRESETS = load_presets()


def trace_of(preset: str) -> Trace:
    return simulate(PRESETS[preset].scenario)


def test_gantt_bars_of_the_demo_are_its_stays() -> None:
    bars = gantt_bars(trace_of("01_article_demo"))
    assert sorted(bar[:3] for bar in bars["swapped"]) == [(0, 7, 4), (1, 6, 1)]
    assert [(b.row, b.start, b.length) for b in bars["waiting"]] == [(2, 0, 16)]
    assert sorted(bar[:3] for bar in bars["decode"]) == [
        (0, 1, 6), (0, 11, 5), (1, 1, 5), (1, 7, 4), (2, 17, 7)]


def test_gantt_bars_second_wait_looks_different() -> None:
    bars = gantt_bars(trace_of("20_v0_recompute_by_default"))
    assert {b.attempt for b in bars["waiting"]} == {0}
    assert min(b.attempt for b in bars["preempted"]) == 1


def test_gantt_bars_decode_that_pauses_for_a_prompt_has_a_gap() -> None:
    """Step 5 computes r4's prompt, and r0 to r3 pause."""
    decodes = gantt_bars(trace_of("61_stall_against_chunks"))["decode"]
    assert [(b.start, b.length) for b in decodes if b.row == 0] == [(1, 4), (6, 35)]


@pytest.mark.parametrize(("preset", "step", "text"), [
    ("22_v0_engine_dies", 5, "dies"), ("42_v1_hangs", 6, "stuck"), ("31_v0_hangs", 44, "stuck")])
def test_gantt_ending_is_marked_where_nothing_gets_on(preset: str, step: int, text: str) -> None:
    found = gantt_ending(trace_of(preset))
    assert found is not None and found[0] == step and text in found[1]


def test_gantt_ending_of_a_finished_run_there_is_none() -> None:
    assert gantt_ending(trace_of("01_article_demo")) is None


def test_gantt_ignored_request_has_a_mark() -> None:
    assert gantt_ends(trace_of("24_v0_ignored")) == [(1, 0)]


@pytest.mark.parametrize("preset", ["01_article_demo", "22_v0_engine_dies", "24_v0_ignored",
                                    "02_swap_under_pressure"])
def test_plot_gantt_draws_a_bar_for_each_stay(preset: str) -> None:
    trace = trace_of(preset)
    figure = plot_gantt(trace)
    drawn = sum(len(each.x) for each in figure.data if each.type == "bar")
    assert drawn == sum(len(bars) for bars in gantt_bars(trace).values())
    assert f"{len(trace.request_rows)} requests" in gantt_alt(trace)


def test_plot_gantt_hover_tells_the_steps_of_a_stay() -> None:
    swapped = next(each for each in plot_gantt(trace_of("01_article_demo")).data
                   if each.name == "swapped")
    assert set(zip(swapped.hovertext, swapped.customdata, strict=True)) == {
        ("1", "steps 7 to 10 (4)<br>0 tokens"), ("2", "step 6<br>0 tokens")}


def test_plot_gantt_shows_an_id_that_looks_like_markup_as_it_is() -> None:
    figure = plot_gantt(run(make_requests(1, request_id="<b>x</b>")))
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;x&lt;/b&gt;",)
    assert {text for bars in figure.data for text in bars.hovertext} == {"&lt;b&gt;x&lt;/b&gt;"}


@pytest.mark.parametrize("preset", ["22_v0_engine_dies", "42_v1_hangs"])
def test_plot_gantt_ending_is_named_above_the_bars(preset: str) -> None:
    (label,) = plot_gantt(trace_of(preset)).layout.annotations
    assert (label.yref, label.y, label.yanchor) == ("y domain", 1, "bottom")


def test_chart_of_a_view_gives_no_reason_to_be_drawn_twice() -> None:
    """Plotly draws again what it cannot see to be the same: a template, or an array that is not a
    list, or data without a revision."""
    view = view_of(trace_of("01_article_demo"))
    chart = chart_of(view)
    assert chart.layout.template.to_plotly_json() == {}
    assert chart.layout.datarevision == view.version
    drawn = chart.to_plotly_json()["data"]
    assert {type(bars[name]) for bars in drawn
            for name in ("x", "y", "base", "customdata", "hovertext")} <= {list, tuple}
