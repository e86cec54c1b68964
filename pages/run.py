"""The run: Gantt chart, block grid, queues and reasons, all moved by one playhead."""

import streamlit as st

from core.figures.bands import plot_bands
from core.figures.gantt import gantt_alt
from core.figures.theatre import PLACE_CHART
from core.figures.theatre.view import View, marks_within, view_of
from core.window import window
from pages.ui import run, show, state
from pages.ui.frame import inside_frame
from pages.ui.theatre import marks, theatre

inside_frame("run")

SHOWN = 200  # requests in the theatre of a long run
WINDOW = 1_500  # steps in it, at most
CHART = {"displayModeBar": False}


def choose_window(whole: View) -> tuple[View, int]:
    """The bands of a long run, and the part of it that the theatre shows."""
    steps = whole.trace.num_steps
    length = min(WINDOW, steps)
    first, last = st.slider(
        "Steps to look at", 0, steps - 1, (0, min(length, 400) - 1), key="window_steps",
        help=f"The theatre shows at most {WINDOW:,} steps and {SHOWN} requests of a long run.")
    last = min(last, first + length - 1)
    st.plotly_chart(plot_bands(whole.trace, height=190, window=(first, last)), key="bands",
                    config={"displayModeBar": False},
                    alt=f"Requests in each state over {steps:,} steps. {gantt_alt(whole.trace)}")
    part = window(whole.trace, first, last, SHOWN)
    st.caption(f"Steps {first:,} to {first + part.num_steps - 1:,}, counted from 0 below;"
               f" {len(part.request_rows)} of {len(whole.trace.request_rows):,} requests.")
    return view_of(part, salt=f"{first} {last}"), first


st.html(PLACE_CHART)
preset = state.preset()
for note in st.session_state.pop("link_notes", []):
    st.warning(f"Left out of the link: {show.literal(note)}")

view = run.current()
if view is None:
    st.stop()
show.headline(preset, view.trace)
show.front_end(view.trace.scenario)
whole, first = None, 0
if run.is_long(view.trace):
    whole = view
    view, first = choose_window(whole)

with st.container(key="stage"):
    theatre(view.packed, version=view.version, key=preset.name)
    with st.container(key="chart_box"):
        st.plotly_chart(run.chart(view), key="gantt", on_select="ignore", theme=None,
                        alt=gantt_alt(view.trace), config=CHART)
marks(view.version, lambda: run.marks(view) if whole is None
      else marks_within(run.marks(whole), view, first))
