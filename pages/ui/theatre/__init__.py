"""The theatre: the animated picture of a run, as one Streamlit component in plain JavaScript.

The Gantt chart is Streamlit's own Plotly chart, which lies over the component's empty slot; the
component draws the playhead on it. Everything follows the playhead in the browser; the server is
asked only when the run itself changes.
"""

from __future__ import annotations

import json
import struct
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

HERE = Path(__file__).parent
SCRIPTS = ("timeline", "explain", "grid", "chart", "transport", "panels", "details", "main")
"""In the order in which they are joined to one module."""

PLACE_CHART = """<style>
.st-key-stage{position:relative}
.st-key-chart_box{position:absolute;z-index:2;top:46px;left:0;width:calc(58% - 8px)}
.st-key-stage.narrow .st-key-chart_box{width:100%;top:86px}
</style>"""


def script() -> str:
    """The component's JavaScript, one ES module."""
    return "\n".join((HERE / f"{name}.js").read_text("utf-8") for name in SCRIPTS)


@cache
def _component() -> Any:
    return st.components.v2.component(
        "scheduler_theatre",
        html=(HERE / "theatre.html").read_text("utf-8"),
        css=(HERE / "theatre.css").read_text("utf-8"),
        js=script(),
    )


def theatre(run: bytes, *, version: str, key: str) -> None:
    """Draw the theatre.

    Args:
        run: What pack() made of the trace.
        version: Differs whenever the run differs.
        key: Names the scenario; with the same name the playhead keeps its step and goes on.
    """
    label = json.dumps({"version": version, "key": key}).encode()
    _component()(data=struct.pack("<I", len(label)) + label + run, key="theatre")
