"""How much more is served at the same latency? The claim of 3 to 5 times, looked at live."""

from dataclasses import replace

import streamlit as st

from core.claim import COMPARED, Claim, ClaimWorkload
from core.faults import ScenarioError
from core.figures.claim_curves import claim_curves, claim_curves_alt, plot_claim_curves
from core.figures.claim_rates import claim_rate, claim_rates_alt, plot_claim_rates
from core.figures.parts import digits
from core.figures.theme import scheduler_name
from core.memory import num_gpu_blocks
from pages.ui import claim_runs, length_cases, numbers, show
from pages.ui.frame import inside_frame
from pages.ui.machine_form import machine_form

inside_frame("claim")
BASELINES = COMPARED[:-2]
OURS = "vllm_v1"


def choose() -> ClaimWorkload | None:
    """The workload, from the controls; None, with a message, if there can be none."""
    columns = st.columns([1.25, 1.1, 1.1, 0.9, 1, 0.7])
    case = columns[0].selectbox("Lengths", list(length_cases.CASES), key="claim_case",
                                format_func=length_cases.title, persist_state="session")
    limit = columns[4].select_slider(
        "Limit, ms/token", [50, 75, 100, 150, 200, 300, 500, 1000], 200, key="claim_limit",
        persist_state="session",
        help="The highest p99 of the normalised latency: from arrival to last token, per token.")
    seed = columns[5].number_input("Seed", 1, 9_999, 1, key="claim_seed",
                                   persist_state="session")
    try:
        machine = machine_form("claim", columns[1:4], ClaimWorkload().machine)
    except ScenarioError as error:
        show.faults("This machine cannot be", error)
        return None
    lengths = length_cases.CASES[case]
    workload = ClaimWorkload(machine=machine, prompt=lengths.prompt, output=lengths.output,
                             seed=int(seed), limit_s=limit / 1000)
    room = num_gpu_blocks(machine, workload.block_size).num_gpu_blocks * workload.block_size
    if room < workload.max_model_len:
        st.error(f"{machine.model} on {machine.tensor_parallel} × {machine.gpu} has room for"
                 f" {room:,} tokens, and one request may have {workload.max_model_len:,}.")
        return None
    return workload


def compute(workload: ClaimWorkload) -> tuple[Claim, float]:
    """Look, with a bar that says whose turn it is. Gives for how long requests come, too."""
    place = st.empty()
    bar = place.progress(0.0, "How long do requests come?")
    seconds = claim_runs.duration_s(workload)
    found = claim_runs.look(
        replace(workload, duration_s=seconds), lambda done, name: bar.progress(
            done, f"{scheduler_name(name)} at one rate after another ..."))
    place.empty()
    return found, seconds


def finding(claim: Claim) -> None:
    """What was found, next to what is claimed."""
    rows = []
    for name in BASELINES:
        rate = claim_rate(claim, OURS, name)
        rows.append((scheduler_name(name), f"**{rate.times_text()}**",
                     claim_runs.verdict(rate, "article"), claim_runs.verdict(rate, "paper")))
    numbers.table(("V1 against", "found here", "article: 3–5", "paper: 2–4"), rows)


VERDICT = (
    "**So is it true?** Against systems that keep room for the longest sequence, yes, where memory"
    " is short and lengths differ much. Against exact reservations it is about 1.5 times. It is"
    " **not** true where all requests are near the longest (choose *all near the longest*: about"
    " 1.2), nor where memory is plenty (A100-80G with Llama-3-8B: hardly any gain).")
LINKS = (
    "The article names no system that it compares with; the paper compares with FasterTransformer"
    " and Orca. Static batching lets seats stand empty besides, and so few requests come at the"
    " rate that it serves that its multiple moves with the seed. Chunked prefill, as in SARATHI,"
    " is what V1 does by default and V0 on request: see [V0 with chunked"
    " prefill](/?preset=26_v0_chunked_prefill) and [a stall against"
    " chunks](/?preset=61_stall_against_chunks).")

st.markdown("#### 3 to 5 times the throughput?\nThe same requests for six schedulers at rising"
            " arrival rates: see where each curve crosses the limit. Independent of the sidebar.")
if (workload := choose()) is None:
    st.stop()
claim, seconds = compute(workload)
left, right = st.columns(2, gap="medium")
with left:
    numbers.chart(plot_claim_curves(claim), claim_curves_alt(claim), "claim_curves")
with right:
    baseline = st.session_state.get("claim_baseline") or "orca_max"
    numbers.chart(plot_claim_rates(claim, baseline), claim_rates_alt(claim, baseline),
                  "claim_rates")
left, right = st.columns(2, gap="medium")
with left:
    finding(claim)
with right:
    st.segmented_control("The bars as multiples of", BASELINES, default="orca_max", required=True,
                         key="claim_baseline", format_func=scheduler_name,
                         persist_state="session")
    st.markdown(VERDICT)
st.markdown(LINKS)
st.caption(f"Requests come for {seconds:g} s at every rate, at random (Poisson) times; a rate that"
           " was met wherever it was looked at is marked ≥.")
with st.expander("The curves as a table"):
    st.dataframe([{"scheduler": scheduler_name(name), "arrival rate, requests/s": digits(p.rate),
                   "p99, ms/token": digits(1000 * p.p99_s),
                   "mean, ms/token": digits(1000 * p.mean_s),
                   "served, requests/s": digits(p.request_throughput),
                   "output tokens/s": digits(p.output_throughput),
                   "preemptions": p.num_preemptions}
                  for name, curve in claim_curves(claim.points).items() for p in curve],
                 hide_index=True)
