"""The rate that each scheduler serves within the limit, as a multiple of one of them."""

from __future__ import annotations

from typing import NamedTuple

import plotly.graph_objects as go

from core.claim import CLAIMS, Claim
from core.figures.parts import digits, fill, layout
from core.figures.theme import BAND, SCHEDULER_LINES, scheduler_name


class Rate(NamedTuple):
    """One bar."""

    scheduler: str
    rate: float | None
    """Requests per second; None if it meets the limit at no rate."""
    times: float | None
    """As a multiple of the baseline's; None if it is not known."""
    rate_bound: str
    """"≥ " if it met the limit at every rate that was looked at, else empty."""
    times_bound: str
    """"≥ " or "≤ " if one of both rates is only a lower bound, else empty."""

    def times_text(self) -> str:
        """The multiple in words."""
        return "not known" if self.times is None else f"{self.times_bound}{self.times:.1f} ×"

    def text(self) -> str:
        """The bar's label."""
        if self.rate is None:
            return "meets the limit at no rate"
        rate = f"{self.rate_bound}{digits(self.rate)} requests/s"
        return rate if self.times is None else f"<b>{self.times_text()}</b>  {rate}"


def claim_rate(claim: Claim, scheduler: str, baseline: str) -> Rate:
    """One scheduler against another."""
    open_ended = {name: claim.served[name].below is None for name in (scheduler, baseline)}
    times, bound = claim.ratio(scheduler, baseline), ""
    if scheduler != baseline:
        bound = {(True, False): "≥ ", (False, True): "≤ "}.get(
            (open_ended[scheduler], open_ended[baseline]), "")
        times = None if all(open_ended.values()) else times
    return Rate(scheduler, claim.served[scheduler].rate, times,
                "≥ " if open_ended[scheduler] else "", bound)


def claim_rates(claim: Claim, baseline: str) -> list[Rate]:
    """A bar for each scheduler."""
    return [claim_rate(claim, name, baseline) for name in claim.served]


def plot_claim_rates(claim: Claim, baseline: str, *, height: int = 330) -> go.Figure:
    """Bars over the two claims as bands; requests/s where a multiple is not known."""
    rates = claim_rates(claim, baseline)
    known = claim.served[baseline].rate is not None and all(
        rate.times is not None or rate.rate is None for rate in rates)
    values = [(rate.times if known else rate.rate) or 0.0 for rate in rates]
    longest = max([*values, CLAIMS["article"][1] if known else 0.0])
    axis = f"times {scheduler_name(baseline)}" if known else "requests/s"
    figure = go.Figure(layout=layout(
        height, showlegend=False, margin={"l": 112, "r": 12, "t": 56, "b": 44},
        xaxis={"title": {"text": axis}, "range": [0, 1.5 * longest], "zeroline": False},
        yaxis={"autorange": "reversed"}))
    for rate, value in zip(rates, values, strict=True):
        figure.add_trace(go.Bar(
            orientation="h", y=[scheduler_name(rate.scheduler)], x=[value], width=0.62,
            marker=fill(SCHEDULER_LINES[rate.scheduler].color), text=[rate.text()],
            textposition="outside", cliponaxis=False, hoverinfo="skip"))
    if known:
        for height_of, (name, (low, high)) in zip((1.0, 1.09), CLAIMS.items(), strict=True):
            figure.add_vrect(x0=low, x1=high, fillcolor=BAND, line={"width": 0}, layer="below")
            figure.add_annotation(x=(low + high) / 2, y=height_of, yref="paper", yanchor="bottom",
                                  showarrow=False, text=f"{name} {low:g} to {high:g}")
    return figure


def claim_rates_alt(claim: Claim, baseline: str) -> str:
    """The bars in words."""
    bars = "; ".join(f"{scheduler_name(r.scheduler)} {r.text()}"
                     for r in claim_rates(claim, baseline))
    plain = bars.replace("<b>", "").replace("</b>", "")
    return f"Rates served within the limit, as a multiple of {scheduler_name(baseline)}: {plain}."
