"""Every preset loads, runs, and keeps what it claims."""

from __future__ import annotations

import pytest

from core import simulate
from core.presets import Preset, broken_claims, load_presets, queues_after
from core.runnable import check

PRESETS = load_presets()


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda p: p.name)
def test_preset_run_keeps_its_claims(preset: Preset) -> None:
    assert preset.expect, "a preset claims something that can be checked"
    assert broken_claims(simulate(preset.scenario), preset.expect) == []


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda p: p.name)
def test_preset_texts_are_there(preset: Preset) -> None:
    assert preset.title and preset.lesson.endswith(".") and preset.look_for.endswith(".")
    assert preset.group


@pytest.mark.parametrize("preset", [p for p in PRESETS.values() if p.versus], ids=lambda p: p.name)
def test_preset_counterpart_has_the_same_requests_and_valid_knobs(preset: Preset) -> None:
    other = preset.other()
    assert other is not None and other.requests == preset.scenario.requests
    check(other)


def test_presets_names_differ_and_cover_the_lessons() -> None:
    names = [p.scenario.name for p in PRESETS.values()]
    assert len(set(names)) == len(names)
    schedulers = {p.scenario.scheduler for p in PRESETS.values()}
    assert {"article", "article_repaired", "vllm_v0", "vllm_v1"} <= schedulers


def test_article_demo_first_cycle_is_the_articles_output() -> None:
    """Section 4: Running: [1, 2], Waiting: [3], Swapped: []; then a request moves to swapped."""
    trace = simulate(PRESETS["01_article_demo"].scenario)
    for step in (0, 5):
        queues = queues_after(trace, step)
        assert (queues["running"], queues["waiting"], queues["swapped"]) == (["1", "2"], ["3"], [])
    assert queues_after(trace, 6)["swapped"] == ["2"]


def test_broken_claims_wrong_claim_is_told() -> None:
    trace = simulate(PRESETS["01_article_demo"].scenario)
    wrong = {"num_swaps": ">= 99", "outcome": "stuck", "limits": {"has": "watermark"},
             "after_step_0": {"running": ["3"]}}
    assert len(broken_claims(trace, wrong)) == 4
