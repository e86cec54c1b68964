"""Latency against the arrival rate, a curve for each scheduler, and the limit that all share."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, log10

import plotly.graph_objects as go

from core.claim import Claim, Point
from core.figures.parts import digits, layout, log_axis, points, stroke
from core.figures.theme import MARK, SCHEDULER_LINES, scheduler_name

MS = 1000


def claim_curves(found: Iterable[Point]) -> dict[str, list[Point]]:
    """The points of each scheduler by rising rate, without those that did not serve everybody."""
    curves: dict[str, list[Point]] = {}
    for point in found:
        if point.p99_s < inf:
            curves.setdefault(point.scheduler, []).append(point)
    return {name: sorted(curve, key=lambda p: p.rate) for name, curve in curves.items()}


def plot_claim_curves(claim: Claim, *, height: int = 330) -> go.Figure:
    """Both axes are logarithmic; where a curve crosses the limit is the rate that is served."""
    limit, curves = MS * claim.limit_s, claim_curves(claim.points)
    rates = [p.rate for curve in curves.values() for p in curve] or [1.0]
    latencies = [MS * p.p99_s for curve in curves.values() for p in curve] + [limit]
    figure = go.Figure(layout=layout(
        height, hovermode="closest", margin={"l": 62, "r": 12, "t": 56, "b": 44},
        xaxis=log_axis("arrival rate, requests/s", min(rates), max(rates)),
        yaxis=log_axis("p99 latency, ms/token", min(latencies), max(latencies))))
    for name, curve in curves.items():
        line = SCHEDULER_LINES[name]
        figure.add_trace(go.Scatter(
            x=[p.rate for p in curve], y=[MS * p.p99_s for p in curve], mode="lines+markers",
            name=line.name, line=stroke(line), marker=points(line),
            hovertemplate=f"<b>{line.name}</b><br>%{{x:.3~g}} requests/s<br>p99 %{{y:,.3~g}}"
                          " ms/token<extra></extra>"))
    figure.add_hline(y=limit, line={"color": MARK, "dash": "dash", "width": 2})
    figure.add_annotation(  # on a logarithmic axis the place of a text is the logarithm
        x=0, xref="paper", xanchor="left", y=log10(limit), yanchor="bottom", showarrow=False,
        text=f"limit {digits(limit)} ms/token")
    return figure


def claim_curves_alt(claim: Claim) -> str:
    """The crossings in words."""
    def words(name: str) -> str:
        rate = claim.served[name].rate
        return f"{scheduler_name(name)} " + (
            "at no rate" if rate is None else f"up to {digits(rate)} requests/s")

    return (f"p99 of the normalised latency against the arrival rate. A limit of"
            f" {digits(MS * claim.limit_s)} ms/token is met by "
            + "; ".join(words(name) for name in claim.served) + ".")
