"""The theatre: the animated picture of a run, in plain JavaScript, packed by pure functions.

The Gantt chart is a Plotly chart that lies over an empty slot of the theatre, which draws the
playhead on it. Everything follows the playhead in the browser; a server is asked only when the
run itself changes. pages/ui/theatre.py mounts it in Streamlit, standalone.py makes a page of it
that needs no server.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = ("timeline", "run", "explain", "grid", "chart", "transport", "panels", "why",
           "details", "picture", "main")
"""In the order in which they are joined to one script."""

PLACE_CHART = """<style>
.st-key-stage{position:relative}
.st-key-chart_box{position:absolute;top:var(--chart-top,46px);left:0;
 width:calc(58% - 8px);width:round(down,calc(58% - 8px),1px)}
.st-key-stage.narrow .st-key-chart_box{width:100%}
.st-key-chart_box .main-svg:has(.hoverlayer){z-index:6}
.st-key-chart_box :is(.xtick,.ytick,.legend) text{fill:currentColor!important}
</style>"""
"""Lays the chart, in an element of class ``st-key-chart_box``, over the theatre's slot for it.
Both stand in an element of class ``st-key-stage``. Its width is in whole pixels: else Plotly and
Streamlit differ in a fraction of one, and the chart is drawn twice."""


def script() -> str:
    """All of the theatre for the browser: its HTML, its CSS and its JavaScript as one script."""
    parts = [f"const THEATRE_{kind.upper()} = {json.dumps(_read(f'theatre.{kind}'))};"
             for kind in ("html", "css")]
    return "\n".join(parts + [_read(f"{name}.js") for name in SCRIPTS])


def envelope(run: bytes, version: str, key: str) -> bytes:
    """The packed run with its label in front.

    Args:
        run: What pack() made of the trace.
        version: Differs whenever the run differs.
        key: Names the scenario; with the same name the playhead keeps its step and goes on.
    """
    label = json.dumps({"version": version, "key": key}).encode()
    return struct.pack("<I", len(label)) + label + run


def _read(name: str) -> str:
    return (HERE / name).read_text("utf-8")
