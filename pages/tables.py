"""The record of the run as tables, and as files to take away."""

import streamlit as st

from pages.ui import run
from pages.ui.frame import inside_frame

inside_frame("tables")
view = run.current()
if view is None:
    st.stop()
st.write(view.trace.requests)
