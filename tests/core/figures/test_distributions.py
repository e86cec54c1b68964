"""Distributions: the curve that shows percentiles and the bars that show the shape, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.figures.ecdf import MAX_POINTS, ecdf, ecdf_alt, percentile_marks, plot_ecdf
from core.figures.histogram import histogram, plot_histogram
from core.figures.parts import digits, log_axis

NAN = float("nan")


def test_ecdf_of_unsorted_values_rises_by_their_share_and_leaves_out_nan() -> None:
    values, shares = ecdf([5, NAN, 1, 5, 3])
    assert values.tolist() == [1, 3, 5, 5]
    assert shares.tolist() == [0.25, 0.5, 0.75, 1]


def test_ecdf_of_very_many_values_keeps_the_first_the_last_and_the_shares() -> None:
    values, shares = ecdf(range(1, 100_001))
    assert len(values) == MAX_POINTS
    assert (values[0], values[-1], shares[-1]) == (1, 100_000, 1)
    assert shares == pytest.approx(values / 100_000)


def test_ecdf_without_values_is_empty_and_still_drawn() -> None:
    assert [len(part) for part in ecdf([NAN])] == [0, 0]
    assert percentile_marks([NAN]) == {}
    assert plot_ecdf({"ttft_s": [NAN]}, "ms", name="TTFT").layout.xaxis.range == (0, 1.12)
    assert "no values" in ecdf_alt({"TTFT": []}, "ms", "TTFT")


def test_percentiles_are_numpys_and_lie_on_the_curve() -> None:
    values = [1.0, 1.0, 17.0]
    marks = percentile_marks(values)
    assert marks == pytest.approx({50: 1, 90: 13.8, 99: 16.68})
    figure = plot_ecdf({"a": values}, "steps", name="TTFT")
    assert list(figure.data[1].x) == pytest.approx(list(marks.values()))
    assert list(figure.data[1].y) == pytest.approx([2 / 3] * 3)  # the curve is flat up to 17


def test_ecdf_of_several_series_has_a_curve_for_each_and_a_legend() -> None:
    from core.figures.theme import WAY_LINES

    figure = plot_ecdf({"swap": [1, 2], "recompute": [3]}, "ms", name="E2EL", lines=WAY_LINES)
    assert [trace.name for trace in figure.data] == ["swap", "recompute"]
    assert figure.layout.showlegend
    assert list(figure.data[1].x) == [3, 3] and list(figure.data[1].y) == [0, 1]


def test_ecdf_with_an_objective_beyond_the_values_shows_its_line() -> None:
    figure = plot_ecdf({"a": [1, 2]}, "ms", name="TTFT", limit=10)
    assert figure.layout.shapes[0].x0 == 10 < figure.layout.xaxis.range[1]


def test_histogram_counts_every_value_once_from_zero_to_the_largest() -> None:
    bins = histogram([1, 2, 2, 9.5, 10, NAN], bins=10)
    assert [b.num_values for b in bins] == [0, 1, 2, 0, 0, 0, 0, 0, 0, 2]
    assert (bins[0].low, bins[-1].high) == (0, 10)
    assert histogram([]) == []
    assert sum(plot_histogram(np.arange(50), "ms", name="ITL").data[0].y) == 50


@pytest.mark.parametrize(("value", "text"), [
    (None, "–"), (NAN, "–"), (0, "0"), (1234.5, "1,234"), (12.345, "12.3"), (0.012345, "0.0123"),
    (16.0, "16"),
])
def test_digits_are_three_or_all_whole_ones(value: float | None, text: str) -> None:
    assert digits(value) == text


def test_logarithmic_axis_has_ticks_at_1_2_5_or_over_many_decades_at_1() -> None:
    axis = log_axis("ms", 20, 500)
    assert [tick for tick in axis["tickvals"] if 20 <= tick <= 500] == [20, 50, 100, 200, 500]
    wide = log_axis("ms", 1, 100_000)
    assert [t for t in wide["ticktext"] if t in ("1", "2", "1,000", "100,000")] == [
        "1", "1,000", "100,000"]
