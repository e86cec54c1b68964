"""The record of the run as tables, and as files to take away."""

import streamlit as st

from core.export.columns import COLUMNS, TABLES
from core.export.csv import table_csv, tables_zip
from core.export.names import file_name
from pages.ui import run
from pages.ui.frame import inside_frame

inside_frame("tables")
view = run.current()
if view is None:
    st.stop()

trace = view.trace
st.markdown("#### The record of this run\nFour tables carry everything; the pictures, sentences"
            " and numbers of the other pages are derived from them.")
left, right = st.columns([3, 1], vertical_alignment="bottom")
with left:
    table = st.segmented_control("Table", list(TABLES), default="requests",
                                 required=True, key="tables_choice")
with right:
    st.download_button("All as one zip", data=lambda: tables_zip(trace), mime="application/zip",
                       file_name=file_name(trace.scenario, ".zip"), on_click="ignore",
                       width="stretch")
frame = getattr(trace, table)
st.caption(f"{len(frame):,} rows. {TABLES[table]}")
st.dataframe(frame, hide_index=True, height="content" if len(frame) < 12 else 420,
             column_config={c: st.column_config.Column(help=COLUMNS[c])
                            for c in frame.columns})
st.download_button(f"{table}.csv", data=lambda: table_csv(trace, table), mime="text/csv",
                   file_name=file_name(trace.scenario, f"_{table}.csv"), on_click="ignore")
with st.expander("What the columns mean"):
    st.markdown("\n".join(f"- `{c}`: {COLUMNS[c]}" for c in frame.columns))
