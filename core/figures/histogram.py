"""How often each value comes: a distribution that shows its shape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from core.figures.ecdf import percentile_marks
from core.figures.parts import digits, fill, layout
from core.figures.theme import MARK, SIDE_LINES

BINS = 30


class Bin(NamedTuple):
    """A range of values, its upper end excluded except for the last, and how many are in it."""

    low: float
    high: float
    num_values: int


def histogram(values: ArrayLike, bins: int = BINS) -> list[Bin]:
    """So many bins of equal width, from 0 to the largest value; none without values."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return []
    counts, edges = np.histogram(known, bins, range=(0, max(float(known.max()), 1e-9)))
    return [Bin(float(low), float(high), int(number))
            for low, high, number in zip(edges, edges[1:], counts, strict=False)]


def plot_histogram(values: ArrayLike, unit: str, *, name: str, limit: float | None = None,
                   height: int = 280) -> go.Figure:
    """Bars, with the percentiles as lines."""
    bins = histogram(values)
    figure = go.Figure(layout=layout(
        height, showlegend=False, bargap=0, margin={"l": 62, "r": 12, "t": 24, "b": 42},
        xaxis={"title": {"text": f"{name}, {unit}"}, "rangemode": "tozero", "zeroline": False},
        yaxis={"title": {"text": "number of values"}, "zeroline": False}))
    figure.add_trace(go.Bar(
        x=[(b.low + b.high) / 2 for b in bins], y=[b.num_values for b in bins],
        width=[0.94 * (b.high - b.low) for b in bins],
        marker=fill(SIDE_LINES["simulated"].color), customdata=[(b.low, b.high) for b in bins],
        hovertemplate=f"%{{y:,}} from %{{customdata[0]:,.4~g}} to %{{customdata[1]:,.4~g}} {unit}"
                      "<extra></extra>"))
    for p, value in percentile_marks(values).items():
        figure.add_vline(x=value, line={"color": MARK, "width": 1.5, "dash": "dot"},
                         annotation_text="median" if p == 50 else f"p{p}",
                         annotation_position="top")
    if limit is not None:
        figure.add_vline(x=limit, line={"color": MARK, "dash": "dash", "width": 2},
                         annotation_text=f"objective {digits(limit)} {unit}",
                         annotation_position="right")
    return figure
