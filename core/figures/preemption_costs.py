"""What a preemption costs by the length of its request: time, time per token, bytes moved."""

from __future__ import annotations

from collections.abc import Sequence as Rows
from itertools import pairwise
from math import log10

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.figures.parts import layout, log_axis, points, stroke
from core.figures.theme import MARK, WAY_LINES
from core.swap_or_recompute import BreakEven, PreemptionCost

MIB = 1 << 20

Curve = list[tuple[int, float]]
"""Tokens of the request, and what its preemption costs."""


def time_curves(costs: Rows[PreemptionCost]) -> dict[str, Curve]:
    """Milliseconds by length for each way, in WAY_LINES' order."""
    curves: dict[str, Curve] = {
        "swap": [(c.num_tokens, 1000 * c.swap_s) for c in costs],
        "compressed_swap": [(c.num_tokens, 1000 * c.compressed_s) for c in costs
                            if c.compressed_s is not None],
        "recompute": [(c.num_tokens, 1000 * c.recompute_s) for c in costs],
    }
    return {way: curves[way] for way in WAY_LINES if curves[way]}


def per_token(curves: dict[str, Curve]) -> dict[str, Curve]:
    """The same for each token of the request: of milliseconds it is microseconds."""
    return {way: [(tokens, 1000 * value / tokens) for tokens, value in curve]
            for way, curve in curves.items()}


def byte_curves(costs: Rows[PreemptionCost]) -> dict[str, Curve]:
    """MiB over the host links by length, of the ways that use them."""
    curves: dict[str, Curve] = {
        "swap": [(c.num_tokens, c.swap_bytes / MIB) for c in costs],
        "compressed_swap": [(c.num_tokens, c.compressed_bytes / MIB) for c in costs
                            if c.compressed_bytes is not None],
    }
    return {way: curve for way, curve in curves.items() if curve}


def plot_preemption_costs(costs: Rows[PreemptionCost], turns: Rows[BreakEven], *,
                          height: int = 310) -> go.Figure:
    """Three panels, all axes logarithmic; lengths at which the cheaper way changes are marked.

    Args:
        costs: by rising length, at least one.
        turns: ``break_evens`` of the same machine; the first one is no turn.
    """
    times = time_curves(costs)
    panels = {"ms for all of it": times, "µs per token": per_token(times),
              "MiB over the link": byte_curves(costs)}
    figure = make_subplots(1, len(panels), column_widths=[0.31, 0.42, 0.27],
                           horizontal_spacing=0.11)
    figure.update_layout(layout(height, margin={"l": 58, "r": 12, "t": 54, "b": 44},
                                hovermode="closest"))
    for column, (unit, curves) in enumerate(panels.items(), 1):
        _panel(figure, column, unit, curves)
    for turn in turns[1:]:
        figure.add_vline(x=turn.num_tokens, row=1, col=1, line={"color": MARK, "dash": "dot"})
        figure.add_vline(x=turn.num_tokens, row=1, col=2, line={"color": MARK, "dash": "dot"})
        figure.add_annotation(  # on a logarithmic axis the place of a text is the logarithm
            x=log10(turn.num_tokens), y=1, yref="y domain", yanchor="bottom", showarrow=False,
            text=f"{turn.num_tokens:,}: {turn.cheaper}", row=1, col=2)
    return figure


def _panel(figure: go.Figure, column: int, unit: str, curves: dict[str, Curve]) -> None:
    """The curves of one unit, and their axes."""
    values = [value for curve in curves.values() for _, value in curve]
    lengths = [tokens for tokens, _ in curves["swap"]]
    figure.update_xaxes(log_axis("tokens of the request", lengths[0], lengths[-1]),
                        row=1, col=column)
    figure.update_yaxes(log_axis(unit, min(values), max(values)), row=1, col=column)
    for way, curve in curves.items():
        line = WAY_LINES[way]
        figure.add_trace(go.Scatter(
            x=[tokens for tokens, _ in curve], y=[value for _, value in curve], name=line.name,
            mode="lines+markers", line=stroke(line), marker=points(line, 7), legendgroup=way,
            showlegend=column == 1,
            hovertemplate=f"%{{x:,}} tokens: {line.name} %{{y:,.3~g}} {unit}<extra></extra>"),
            1, column)


def break_even_sentence(turns: Rows[BreakEven], longest: int) -> str:
    """Which of swap and recompute is the cheaper, from which length on."""
    if len(turns) == 1:
        return f"{turns[0].cheaper} is the cheaper at every length up to {longest:,} tokens"
    parts = [f"{one.cheaper} below {other.num_tokens:,} tokens" for one, other in pairwise(turns)]
    last = turns[-1]
    return ("the cheaper is " + ", then ".join(parts)
            + f", and {last.cheaper} from {last.num_tokens:,} on")


def preemption_costs_alt(costs: Rows[PreemptionCost], turns: Rows[BreakEven]) -> str:
    """The curves in words."""
    last = costs[-1]
    times = ", ".join(f"{WAY_LINES[way].name} {curve[-1][1]:,.0f} ms"
                      for way, curve in time_curves(costs).items())
    return (f"Cost of one preemption by the request's length: "
            f"{break_even_sentence(turns, last.num_tokens)}. At {last.num_tokens:,} tokens: "
            f"{times}.")
