"""The frame of the dashboard: page config, navigation, the shared sidebar. Then the page runs."""

import streamlit as st

from pages.ui import frame, link, show, sidebar

st.set_page_config(page_title="vLLM scheduler theatre", page_icon="pages/ui/icon.png",
                   layout="wide")
frame.enter_frame()
PAGES = {
    "run": st.Page("pages/run.py", title="The run", icon=":material/play_circle:", default=True),
    "requests": st.Page("pages/requests.py", title="Requests", icon=":material/upload_file:"),
    "compare": st.Page("pages/compare.py", title="Compare", icon=":material/compare_arrows:"),
    "article": st.Page("pages/article.py", title="Article and engine",
                       icon=":material/menu_book:"),
    "tables": st.Page("pages/tables.py", title="Tables and downloads", icon=":material/table:"),
    "about": st.Page("pages/about.py", title="About", icon=":material/info:"),
}
TIME_AND_MEMORY = {
    "metrics": st.Page("pages/metrics.py", title="Metrics of the run", icon=":material/timer:"),
    "memory": st.Page("pages/memory.py", title="Memory", icon=":material/memory:"),
    "claim": st.Page("pages/claim.py", title="3 to 5 times?", icon=":material/speed:"),
    "swap_or_recompute": st.Page("pages/swap_or_recompute.py", title="Swap or recompute?",
                                 icon=":material/swap_horiz:"),
    "measured": st.Page("pages/measured.py", title="Measured", icon=":material/straighten:"),
}
page = st.navigation({"": list(PAGES.values()), "Time and memory": list(TIME_AND_MEMORY.values())},
                     position="top")
PAGES |= TIME_AND_MEMORY
if (wanted := frame.wanted_page()) in PAGES:
    st.switch_page(PAGES[wanted], query_params=st.query_params.to_dict())
st.html(show.STYLE)
link.start()
sidebar.show()
link.write_url()
try:
    page.run()
finally:
    frame.leave_frame()
