"""Figures of the claim: curves without what was not served, bars as multiples, by hand."""

from __future__ import annotations

from math import inf, log10

import pytest

from core.claim import Claim, Point, Served
from core.figures.claim_curves import claim_curves, claim_curves_alt, plot_claim_curves
from core.figures.claim_rates import (
    claim_rate,
    claim_rates,
    claim_rates_alt,
    plot_claim_rates,
)


def point(scheduler: str, rate: float, p99_s: float) -> Point:
    return Point(scheduler, rate, p99_s, p99_s, rate, rate, 0)


CLAIM = Claim(
    0.2,
    (point("vllm_v1", 4, 0.4), point("vllm_v1", 2, 0.1), point("orca_max", 1, 0.2),
     point("orca_max", 2, inf), point("static_batching", 1, 3.0)),
    {"static_batching": Served("static_batching", None, 0.0, 1.0),
     "orca_max": Served("orca_max", 1.0, 1.0, 2.0),
     "vllm_v1": Served("vllm_v1", 2.5, 2.0, 4.0)})


def test_curves_are_by_rising_rate_without_points_that_served_not_everybody() -> None:
    curves = claim_curves(CLAIM.points)
    assert [p.rate for p in curves["vllm_v1"]] == [2, 4]
    assert [p.rate for p in curves["orca_max"]] == [1]


def test_curves_figure_shows_milliseconds_and_the_limit_where_it_belongs() -> None:
    figure = plot_claim_curves(CLAIM)
    by_name = {trace.name: trace for trace in figure.data}
    assert list(by_name["vLLM V1"].y) == [100, 400]
    assert figure.layout.shapes[0].y0 == 200
    assert figure.layout.annotations[0].y == pytest.approx(log10(200))
    low, high = figure.layout.yaxis.range
    assert low < log10(100) and log10(3000) < high


def test_curves_in_words_say_who_never_meets_the_limit() -> None:
    words = claim_curves_alt(CLAIM)
    assert "vLLM V1 up to 2.5 requests/s" in words
    assert "static batching at no rate" in words


def test_rates_are_multiples_of_the_baseline_or_not_known() -> None:
    rates = {rate.scheduler: rate for rate in claim_rates(CLAIM, "orca_max")}
    assert rates["vllm_v1"].times == 2.5
    assert rates["orca_max"].times == 1
    assert rates["static_batching"].times is None
    assert rates["static_batching"].text() == "meets the limit at no rate"
    assert "2.5 ×" in rates["vllm_v1"].text() and "2.5 requests/s" in rates["vllm_v1"].text()


def test_rates_figure_has_both_claims_as_bands_where_the_baseline_is_known() -> None:
    figure = plot_claim_rates(CLAIM, "orca_max")
    assert {(shape.x0, shape.x1) for shape in figure.layout.shapes} == {(3, 5), (2, 4)}
    assert [bar.x[0] for bar in figure.data] == [0, 1, 2.5]
    assert "vLLM V1 2.5 ×" in claim_rates_alt(CLAIM, "orca_max")


def test_rates_figure_without_a_known_baseline_shows_requests_per_second() -> None:
    figure = plot_claim_rates(CLAIM, "static_batching")
    assert figure.layout.shapes == ()
    assert figure.layout.xaxis.title.text == "requests/s"
    assert [bar.x[0] for bar in figure.data] == [0, 1.0, 2.5]


def test_rate_that_was_met_wherever_looked_at_is_a_bound() -> None:
    served = {"orca_max": Served("orca_max", 2.0, 2.0, None),
              "orca_pow2": Served("orca_pow2", 4.0, 4.0, None),
              "vllm_v1": Served("vllm_v1", 3.0, 2.5, 4.0)}
    claim = Claim(0.2, (), served)
    assert claim_rate(claim, "vllm_v1", "orca_max").times_text() == "≤ 1.5 ×"
    assert claim_rate(claim, "orca_pow2", "vllm_v1").times_text() == "≥ 1.3 ×"
    assert "≥ 4 requests/s" in claim_rate(claim, "orca_pow2", "vllm_v1").text()
    assert claim_rate(claim, "orca_pow2", "orca_max").times is None
    assert claim_rate(claim, "orca_max", "orca_max").times == 1
    assert plot_claim_rates(claim, "orca_max").layout.xaxis.title.text == "requests/s"
