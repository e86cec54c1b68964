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
SCRIPTS = ("timeline", "explain", "grid", "chart", "transport", "panels", "details", "picture",
           "main")
"""In the order in which they are joined to one module."""

PLACE_CHART = """<style>
.st-key-stage{position:relative}
.st-key-chart_box{position:absolute;z-index:2;top:var(--chart-top,46px);left:0;
 width:calc(58% - 8px)}
.st-key-stage.narrow .st-key-chart_box{width:100%}
</style>"""


def script() -> str:
    """All of the theatre for the browser: its HTML, its CSS and its JavaScript as one script."""
    parts = [f"const THEATRE_{kind.upper()} = {json.dumps(_read(f'theatre.{kind}'))};"
             for kind in ("html", "css")]
    return "\n".join(parts + [_read(f"{name}.js") for name in SCRIPTS])


def _read(name: str) -> str:
    return (HERE / name).read_text("utf-8")


@cache
def _components() -> tuple[Any, Any]:
    """One component carries the code, and its message never changes, so it is sent once; the other
    carries the run."""
    code = st.components.v2.component("scheduler_theatre_code",
                                      js=f"{script()}\nexport default () => {{}};")
    stage = st.components.v2.component("scheduler_theatre", html="<div class='host'></div>",
                                       js=_read("mount.js"))
    return code, stage


def envelope(run: bytes, version: str, key: str) -> bytes:
    """The packed run with its label in front: a component takes one piece of bytes."""
    label = json.dumps({"version": version, "key": key}).encode()
    return struct.pack("<I", len(label)) + label + run


def theatre(run: bytes, *, version: str, key: str) -> None:
    """Draw the theatre.

    Args:
        run: What pack() made of the trace.
        version: Differs whenever the run differs.
        key: Names the scenario; with the same name the playhead keeps its step and goes on.
    """
    code, stage = _components()
    stage(data=envelope(run, version, key), key="theatre")
    code(key="theatre_code")
