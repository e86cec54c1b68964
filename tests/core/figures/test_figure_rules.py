"""Rules that every figure keeps: no background, colours of the theme, two cues, words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from core.claim import Claim, Point, Served
from core.cost.codecs import CODECS
from core.cost.machine import Machine
from core.figures import theme
from core.figures.claim_curves import plot_claim_curves
from core.figures.claim_rates import plot_claim_rates
from core.figures.ecdf import plot_ecdf
from core.figures.histogram import plot_histogram
from core.figures.measured_over_time import (
    measured_curves,
    plot_measured_over_time,
    simulated_curves,
)
from core.figures.measured_scatter import Pair, plot_measured_scatter
from core.figures.memory_over_time import plot_memory_over_time, use_over_time
from core.figures.memory_shares import plot_memory_shares
from core.figures.memory_sum import plot_memory_sum
from core.figures.parts import CLEAR
from core.figures.preemption_costs import plot_preemption_costs
from core.figures.states_each_way import plot_states_each_way, states_over_time
from core.measured import MeasuredRun, Tick
from core.memory import num_gpu_blocks
from core.memory_contrast import contrast
from core.swap_or_recompute import break_evens, preemption_costs
from tests.conftest import make_requests, run, two_that_outgrow_their_blocks

CLAIM = Claim(0.2, tuple(Point(name, 1.0, 0.1, 0.1, 1.0, 1.0, 0) for name in
                         theme.SCHEDULER_LINES),
              {name: Served(name, 1.0, 1.0, 2.0) for name in theme.SCHEDULER_LINES})
ORCA = run(make_requests(3), scheduler="orca_max", max_model_len=16)
PREEMPTED = two_that_outgrow_their_blocks("vllm_v0")

FIGURES: dict[str, Callable[[], Any]] = {
    "ecdf": lambda: plot_ecdf({"a": [1, 2, 3]}, "ms", name="TTFT", limit=2),
    "ecdf of ways": lambda: plot_ecdf({way: [1, 2] for way in theme.WAY_LINES}, "ms",
                                      name="E2EL", lines=theme.WAY_LINES),
    "histogram": lambda: plot_histogram([1, 2, 3], "ms", name="TTFT", limit=2),
    "memory_sum": lambda: plot_memory_sum(num_gpu_blocks(Machine(), 16)),
    "memory_shares": lambda: plot_memory_shares([contrast(ORCA)]),
    "memory_over_time": lambda: plot_memory_over_time({"orca_max": use_over_time(ORCA)}, "s"),
    "claim_curves": lambda: plot_claim_curves(CLAIM),
    "claim_rates": lambda: plot_claim_rates(CLAIM, "orca_max"),
    "preemption_costs": lambda: plot_preemption_costs(
        preemption_costs(Machine(), 16, [16, 256], CODECS["int8"]),
        break_evens(Machine(), 16, 256)),
    "states_each_way": lambda: plot_states_each_way({"recompute": states_over_time(PREEMPTED)}),
    "measured_scatter": lambda: plot_measured_scatter([Pair("a", 1.0, 2.0)], "TTFT", "ms"),
    "measured_over_time": lambda: plot_measured_over_time(
        measured_curves(MeasuredRun("run", (), (Tick(1, 0),), {})), simulated_curves(ORCA, 1.0)),
}
IN_THEME = set(re.findall(r"#[0-9A-Fa-f]{6}|rgba\([^)]*\)", Path(theme.__file__).read_text()))


def colors(part: Any) -> Iterator[str]:
    """Every colour of a figure's data and layout, wherever it stands."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in ("color", "fillcolor", "bgcolor", "fgcolor", "paper_bgcolor",
                       "plot_bgcolor") and isinstance(value, str):
                yield value
            elif key != "template":
                yield from colors(value)
    elif isinstance(part, (list, tuple)):
        for value in part:
            yield from colors(value)


@pytest.mark.parametrize("name", FIGURES)
def test_figure_has_no_background_and_only_colours_of_the_theme(name: str) -> None:
    figure = FIGURES[name]()
    assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == CLEAR
    drawn = {color for part in (figure.to_dict()["data"], figure.to_dict()["layout"])
             for color in colors(part)}
    ink = {"#14181d"}  # text within light bars
    assert drawn - IN_THEME - ink - {CLEAR} == set()


@pytest.mark.parametrize("name", FIGURES)
def test_figure_draws_no_series_in_black_or_white(name: str) -> None:
    for trace in FIGURES[name]().data:
        for part in (trace.marker, trace.line) if trace.type == "scatter" else (trace.marker,):
            assert part.color not in ("#000", "#fff", "#000000", "#ffffff", "black", "white")


@pytest.mark.parametrize("lines", [theme.SCHEDULER_LINES, theme.WAY_LINES, theme.SIDE_LINES])
def test_lines_of_a_comparison_differ_in_more_than_colour(lines: dict[str, theme.Line]) -> None:
    assert len({(line.dash, line.symbol) for line in lines.values()}) == len(lines)
    assert len({line.color for line in lines.values()}) == len(lines)


def test_kinds_of_memory_that_touch_differ_in_hatch() -> None:
    looks = list(theme.MEMORY_LOOKS.values())
    assert all(one.hatch != other.hatch for one, other in pairwise(looks))


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("lines", [theme.SCHEDULER_LINES, theme.WAY_LINES, theme.SIDE_LINES])
@pytest.mark.parametrize("paper", ["#ffffff", "#1a1a18"])
def test_lines_stand_out_from_light_and_from_dark(lines: dict[str, theme.Line],
                                                   paper: str) -> None:
    for line in lines.values():
        light, dark = sorted((_luminance(line.color), _luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, line.name
