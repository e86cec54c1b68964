"""The pages of the claim and of swap or recompute: what was found, and what it depends on."""

from __future__ import annotations

import re

import pytest

from core.claim import ClaimWorkload, run_point
from core.cost.machine import Machine
from core.figures.claim_rates import Rate
from core.presets import load_presets
from pages.ui.claim_runs import verdict
from tests.pages.test_pages import open_app, shown, warm_server
from tests.pages.test_time_pages import button_group, specs

__all__ = ["warm_server"]  # an autouse fixture


def test_claim_page_says_what_was_found_beside_both_claims() -> None:
    app = open_app("claim.py")
    text = shown(app)
    rows = text.replace("**", "")
    assert re.search(r"Orca \(Max\) \| 3\.\d × \| within 3 to 5 \| within 2 to 4 \|", rows)
    assert re.search(r"Orca \(Oracle\) \| 1\.\d × \| less than 3 \| less than 2 \|", rows)
    assert "**not** true" in text
    for link in ("/?preset=26_v0_chunked_prefill", "/?preset=61_stall_against_chunks"):
        assert link in text and link.split("=")[1] in load_presets()
    curves, bars = specs(app)
    assert {trace["name"] for trace in curves["data"]} >= {"static batching", "vLLM V1"}
    assert len(bars["layout"]["shapes"]) == 2
    assert sum(len(chart["data"]) for chart in specs(app)) == 12


def test_claim_page_bars_are_multiples_of_the_chosen_system() -> None:
    app = open_app("claim.py")
    button_group(app, "claim_baseline").set_value("orca_oracle").run()
    assert specs(app)[1]["layout"]["xaxis"]["title"]["text"] == "times Orca (Oracle)"


def test_claim_page_refuses_a_machine_without_room_for_one_request() -> None:
    app = open_app("claim.py")
    app.selectbox(key="claim_gpu").set_value("T4").run()
    assert "has room for" in app.error[0].value and not app.get("plotly_chart")


@pytest.mark.parametrize(("times", "bound", "article", "paper"), [
    (3.1, "", "within 3 to 5", "within 2 to 4"), (1.5, "", "less than 3", "less than 2"),
    (15.0, "", "more than 5", "more than 4"), (2.5, "≥ ", "–", "–"), (6.0, "≥ ", "more than 5",
    "more than 4"), (1.2, "≤ ", "less than 3", "less than 2"), (None, "", "–", "–"),
])
def test_verdict_says_only_what_is_known(times: float | None, bound: str, article: str,
                                         paper: str) -> None:
    rate = Rate("vllm_v1", 1.0, times, "", bound)
    assert (verdict(rate, "article"), verdict(rate, "paper")) == (article, paper)


def test_claim_is_not_true_where_memory_is_plenty() -> None:
    """What the page says of an A100-80G with Llama-3-8B. One curve each is enough here."""
    workload = ClaimWorkload(machine=Machine(gpu="A100-80G", model="Llama-3-8B"), duration_s=20)
    paged, reserved = (run_point(workload, name, 24.0) for name in ("vllm_v1", "orca_max"))
    assert reserved.p99_s < workload.limit_s
    assert paged.request_throughput / reserved.request_throughput < 1.1


def test_swap_page_tells_the_break_even_points_and_follows_the_link() -> None:
    app = open_app("swap_or_recompute.py")
    assert "swap below 128 tokens, then recompute below 8,336 tokens" in shown(app)
    app.select_slider(key="swap_link").set_value(450).run()
    assert "450 GB/s" in shown(app) and "below 128 tokens" not in shown(app)


def test_swap_page_without_compression_has_two_ways_and_v0_says_why() -> None:
    app = open_app("swap_or_recompute.py")
    assert "| compressed swap | recompute |" in shown(app)
    app.selectbox(key="swap_codec").set_value("none").run()
    assert "|  | swap | recompute |" in shown(app)
    app.selectbox(key="swap_codec").set_value("int4").run()
    button_group(app, "swap_scheduler").set_value("vllm_v0").run()
    assert "knows no compressed swap" in shown(app)


def test_swap_page_says_that_a_run_without_room_to_swap_ends_and_compressed_does_not() -> None:
    app = open_app("swap_or_recompute.py")
    app.selectbox(key="swap_run").set_value("08_compression").run()
    told = [warning.value for warning in app.warning]
    assert len(told) == 1 and told[0].startswith("swap: the run is aborted in step")


def test_swap_page_runs_what_is_on_screen() -> None:
    app = open_app("swap_or_recompute.py", preset="02_swap_under_pressure", num_gpu_blocks="100")
    app.selectbox(key="swap_run").set_value("the run on screen").run()
    own = shown(app)
    app.selectbox(key="swap_run").set_value("02_swap_under_pressure").run()
    assert not app.exception and shown(app) != own
