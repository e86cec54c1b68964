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
| scheduler | follows | checked against |
|---|---|---|
| vLLM V0 (0.6.6) | vllm 0.6.6.post1, synchronous output processing | 158 recorded workloads, 8,805 steps: every field of every step equal, physical block ids included |
| vLLM V1 (0.33.0) | vllm 0.33.0, one token per step, full attention | 112 recorded workloads, 6,672 steps: every field of every step equal, evictions included |
| Article, as printed and repaired | the article's listing, its gaps filled by the least that makes it run | hand-computed examples, one or more for each slip |
| Static batching, Orca | their papers' descriptions | hand-computed examples and the invariants |

The recorded decisions are the real engines' own, driven without a model. `tests/golden/` holds them
together with a specification of each engine in plain words, and `python -m core replay` compares
any recording with this model.

The clock in seconds is a roofline model with two fitted parameters per GPU. Against a measured run
of 300 requests it is within a few percent where they were fitted; elsewhere expect 15 to 25 %.

**Not modelled:** several sequences per request, speculative decoding, LoRA, multi-modal input,
sliding windows, disaggregation, asynchronous scheduling, aborts by the client.

#### The schedulers here
""")
lines = ["| | file | follows | knobs |", "|---|---|---|---|"]
for name, scheduler in schedulers().items():
    lines.append(f"| **{sidebar.title(name)}** | `core/schedulers/{name}.py` |"
                 f" {scheduler.models or '–'} | {len(scheduler.knobs)} |")
st.markdown("\n".join(lines))
st.markdown("""
#### Keys
Space plays and pauses; ← and → step (with Shift ten steps); Home and End jump to the ends; n and p
jump to the next and previous preemption, swap, refusal or end; Esc lets go of a request.
""")
