"""The theatre (core/figures/theatre/) as a Streamlit component."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from core.figures.theatre import envelope, script

TELL = """export default function ({ data }) {
  const tell = () => {
    if (window.schedulerTheatre) window.schedulerTheatre.tell(data);
    else setTimeout(tell, 15);
  };
  tell();
}"""


@cache
def _components() -> tuple[Any, Any, Any]:
    """One component carries the code, and its message never changes, so it is sent once; one
    carries the run, and one what is found out about it."""
    code = st.components.v2.component("scheduler_theatre_code",
                                      js=f"{script()}\nexport default () => {{}};")
    mount = Path(__file__).with_name("theatre_mount.js").read_text("utf-8")
    stage = st.components.v2.component("scheduler_theatre", html="<div class='host'></div>",
                                       js=mount)
    return code, stage, st.components.v2.component("scheduler_theatre_marks", js=TELL)


def theatre(run: bytes, *, version: str, key: str) -> None:
    """Draw the theatre; the arguments are those of ``envelope``."""
    code, stage, _ = _components()
    stage(data=envelope(run, version, key), key="theatre")
    code(key="theatre_code")


def tell(marks: dict[str, Any]) -> None:
    """Show the marks under the theatre; see ``marks_of``."""
    _components()[2](data=marks, key="theatre_marks")
