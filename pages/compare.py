"""The same requests under two schedulers, one above the other on one time axis."""

import pandas as pd
import streamlit as st

from core import compare
from core.figures.gantt import gantt_alt, plot_gantt
from pages.ui import run, show, state
from pages.ui.frame import inside_frame
from pages.ui.sidebar import title

inside_frame("compare")

first = run.current()
if first is None:
    st.stop()
if run.is_long(first.trace):
    st.info(f"Two runs are compared row by row, so with at most {run.LONG} requests. Take a slice"
            " on the page Requests.")
    st.stop()
preset = state.preset()
st.markdown(f"#### The same requests under two schedulers\n{show.literal(preset.title)}:"
            f" {preset.lesson} "
            "Above the run of the sidebar, below the other one.")
choice = st.selectbox("Compare with", run.rivals(preset), key=f"compare_{preset.name}",
                      format_func=run.rival_title)
second = run.rival(preset, choice)
if second is None:
    st.stop()

steps = max(first.trace.num_steps, second.trace.num_steps)
step = compare.first_divergence(first.trace, second.trace)
if step is None:
    st.info("The two runs give the same tokens to the same requests in every step.")
else:
    st.markdown(f"They decide alike up to step {step - 1}; the first difference is in step "
                f"**{step}**." if step else "They decide differently from the first step on.")

charts, table = st.columns([2.4, 1], gap="medium")
with charts:
    for view in (first, second):
        st.markdown(f"**{title(view.trace.scenario.scheduler)}**")
        st.plotly_chart(plot_gantt(view.trace, height=270, steps=steps),
                        key=f"gantt_{view is first}", alt=gantt_alt(view.trace),
                        config={"displayModeBar": False})
with table:
    one, two = "above", "below"
    frame = pd.DataFrame([(r.name, r.first, r.second, r.difference)
                          for r in compare.rows(first.trace, second.trace)],
                         columns=["", one, two, "difference"])
    st.dataframe(frame, hide_index=True, height="content")
    with st.expander("When each request ends"):
        st.dataframe(pd.DataFrame(compare.finishes(first.trace, second.trace),
                                  columns=["request", one, two]), hide_index=True)
