"""Numbers on the screen: units, few digits, small tables and tiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import plotly.graph_objects as go
import streamlit as st

from core.figures.parts import digits
from core.metric_names import Metric, time_unit
from core.trace import Trace

CHART = {"displayModeBar": False}
TILES = """<style>
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.6rem,1fr));gap:.5rem .9rem;
 margin:0;padding:0!important}
.tiles dt{font-size:.74rem;opacity:.78;font-weight:400;line-height:1.2}
.tiles dd{font-size:1.02rem;font-weight:600;margin:0;font-variant-numeric:tabular-nums}
.tiles dd span{font-size:.74rem;font-weight:400;opacity:.78}
</style>"""


class Times(NamedTuple):
    """How the times of a run are shown: milliseconds, or steps where the clock counts steps."""

    unit: str
    scale: float
    """Units in one second, or in one step."""
    per: str
    """What rates are counted in."""


def times_of(trace: Trace) -> Times:
    """The units of a run."""
    return Times("ms", 1000.0, "s") if time_unit(trace) == "s" else Times("steps", 1.0, "step")


def unit_of(metric: Metric, times: Times) -> str:
    """The unit in which a metric is shown."""
    if metric.sort == "rate":
        return metric.unit.replace("time", times.per).replace("1/", "requests/")
    return metric.unit.replace("time", times.unit)


def shown(metric: Metric, value: float | None, times: Times) -> str:
    """The metric's value in the unit in which it is shown."""
    if value is None or value != value:
        return "–"
    if metric.sort == "share":
        return f"{value:.1%}"
    if metric.unit == "bytes":
        return size(value)
    return digits(value * times.scale if metric.unit.startswith("time") else value)


def size(num_bytes: float) -> str:
    """Bytes in the unit that leaves one to four digits."""
    for unit in ("bytes", "KiB", "MiB"):
        if abs(num_bytes) < 1024:
            return f"{digits(num_bytes)} {unit}"
        num_bytes /= 1024
    return f"{digits(num_bytes)} GiB"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int = 1) -> None:
    """A small table; its columns from ``numbers_from`` on are set to the right."""
    marks = ["---"] * numbers_from + ["--:"] * (len(header) - numbers_from)
    lines = [header, marks, *rows]
    st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def tiles(items: Iterable[tuple[str, str, str, str]]) -> None:
    """Name, value, unit and explanation of numbers, side by side."""
    cells = "".join(
        f"<div title='{escape(text, quote=True)}'><dt>{escape(name)}</dt>"
        f"<dd>{escape(value)} <span>{escape(unit)}</span></dd></div>"
        for name, value, unit, text in items)
    st.html(f"{TILES}<dl class='tiles'>{cells}</dl>")


def chart(figure: go.Figure, alt: str, key: str) -> None:
    """A figure with its alternative text."""
    st.plotly_chart(figure, key=key, alt=alt, config=CHART)
