"""Each request measured and simulated: on the diagonal the two agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.figures.parts import CLEAR, layout, points
from core.figures.theme import MARK, SIDE_LINES


class Pair(NamedTuple):
    """One request."""

    request_id: str
    measured: float
    simulated: float


def pairs(per_request: pd.DataFrame, key: str, scale: float = 1.0) -> list[Pair]:
    """The requests that have the duration on both sides.

    Args:
        per_request: of core/measured_check.py.
        key: ``ttft_s``, ``tpot_s``, ``e2el_s``.
        scale: from seconds to the unit that is shown.
    """
    known = per_request.dropna(subset=[key, f"simulated_{key}"])
    return [Pair(str(name), float(one) * scale, float(two) * scale) for name, one, two in zip(
        known["request_id"], known[key], known[f"simulated_{key}"], strict=True)]


def plot_measured_scatter(found: list[Pair], name: str, unit: str, *,
                          height: int = 300) -> go.Figure:
    """A point for each request, and the diagonal."""
    end = 1.05 * max((max(p.measured, p.simulated) for p in found), default=1.0)
    figure = go.Figure(layout=layout(
        height, showlegend=False, hovermode="closest", margin={"l": 62, "r": 12, "t": 12, "b": 44},
        xaxis={"title": {"text": f"{name} measured, {unit}"}, "range": [0, end],
               "zeroline": False, "tickformat": ",.10~g", "nticks": 6},
        yaxis={"title": {"text": f"{name} simulated, {unit}"}, "range": [0, end],
               "zeroline": False, "tickformat": ",.10~g", "nticks": 6}))
    figure.add_trace(go.Scatter(x=[0, end], y=[0, end], mode="lines", hoverinfo="skip",
                                line={"color": MARK, "dash": "dash", "width": 2}))
    figure.add_trace(go.Scatter(
        x=[p.measured for p in found], y=[p.simulated for p in found], mode="markers",
        marker={**points(SIDE_LINES["simulated"], 7), "symbol": "circle", "color": CLEAR,
                "line": {"width": 1.5, "color": SIDE_LINES["simulated"].color}},
        customdata=[p.request_id for p in found],
        hovertemplate=f"<b>%{{customdata}}</b><br>measured %{{x:,.4~g}} {unit}<br>"
                      f"simulated %{{y:,.4~g}} {unit}<extra></extra>"))
    return figure


def measured_scatter_alt(found: list[Pair], name: str, unit: str) -> str:
    """The points in words."""
    if not found:
        return f"No request has a {name} on both sides."
    one, two = np.mean([p.measured for p in found]), np.mean([p.simulated for p in found])
    return (f"{name} of {len(found)} requests, measured against simulated: mean {one:,.4g} {unit}"
            f" measured, {two:,.4g} {unit} simulated.")
