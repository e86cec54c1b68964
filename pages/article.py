"""The article and the real engine: what V0 does differently, each with a run that shows it."""

import streamlit as st

from pages.ui.frame import inside_frame

inside_frame("article")

ROWS = (
    ("Step", "Swapped, then waiting, then every running request, all in one cycle.",
     "A step computes prompts or next tokens, never both: a prompt makes all decodes pause.",
     "25_v0_prefill_stall"),
    ("Default on shortage", "SWAP.", "Recompute. Swapping has to be asked for.",
     "20_v0_recompute_by_default"),
    ("Victim", "Whoever finds no room, from the front on.", "The last of the running queue.",
     "21_v0_swap"),
    ("What a decode wants", "A free block only if its last block is full.",
     "One free block in every step, so a lone request that holds all blocks throws itself out.",
     "23_v0_outgrows_the_cache"),
    ("Order of the swapped", "As they were thrown out, front to back.",
     "As they were thrown out, youngest first.", "30_v0_order_of_the_swapped"),
    ("No room in swap space", "Not thought of in the listing (here: the run aborts).",
     "The whole engine ends. At a block edge it even asks for one block too many.",
     "22_v0_engine_dies"),
    ("Restored requests", "Charged one sequence for each of their tokens.",
     "Charged one sequence.", "09_slip_never_returns"),
    ("Running requests", "Held against a budget that counts the newly admitted.",
     "Counted as sequences before anybody is let in.", "10_slip_everybody_out"),
    ("Recomputed requests", "Charged their prompt only.",
     "Charged prompt and generated tokens, for both are computed again.",
     "11_slip_charged_its_prompt"),
    ("A prompt too long", "Longer than 2,048 tokens: ignored.",
     "Longer than the smaller of max_model_len and the token budget: ignored, when it is at the"
     " head.", "24_v0_ignored"),
    ("Priority", "A number on the request; nothing is said of preemption.",
     "Pushes running requests out, a step late; with swap it kills the engine.",
     "27_v0_priority"),
    ("After 2024", "–", "V1: one budget, running first, no phases, no swap.",
     "61_stall_against_chunks"),
)

st.markdown("""#### The article and the real engine
The article's listing is a fair sketch of vLLM's classic scheduler. Run as printed it has seven
slips (see the two files `core/schedulers/article.py` and `article_repaired.py`), and the real V0
decides differently in the following points. Each link opens a run that shows it.""")
lines = ["| | the article, as printed | vLLM 0.6.6 (V0) | |", "|---|---|---|---|"]
lines += [f"| **{what}** | {article} | {engine} | [open](/?preset={preset}) |"
          for what, article, engine, preset in ROWS]
st.markdown("\n".join(lines))
