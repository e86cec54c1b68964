"""What this is, and how far to trust it."""

import streamlit as st

from pages.ui.frame import inside_frame

inside_frame("about")
st.markdown("A deterministic model of vLLM's schedulers.")
