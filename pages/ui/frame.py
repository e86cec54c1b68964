"""The guard around pages.

Streamlit falls back to its old multipage mode, in which app.py does not run, if the first visit
after the server's start is a deep link to a file in pages/. So every page asks first whether it
stands in the frame; if not, it sends the visitor through app.py and back.
"""

from __future__ import annotations

import gc

import streamlit as st


def inside_frame(page: str) -> None:
    """Go on only if app.py runs this page; else go through app.py, keeping the link."""
    if st.session_state.get("in_frame"):
        return
    st.session_state["wanted_page"] = page
    st.switch_page("app.py", query_params=st.query_params.to_dict())


def enter_frame() -> None:
    """Called by app.py before anything else."""
    st.session_state["in_frame"] = True


def leave_frame() -> None:
    """Called by app.py when the page has run."""
    st.session_state["in_frame"] = False
    _spare_libraries()


@st.cache_resource(show_spinner=False)
def _spare_libraries() -> None:
    """Once for each server: the garbage collector need not look through the libraries again. Each
    look took 0.1 s, in the middle of somebody's change."""
    gc.collect()
    gc.freeze()


def wanted_page() -> str | None:
    """The page that a cold deep link asked for, once."""
    page: str | None = st.session_state.pop("wanted_page", None)
    return page
