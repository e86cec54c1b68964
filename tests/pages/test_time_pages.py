"""The pages of metrics and memory: what they say is what the core computes, and moves with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import simulate
from core.memory_contrast import PAGING_WASTE
from core.metrics import Objectives, metrics
from core.presets import load_presets
from core.workloads import Lengths
from pages.ui import memory_runs
from tests.pages.test_pages import open_app, shown, warm_server

__all__ = ["warm_server"]  # an autouse fixture

PAGES = ("metrics", "memory", "claim", "swap_or_recompute", "measured")
SECONDS = "81_seconds_a100_swap"
CHAT = memory_runs.Contents(Lengths(typical=80, spread=1.25, high=1024),
                            Lengths(typical=250, spread=0.85, high=1024), 2048, 16, 1)


def specs(app: AppTest) -> list[dict[str, Any]]:
    """The charts on the page."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def button_group(app: AppTest, key: str) -> Any:
    """A segmented control."""
    return next(element for element in app.get("button_group") if element.key == key)


@pytest.mark.parametrize("page", PAGES)
def test_page_has_a_title_few_charts_each_with_words_and_its_data_in_an_expander(
        page: str) -> None:
    app = open_app(f"{page}.py", preset=SECONDS)
    assert not app.exception and not app.error
    assert app.markdown[0].value.startswith("#### ")
    charts = app.get("plotly_chart")
    assert 1 <= len(charts) <= 4
    assert all(len(chart.proto.alt) > 40 for chart in charts)
    labels = [expander.label for expander in app.expander]
    assert any("table" in label for label in labels), labels


def test_metrics_page_counts_steps_with_the_clock_in_steps_and_says_so() -> None:
    app = open_app("metrics.py", preset="01_article_demo")
    trace = simulate(load_presets()["01_article_demo"].scenario)
    mean = metrics(trace).summary.loc["ttft_s", "mean"]
    assert f"| **TTFT** | {mean:.3g} |" in shown(app)
    assert "counts **steps**" in shown(app) and " ms" not in shown(app).split("#### ")[1]
    assert specs(app)[0]["layout"]["xaxis"]["title"]["text"] == "TTFT, steps"


def test_metrics_page_shows_milliseconds_with_the_clock_in_seconds_and_names_the_machine() -> None:
    app = open_app("metrics.py", preset=SECONDS)
    trace = simulate(load_presets()[SECONDS].scenario)
    mean = metrics(trace).summary.loc["e2el_s", "mean"]
    assert f"| **E2EL** | {1000 * mean:,.0f} |" in shown(app)
    assert "milliseconds on 1 × A100-80G with Llama-2-7B" in shown(app)


def test_metrics_page_objective_in_milliseconds_lowers_the_goodput() -> None:
    app = open_app("metrics.py", preset=SECONDS)
    before = shown(app)
    app.number_input(key="metrics_TTFT_ms").set_value(500.0).run()
    trace = simulate(load_presets()[SECONDS].scenario)
    goodput = metrics(trace, Objectives(ttft_s=0.5)).totals["request_goodput"]
    assert goodput is not None
    assert f"<dd>{goodput:.3g} <span>requests/s" in shown(app)
    assert f"<dd>{goodput:.3g} <span>requests/s" not in before
    assert specs(app)[0]["layout"]["shapes"][0]["x0"] == 500


def test_metrics_page_draws_the_distribution_that_is_chosen() -> None:
    app = open_app("metrics.py", preset=SECONDS)
    app.selectbox(key="metrics_choice").set_value("itl_s").run()
    button_group(app, "metrics_kind").set_value("bars").run()
    chart = specs(app)[0]
    assert chart["data"][0]["type"] == "bar"
    assert chart["layout"]["xaxis"]["title"]["text"] == "ITL, ms"


def test_metrics_page_defines_instants_before_durations() -> None:
    text = shown(open_app("metrics.py"))
    assert 0 < text.index("**Instants**") < text.index("**Durations**")
    assert "first token - arrival" in text


def sum_of_memory() -> AppTest:
    """The memory page's sum."""
    app = open_app("memory.py")
    return button_group(app, "memory_part").set_value("How many blocks there are").run()


def test_memory_page_sums_to_the_blocks_of_a_measured_server_and_sets_the_sidebar() -> None:
    app = sum_of_memory()
    assert "**2,588 GPU blocks**" in shown(app) and "**2,048 CPU blocks**" in shown(app)
    next(b for b in app.button if b.label == "Use them for the run").click().run()
    assert app.session_state["knob_num_gpu_blocks"] == 2588
    assert app.session_state["knob_num_cpu_blocks"] == 2048
    assert app.session_state["knob_block_size"] == 16
    assert not app.exception


def test_memory_page_says_what_is_missing_where_the_model_does_not_fit() -> None:
    app = sum_of_memory()
    app.selectbox(key="memory_model").set_value("Llama-2-13B").run()
    assert "does not fit" in app.error[0].value and "GiB are missing" in app.error[0].value
    app.selectbox(key="memory_parallel").set_value(2).run()
    assert not app.error


def test_memory_page_refuses_gpus_that_cannot_share_the_heads() -> None:
    app = sum_of_memory()
    app.selectbox(key="memory_model").set_value("Qwen2.5-7B").run()
    app.selectbox(key="memory_parallel").set_value(8).run()
    assert "attention heads" in app.error[0].value and not app.exception


def test_memory_page_moves_with_the_distribution_of_lengths() -> None:
    app = open_app("memory.py")
    before = shown(app), specs(app)
    used = memory_runs.held_by_each(CHAT)["orca_max"].contrast.shares["used"]
    assert f"| Orca (Max) | {used:.1%} |" in before[0]
    app.selectbox(key="memory_case").set_value("full").run()
    assert app.slider(key="memory_output").value == 1000
    assert specs(app) != before[1] and shown(app) != before[0]
    app.slider(key="memory_output").set_value(500).run()
    assert not app.exception and shown(app) != before[0]


def waste(**changes: Any) -> dict[str, float]:
    held = memory_runs.held_by_each(CHAT._replace(**changes))
    return {name: each.contrast.waste for name, each in held.items()}


def test_paging_wastes_less_than_the_paper_says_and_older_systems_most() -> None:
    found = waste()
    assert found["vllm_v0"] < PAGING_WASTE and found["vllm_v1"] < PAGING_WASTE
    order = ("static_batching", "orca_max", "orca_pow2", "orca_oracle")
    assert sorted(order, key=lambda name: -found[name]) == list(order)
    assert found["orca_oracle"] > 5 * PAGING_WASTE


def test_paging_with_large_blocks_wastes_more_than_the_paper_says() -> None:
    assert waste(block_size=256)["vllm_v1"] > 2 * PAGING_WASTE


def test_memory_of_requests_near_the_longest_is_well_used_by_older_systems_too() -> None:
    full = waste(prompt=Lengths(typical=900, spread=0.05, high=1024),
                 output=Lengths(typical=1000, spread=0.05, high=1024))
    assert full["orca_max"] < 0.5 * waste()["orca_max"]


def test_choices_on_a_page_survive_a_visit_to_another() -> None:
    app = open_app("swap_or_recompute.py")
    app.selectbox(key="swap_gpu").set_value("H100").run()
    app.switch_page("pages/metrics.py").run()
    app.switch_page("pages/swap_or_recompute.py").run()
    assert app.selectbox(key="swap_gpu").value == "H100"
