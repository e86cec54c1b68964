"""The share of values at or below each value: a distribution that shows its percentiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from core.figures.parts import digits, layout, points, stroke
from core.figures.theme import MARK, SIDE_LINES, Line

Floats = NDArray[np.float64]
MAX_POINTS = 800
PERCENTILES = (50, 90, 99)


def ecdf(values: ArrayLike) -> tuple[Floats, Floats]:
    """The sorted values and for each the share of values that is not larger, without NaN.

    Of more than MAX_POINTS values as many are taken, evenly by rank, the first and last included.
    """
    known = np.asarray(values, dtype=np.float64)
    known = np.sort(known[~np.isnan(known)])
    ranks = np.arange(len(known))
    if len(known) > MAX_POINTS:
        ranks = np.unique(np.linspace(0, len(known) - 1, MAX_POINTS).round().astype(np.int64))
    return known[ranks], (ranks + 1) / max(len(known), 1)


def percentile_marks(values: ArrayLike) -> dict[int, float]:
    """The value of each of PERCENTILES; empty without values. Linear, as numpy's."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    return {p: float(np.percentile(known, p)) for p in PERCENTILES} if len(known) else {}


def plot_ecdf(series: Mapping[str, ArrayLike], unit: str, *, name: str,
              lines: Mapping[str, Line] | None = None, limit: float | None = None,
              height: int = 280) -> go.Figure:
    """One curve for each series; a single one has its percentiles marked.

    Args:
        series: values by key.
        unit: of the values, for the axis.
        name: what the values are.
        lines: the look of each key; by default that of ``simulated``.
        limit: an objective, drawn as a line.
    """
    figure = go.Figure(layout=layout(
        height, showlegend=len(series) > 1, hovermode="closest",
        xaxis={"title": {"text": f"{name}, {unit}"}, "range": [0, 1.12 * _largest(series, limit)],
               "zeroline": False},
        yaxis={"title": {"text": "share at or below"}, "range": [0, 1.04], "tickformat": ".0%",
               "zeroline": False},
        margin={"l": 62, "r": 12, "t": 34 if len(series) > 1 else 14, "b": 42}))
    for key, values in series.items():
        line = (lines or {key: SIDE_LINES["simulated"]._replace(dash="solid")})[key]
        x, share = ecdf(values)
        start = x[:1]  # the curve rises from 0 at the smallest value
        figure.add_trace(go.Scatter(
            x=np.concatenate((start, x)), y=np.concatenate((np.zeros(len(start)), share)),
            mode="lines", name=line.name, line={**stroke(line), "shape": "hv"},
            hovertemplate=f"%{{y:.1%}} at or below %{{x:,.4~g}} {unit}<extra>{line.name}</extra>"))
        if len(series) == 1:
            figure.add_trace(_marks(percentile_marks(values), (x, share), line, unit))
    if limit is not None:
        figure.add_vline(x=limit, line={"color": MARK, "dash": "dash", "width": 2},
                         annotation_text=f"objective {digits(limit)} {unit}",
                         annotation_position="bottom right")
    return figure


def ecdf_alt(series: Mapping[str, ArrayLike], unit: str, name: str) -> str:
    """The chart in words."""
    def words(key: str, values: ArrayLike) -> str:
        marks = percentile_marks(values)
        if not marks:
            return f"{key}: no values"
        return f"{key}: " + ", ".join(f"p{p} {digits(value)}" for p, value in marks.items())

    return f"Distribution of {name} in {unit}. " + "; ".join(
        words(key, values) for key, values in series.items()) + "."


def _largest(series: Mapping[str, ArrayLike], limit: float | None) -> float:
    """The end of the axis, with the objective on it; 1 without values."""
    known = [np.asarray(values, dtype=np.float64) for values in series.values()]
    ends = [float(np.nanmax(each)) for each in known if not np.isnan(each).all()]
    return max(ends + ([limit] if limit else []), default=1.0) or 1.0


def _marks(marks: dict[int, float], curve: tuple[Floats, Floats], line: Line, unit: str) -> Any:
    """The percentiles, on the curve; between two values that is on its flat part."""
    values, shares = curve
    below = [int(np.searchsorted(values, value, "right")) for value in marks.values()]
    return go.Scatter(
        x=list(marks.values()), y=[float(shares[i - 1]) if i else 0.0 for i in below],
        mode="markers+text", name="percentiles", marker=points(line, 9), cliponaxis=False,
        textposition=["middle right", "bottom center", "middle right"][: len(marks)],
        text=["median" if p == 50 else f"p{p}" for p in marks],
        hovertemplate=[f"p{p}: {digits(value)} {unit}<extra></extra>"
                       for p, value in marks.items()])
