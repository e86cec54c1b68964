"""The record of the run as tables, and everything that can be taken away."""

import streamlit as st

from core.export.columns import COLUMNS, TABLES
from core.export.csv import table_csv
from core.export.names import file_name
from core.export.vllm_command import vllm_command
from core.export.vllm_flags import VERSIONS
from pages.ui import run, take_away
from pages.ui.frame import inside_frame

inside_frame("tables")
view = run.current()
if view is None:
    st.stop()

trace = view.trace
st.markdown("#### The record of this run\nFour tables carry everything; the pictures, sentences"
            " and numbers of the other pages are derived from them.")
table = st.segmented_control("Table", list(TABLES), default="requests", required=True,
                             key="tables_choice", label_visibility="collapsed")
frame = getattr(trace, table)
st.caption(f"{len(frame):,} rows. {TABLES[table]}")
st.dataframe(frame, hide_index=True, height="content" if len(frame) < 9 else 330,
             column_config={c: st.column_config.Column(help=COLUMNS[c]) for c in frame.columns})
st.download_button(f"{table}.csv", data=lambda: table_csv(trace, table), mime="text/csv",
                   file_name=file_name(trace.scenario, f"_{table}.csv"), on_click="ignore",
                   icon=":material/download:")
with st.expander("What the columns mean"):
    st.markdown("\n".join(f"- `{c}`: {COLUMNS[c]}" for c in frame.columns))

st.markdown("#### Take it away")
take_away.files(view)
take_away.link()
st.markdown("#### As a server's command line")
version = st.segmented_control("vLLM", list(VERSIONS), default=list(VERSIONS)[-1], required=True,
                               key="tables_version")
st.code(vllm_command(trace.scenario, version).text, language="bash", wrap_lines=True)
