"""How many requests are in which state over time: the Gantt chart of a run with very many rows."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from core.figures.theme import LOOKS, look_of
from core.trace import Trace

MAX_POINTS = 1_200
ORDER = ("decode", "prefill", "swapped", "preempted", "waiting")
"""From the bottom up."""

Counts = dict[str, np.ndarray]


def band_counts(trace: Trace) -> Counts:
    """For each look the number of requests in it at each step, of length (num_steps,)."""
    steps = trace.num_steps
    changes = {look: np.zeros(steps + 1, dtype=np.int64) for look in ORDER}
    for span in trace.span_rows:
        look = look_of(span.state, span.attempt)
        if look in changes and span.from_step < span.to_step:
            changes[look][span.from_step] += 1
            changes[look][min(span.to_step, steps)] -= 1
    return {look: np.cumsum(change)[:steps] for look, change in changes.items()}


def binned(counts: Counts, size: int) -> Counts:
    """The mean of each ``size`` steps in a row; the last bin may be shorter."""
    def means(values: np.ndarray) -> np.ndarray:
        starts = np.arange(0, len(values), size)
        lengths = np.minimum(size, len(values) - starts)
        return np.add.reduceat(values, starts) / lengths if len(values) else values

    return {look: means(values) for look, values in counts.items()}


def plot_bands(trace: Trace, *, height: int = 300,
               window: tuple[int, int] | None = None) -> go.Figure:
    """Stacked bands of the states, with the window that is looked at outlined."""
    size = max(1, -(-trace.num_steps // MAX_POINTS))
    counts = binned(band_counts(trace), size)
    figure = go.Figure(layout={
        "height": height, "margin": {"l": 46, "r": 8, "t": 30, "b": 28}, "hovermode": "x unified",
        "legend": {"orientation": "h", "yref": "container", "y": 1, "yanchor": "top", "x": 0},
        "xaxis": {"range": [0, max(trace.num_steps, 1)], "tickprefix": "step ",
                  "showtickprefix": "first", "tickformat": ",d"},
        "yaxis": {"title": {"text": "requests"}, "rangemode": "tozero"},
    })
    for look in ORDER:
        if counts[look].any():
            name, letter, color, _ = LOOKS[look]
            figure.add_trace(go.Scatter(
                x=np.arange(len(counts[look])) * size, y=counts[look], stackgroup="all",
                mode="lines", line={"width": 0.5, "color": color, "shape": "hv"}, fillcolor=color,
                name=f"{name} ({letter})",
                hovertemplate="%{y:.1f}"))
    if window is not None:
        figure.add_vrect(x0=window[0], x1=window[1] + 1, line_width=2, line_color="#888",
                         fillcolor="rgba(128,128,128,.15)", layer="above")
    return figure
