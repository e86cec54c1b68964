"""The theatre (core/figures/theatre/) as a Streamlit component."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from core.figures.theatre import envelope, script

MARKS = """// Asks for the marks when the run is on screen, and shows them when they have come.
export default function ({ data, setStateValue }) {
  let timer = 0;
  const show = () => {
    const theatre = window.schedulerTheatre;
    if (theatre?.shown !== data.version) timer = setTimeout(show, 30);
    else if (data.invariants) theatre.tell(data);
    else timer = setTimeout(() => setStateValue('wanted', data.version), 150);
  };
  show();
  return () => clearTimeout(timer);
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
    return code, stage, st.components.v2.component("scheduler_theatre_marks", js=MARKS)


def theatre(run: bytes, *, version: str, key: str) -> None:
    """Draw the theatre; the arguments are those of ``envelope``."""
    code, stage, _ = _components()
    stage(data=envelope(run, version, key), key="theatre")
    code(key="theatre_code")


@st.fragment
def marks(version: str, make: Callable[[], dict[str, Any]]) -> None:
    """Show what ``marks_of`` or ``marks_within`` gives under the theatre.

    Only when the browser asks: they take as long as all the rest, and the picture comes first.
    """
    state = st.session_state.get("theatre_marks")
    wanted = state is not None and state.get("wanted") == version
    _components()[2](data=make() if wanted else {"version": version}, key="theatre_marks",
                     on_wanted_change=lambda: None)
