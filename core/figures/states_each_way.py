"""How many requests are in which state over time, a panel for each way to preempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from core.figures.bands import ORDER, Counts, band_counts, binned
from core.figures.parts import layout
from core.figures.theme import HATCH, LOOKS, WAY_LINES
from core.trace import Trace

MAX_POINTS = 400


@dataclass(frozen=True, slots=True)
class StatesOverTime:
    """Requests by state over one run."""

    starts_s: NDArray[np.float64]
    """When each piece of the run begins: seconds, or steps."""
    counts: Counts
    """For each look the mean number of requests in each piece."""
    end_s: float


def states_over_time(trace: Trace) -> StatesOverTime:
    """The states of a run in at most MAX_POINTS pieces of as many steps each."""
    size = max(1, -(-trace.num_steps // MAX_POINTS))
    starts = np.array([trace.start_s(step) for step in range(trace.num_steps)])
    return StatesOverTime(starts[::size], binned(band_counts(trace), size),
                          trace.end_s(trace.num_steps - 1))


def plot_states_each_way(runs: Mapping[str, StatesOverTime], *, height: int = 395) -> go.Figure:
    """Stacked areas, one panel below the other on one time axis."""
    titles = [f"{WAY_LINES[way].name}: {run.end_s:,.2f} s" for way, run in runs.items()]
    figure = make_subplots(len(runs), 1, subplot_titles=titles, shared_xaxes=True,
                           vertical_spacing=0.11)
    figure.update_layout(layout(height, margin={"l": 40, "r": 10, "t": 70, "b": 42}))
    figure.update_annotations(font={"size": 13}, x=0, xanchor="left")
    longest = max((run.end_s for run in runs.values()), default=1.0)
    figure.update_xaxes(range=[0, longest], showgrid=False, zeroline=False)
    figure.update_xaxes(title={"text": "seconds"}, row=len(runs), col=1)
    figure.update_yaxes(rangemode="tozero", nticks=3)
    seen: set[str] = set()
    for row, run in enumerate(runs.values(), 1):
        for look in ORDER:
            if not run.counts[look].any():
                continue
            name, _, color, hatch = LOOKS[look]
            figure.add_trace(go.Scatter(
                x=[*run.starts_s, run.end_s], y=[*run.counts[look], 0.0], mode="lines",
                stackgroup=f"row {row}", name=name, legendgroup=look, showlegend=look not in seen,
                line={"width": 0, "color": color, "shape": "hv"}, fillcolor=color,
                fillpattern={"shape": hatch, "fgcolor": HATCH, "bgcolor": color, "size": 6,
                             "solidity": 0.2} if hatch else None,
                hovertemplate=f"%{{x:.2f}} s: %{{y:.1f}} {name}<extra></extra>"), row, 1)
            seen.add(look)
    return figure


def states_each_way_alt(runs: Mapping[str, StatesOverTime]) -> str:
    """The panels in words."""
    def most(run: StatesOverTime, look: str) -> str:
        return f"at most {max(run.counts[look], default=0):.0f} {LOOKS[look].name}"

    return "Requests by state over time: " + "; ".join(
        f"{WAY_LINES[way].name} {run.end_s:,.2f} s, {most(run, 'swapped')},"
        f" {most(run, 'preempted')}" for way, run in runs.items()) + "."
