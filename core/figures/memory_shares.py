"""What the KV memory holds under each scheduler while requests wait, beside the paper's shares."""

from __future__ import annotations

from collections.abc import Sequence as Rows
from typing import NamedTuple

import plotly.graph_objects as go

from core.figures.parts import fill, layout
from core.figures.theme import BAND, MEMORY_LOOKS, scheduler_name
from core.memory_contrast import OLDER_SYSTEMS_USED, Contrast

WIDE_ENOUGH = 0.06
"""A narrower part of a bar has no room for its number."""


class Part(NamedTuple):
    """A part of a scheduler's bar."""

    scheduler: str
    share: float
    """Of the whole memory."""


def share_parts(contrasts: Rows[Contrast]) -> dict[str, list[Part]]:
    """For each kind of slots, in MEMORY_LOOKS' order, its part of every scheduler's bar."""
    return {kind: [Part(c.scheduler, c.shares[kind]) for c in contrasts] for kind in MEMORY_LOOKS}


def plot_memory_shares(contrasts: Rows[Contrast], *, height: int = 300) -> go.Figure:
    """A stacked bar per scheduler; behind them what older systems used in the paper, and beside
    each how much of what it holds is empty."""
    figure = go.Figure(layout=layout(
        height, barmode="stack", margin={"l": 112, "r": 84, "t": 62, "b": 40},
        xaxis={"range": [0, 1], "tickformat": ".0%", "zeroline": False,
               "title": {"text": "share of the KV memory, mean while requests wait"}},
        yaxis={"autorange": "reversed"},
        legend={**layout(height)["legend"], "traceorder": "normal"}))
    for kind, parts in share_parts(contrasts).items():
        look = MEMORY_LOOKS[kind]
        figure.add_trace(go.Bar(
            orientation="h", name=look.name, marker=fill(look.color, look.hatch), width=0.66,
            y=[scheduler_name(part.scheduler) for part in parts], x=[part.share for part in parts],
            text=[f"{part.share:.0%}" if part.share >= WIDE_ENOUGH else "" for part in parts],
            textposition="inside", insidetextanchor="middle", textangle=0,
            textfont={"color": "#14181d", "size": 12},
            hovertemplate=f"%{{y}}: {look.name} %{{x:.1%}}<extra></extra>"))
    low, high = OLDER_SYSTEMS_USED
    figure.add_vrect(x0=low, x1=high, fillcolor=BAND, line={"width": 0}, layer="below")
    figure.add_annotation(
        x=(low + high) / 2, y=1, yref="paper", yanchor="bottom", showarrow=False,
        text=f"paper, older systems: {low:.1%} to {high:.1%} hold a token")
    figure.add_annotation(x=1.01, xref="paper", xanchor="left", y=1, yref="paper",
                          yanchor="bottom", showarrow=False, text="held empty", align="left")
    for contrast in contrasts:
        figure.add_annotation(
            x=1.01, xref="paper", xanchor="left", y=scheduler_name(contrast.scheduler),
            showarrow=False, text=f"<b>{contrast.waste:.1%}</b>")
    return figure


def memory_shares_alt(contrasts: Rows[Contrast]) -> str:
    """The bars in words."""
    return "Share of the KV memory that holds tokens, and the empty part of what is held: " + (
        "; ".join(f"{scheduler_name(c.scheduler)} {c.shares['used']:.1%} and {c.waste:.1%}"
                  for c in contrasts)) + "."
