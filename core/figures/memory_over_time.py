"""What the KV memory holds over time, a panel for each scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from core.figures.parts import layout
from core.figures.theme import HATCH, MEMORY_LOOKS, scheduler_name
from core.memory_use import KINDS, memory_use
from core.trace import Trace

BINS = 100


@dataclass(frozen=True, slots=True)
class UseOverTime:
    """The memory of a run in pieces of equal length."""

    length: float
    """Of the run: seconds, or steps."""
    shares: dict[str, NDArray[np.float64]]
    """For each kind of slots its mean share in each piece."""


def use_over_time(trace: Trace, bins: int = BINS) -> UseOverTime:
    """The shares of each kind over a run, in at most so many pieces.

    Each step counts as long as it lasts; time in which no step runs is left out.
    """
    use = memory_use(trace)
    ends = np.cumsum(trace.durations_s or [1.0] * trace.num_steps)
    if not len(ends):
        return UseOverTime(0.0, {kind: np.zeros(0) for kind in KINDS})
    bins = min(bins, len(ends))
    edges = np.linspace(0, ends[-1], bins + 1)
    shares = {}
    for kind in KINDS:
        so_far = np.concatenate(([0], np.cumsum(getattr(use, kind) * np.diff(ends, prepend=0))))
        at_edges = np.interp(edges, np.concatenate(([0], ends)), so_far)
        shares[kind] = np.diff(at_edges) / np.diff(edges) / use.num_slots
    return UseOverTime(float(ends[-1]), shares)


def plot_memory_over_time(uses: Mapping[str, UseOverTime], unit: str, *,
                          height: int = 360) -> go.Figure:
    """Stacked areas, three panels side by side; each has the length of its own run. The legend is
    that of the bars (memory_shares.py).

    Args:
        uses: by scheduler.
        unit: of the lengths.
    """
    columns = min(3, max(len(uses), 1))
    rows = -(-len(uses) // columns)
    titles = [f"{scheduler_name(s)}: {use.length:,.0f} {unit}" for s, use in uses.items()]
    figure = make_subplots(rows, columns, subplot_titles=titles, shared_yaxes=True,
                           horizontal_spacing=0.04, vertical_spacing=0.2)
    figure.update_layout(layout(height, margin={"l": 46, "r": 10, "t": 26, "b": 28},
                                showlegend=False))
    figure.update_yaxes(range=[0, 1], tickvals=[0, 0.5, 1], tickformat=".0%", showgrid=False)
    figure.update_xaxes(nticks=5, showgrid=False, zeroline=False)
    figure.update_annotations(font={"size": 13})
    for number, use in enumerate(uses.values()):
        place = number // columns + 1, number % columns + 1
        figure.update_xaxes(range=[0, use.length or 1], row=place[0], col=place[1])
        pieces = len(use.shares["used"])
        for kind, look in MEMORY_LOOKS.items():
            figure.add_trace(go.Scatter(
                x=(np.arange(pieces) + 0.5) * use.length / max(pieces, 1), y=use.shares[kind],
                stackgroup=f"panel {number}", mode="lines", line={"width": 0, "color": look.color},
                fillcolor=look.color, name=look.name,
                fillpattern={"shape": look.hatch, "fgcolor": HATCH, "bgcolor": look.color,
                             "size": 7, "solidity": 0.2} if look.hatch else None,
                hovertemplate=f"{look.name} %{{y:.0%}}<extra></extra>",
            ), *place)
    return figure


def memory_over_time_alt(uses: Mapping[str, UseOverTime], unit: str) -> str:
    """The panels in words."""
    return "KV memory over time: " + "; ".join(
        f"{scheduler_name(s)} runs {use.length:,.0f} {unit}, at most"
        f" {max(use.shares['used'], default=0):.0%} of it hold a token" for s, use in uses.items()
    ) + "."
