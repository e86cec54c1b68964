"""What this is, and how far to trust it."""

import streamlit as st

from core.schedulers import schedulers
from pages.ui import sidebar
from pages.ui.frame import inside_frame

inside_frame("about")

st.markdown("""#### What this is
A model of the schedulers of vLLM, the LLM serving engine, made to be looked at. A run is computed
first, as a record of every decision with its reason; then a playhead moves over it, forwards as
easily as backwards. The same scenario gives the same run for ever.

#### How far to trust it
The recorded decisions are the real engines' own, driven without a model. `tests/golden/` holds
them with a specification of each engine in plain words, and `python -m core replay` compares any
recording with this model.

The clock in seconds is a roofline model with two fitted parameters per GPU. Against a measured run
of 300 requests it is within a few percent where they were fitted; elsewhere expect 15 to 25 %.

**Not modelled:** several sequences per request, speculative decoding, LoRA, multi-modal input,
sliding windows, disaggregation, asynchronous scheduling, aborts by the client.

#### The schedulers here
""")
lines = ["| | follows | checked against | file |", "|---|---|---|---|"]
for name, scheduler in schedulers().items():
    lines.append(f"| **{sidebar.title(name)}** | {scheduler.models} | {scheduler.evidence} |"
                 f" `core/schedulers/{name}.py` |")
st.markdown("\n".join(lines))
st.markdown("""
#### Keys
Space plays and pauses; ← and → step (with Shift ten steps); Home and End jump to the ends; n and p
jump to the next and previous preemption, swap, refusal or end; Esc lets go of a request.
""")
