"""The run: Gantt chart, block grid, queues and reasons, all moved by one playhead."""

import streamlit as st

from pages.ui import run, show, state
from pages.ui.frame import inside_frame
from pages.ui.theatre import PLACE_CHART, theatre

inside_frame("run")

st.html(PLACE_CHART)
preset = state.preset()
for note in st.session_state.pop("link_notes", []):
    st.warning(f"Left out of the link: {note}")

view = run.current()
if view is None:
    st.stop()
show.headline(preset, view.trace)
with st.container(key="stage"):
    theatre(view.packed, version=view.version, key=preset.name)
    with st.container(key="chart_box"):
        st.plotly_chart(view.chart, key="gantt", on_select="ignore", alt=view.chart_alt,
                        config={"displayModeBar": "hover", "displaylogo": False,
                                "modeBarButtonsToRemove": ["autoScale2d", "select2d", "lasso2d"]})
