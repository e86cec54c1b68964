"""What several figures draw alike: the layout, the look of a bar, and numbers in words."""

from __future__ import annotations

from math import floor, log10
from typing import Any

from core.figures.theme import HATCH, Line

CLEAR = "rgba(0,0,0,0)"
"""No background of its own, so that the page's light or dark one shows."""


def layout(height: int, **more: Any) -> dict[str, Any]:
    """The layout of a figure without background, its legend above; ``more`` wins."""
    return {
        "height": height, "paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR,
        "margin": {"l": 56, "r": 12, "t": 34, "b": 42},
        "legend": {"orientation": "h", "yref": "container", "y": 1, "yanchor": "top", "x": 0,
                   "font": {"size": 12}, "itemclick": False, "itemdoubleclick": False},
        **more,
    }


def fill(color: str, hatch: str = "") -> dict[str, Any]:
    """The marker of a bar; the hatch is the second cue."""
    marker: dict[str, Any] = {"color": color, "line": {"width": 0}}
    if hatch:
        marker["pattern"] = {"shape": hatch, "fgcolor": HATCH, "size": 6, "solidity": 0.25,
                             "fillmode": "overlay"}
    return marker


def stroke(line: Line, width: float = 2.5) -> dict[str, Any]:
    """The line of a curve."""
    return {"color": line.color, "dash": line.dash, "width": width}


def points(line: Line, size: int = 8) -> dict[str, Any]:
    """The points of a curve."""
    return {"color": line.color, "symbol": line.symbol, "size": size}


def log_axis(title: str, low: float, high: float) -> dict[str, Any]:
    """A logarithmic axis from a little below ``low`` to a little above ``high``, with ticks at
    1, 2 and 5; at 1 alone over more than three decades."""
    low, high = max(low, 1e-12), max(high, low, 1e-12)
    steps = (1, 2, 5) if log10(high / low) <= 3 else (1,)
    ticks = [step * 10.0**power for power in range(floor(log10(low)) - 1, floor(log10(high)) + 2)
             for step in steps]
    return {"type": "log", "title": {"text": title}, "zeroline": False,
            "range": [log10(low) - 0.06, log10(high) + 0.06],
            "tickvals": ticks, "ticktext": [f"{tick:,.10g}" for tick in ticks]}


def digits(value: float | None) -> str:
    """A number with three digits that count; from 1,000 on with all whole ones."""
    if value is None or value != value:
        return "–"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"
