"""Requests that run and that wait over time, measured and simulated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.figures.parts import layout, stroke
from core.figures.theme import SIDE_LINES
from core.measured import MeasuredRun
from core.trace import Trace

COLUMNS = {"num_running": "running", "num_waiting": "waiting"}


class Curve(NamedTuple):
    """One number over time."""

    times_s: list[float]
    """Seconds from the first arrival."""
    values: list[int]


def measured_curves(run: MeasuredRun, tick_s: float = 1.0) -> dict[str, Curve]:
    """What the server reported at the end of each tick, by column."""
    times = [tick_s * (number + 1) for number in range(len(run.ticks))]
    return {column: Curve(times, [getattr(tick, column) for tick in run.ticks])
            for column in COLUMNS}


def simulated_curves(trace: Trace, until_s: float, tick_s: float = 1.0) -> dict[str, Curve]:
    """The same of a simulated run: what its latest step had decided at the end of each tick.

    Args:
        until_s: how long to go on at least; behind the end of the run nobody is there.
    """
    end = trace.end_s(trace.num_steps - 1)
    times = tick_s * np.arange(1, int(max(until_s, end) // tick_s) + 2)
    starts = np.array([trace.start_s(step) for step in range(trace.num_steps)])
    latest = np.searchsorted(starts, times, "right") - 1
    curves = {}
    for column in COLUMNS:
        values = np.array([getattr(row, column) for row in trace.step_rows] or [0])
        there = (latest >= 0) & (times < end)
        curves[column] = Curve(times.tolist(),
                               np.where(there, values[np.maximum(latest, 0)], 0).tolist())
    return curves


def plot_measured_over_time(measured: dict[str, Curve], simulated: dict[str, Curve], *,
                            height: int = 310) -> go.Figure:
    """Two panels on one time axis."""
    figure = make_subplots(len(COLUMNS), 1, shared_xaxes=True, vertical_spacing=0.1)
    figure.update_layout(layout(height, hovermode="x unified",
                                margin={"l": 56, "r": 12, "t": 34, "b": 44}))
    for row, (column, name) in enumerate(COLUMNS.items(), 1):
        for side, curves in (("measured", measured), ("simulated", simulated)):
            line = SIDE_LINES[side]
            figure.add_trace(go.Scatter(
                x=curves[column].times_s, y=curves[column].values, mode="lines", name=line.name,
                line=stroke(line, 4 if side == "measured" else 2), legendgroup=side,
                showlegend=row == 1, hovertemplate="%{y:,}"), row, 1)
        figure.update_yaxes(title={"text": name}, rangemode="tozero", nticks=5, row=row, col=1)
    figure.update_xaxes(showgrid=False, zeroline=False)
    figure.update_xaxes(title={"text": "seconds"}, row=len(COLUMNS), col=1)
    return figure


def measured_over_time_alt(measured: dict[str, Curve], simulated: dict[str, Curve]) -> str:
    """The panels in words."""
    def most(curves: dict[str, Curve], column: str) -> int:
        return max(curves[column].values, default=0)

    return "Requests over time: " + "; ".join(
        f"at most {most(measured, column)} {name} measured, {most(simulated, column)} simulated"
        for column, name in COLUMNS.items()) + "."
