"""The theatre (core/figures/theatre/) as a Streamlit component."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from core.figures.theatre import envelope, script


@cache
def _components() -> tuple[Any, Any]:
    """One component carries the code, and its message never changes, so it is sent once; the other
    carries the run."""
    code = st.components.v2.component("scheduler_theatre_code",
                                      js=f"{script()}\nexport default () => {{}};")
    mount = Path(__file__).with_name("theatre_mount.js").read_text("utf-8")
    stage = st.components.v2.component("scheduler_theatre", html="<div class='host'></div>",
                                       js=mount)
    return code, stage


def theatre(run: bytes, *, version: str, key: str) -> None:
    """Draw the theatre; the arguments are those of ``envelope``."""
    code, stage = _components()
    stage(data=envelope(run, version, key), key="theatre")
    code(key="theatre_code")
