"""What follows the playhead: queues, budgets, reasons, the code, one request, phenomena."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from core import simulate
from core.figures.theatre.standalone import standalone_html
from core.figures.theatre.view import view_of
from core.presets import load_presets
from tests.pages.browser import chromium, wait_for_run

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium is installed here")


def show(page: Any, address: str, preset: str, step: int) -> None:
    page.goto(f"{address}/?preset={preset}")
    wait_for_run(page)
    page.locator(".scrub input").fill(str(step))


def chips(page: Any, lane: str) -> list[str]:
    """The chips of a lane from left to right."""
    box = page.locator(f".lane[data-lane={lane}]").bounding_box()
    found = []
    for chip in page.locator(".chip").all():
        place = chip.bounding_box()
        if box["y"] <= place["y"] + place["height"] / 2 <= box["y"] + box["height"]:
            found.append((place["y"], place["x"], chip.locator(".name").inner_text()))
    return [name for _, _, name in sorted(found)]


def test_theatre_queues_stand_as_the_scheduler_left_them(page: Any, address: str) -> None:
    show(page, address, "01_article_demo", 6)
    page.wait_for_timeout(350)  # the chips move
    assert (chips(page, "waiting"), chips(page, "running"), chips(page, "swapped")) == (
        ["3"], ["1"], ["2"])
    page.locator(".stage").press("ArrowLeft")
    page.wait_for_timeout(350)
    assert (chips(page, "running"), chips(page, "swapped")) == (["1", "2"], [])


@pytest.mark.parametrize("width", [700, 1024, 1280])
def test_theatre_legend_of_the_chart_lies_above_the_bars(
        page: Any, address: str, width: int) -> None:
    """Five states: waiting, waiting again, prefill, decode, swapped."""
    page.set_viewport_size({"width": width, "height": 768})
    show(page, address, "02_swap_under_pressure", 0)
    chart = page.locator(".st-key-chart_box")
    chart.locator(".legend .traces").nth(4).wait_for()
    legend, bar = (chart.locator(part).first.bounding_box() for part in (".legend", ".bars path"))
    assert legend["y"] + legend["height"] <= bar["y"] + 2


def test_theatre_chip_tells_its_tokens_where_there_is_room(page: Any, address: str) -> None:
    """On a projector the 40 requests have low chips, which tell them when they are pointed at."""
    page.set_viewport_size({"width": 1280, "height": 720})
    show(page, address, "21_v0_swap", 12)
    chip = page.locator(".chip", has=page.get_by_text("r3", exact=True))
    assert chip.locator(".count").inner_text() == "5/30"
    assert chip.get_attribute("title").startswith("r3: 5 of 30 tokens made.")
    show(page, address, "02_swap_under_pressure", 166)
    chip = page.locator(".chip", has=page.get_by_text("r12", exact=True))
    assert not chip.locator(".count").is_visible()
    assert re.match(r"r12: \d+ of \d+ tokens made\.", chip.get_attribute("title"))


def test_theatre_budget_that_said_no_is_marked(page: Any, address: str) -> None:
    show(page, address, "05_sequence_budget_binds", 1)
    assert "said no" in page.locator("[data-budget=seqs]").inner_text()
    assert "said no" not in page.locator("[data-budget=gpu]").inner_text()
    assert "3 of 3" in page.locator("[data-budget=seqs]").inner_text()


def test_theatre_budget_of_v1s_own_knob_is_the_one_that_is_shown(page: Any, address: str) -> None:
    page.goto(f"{address}/?preset=41_v1_head_of_line&max_num_active_seqs=3")
    wait_for_run(page)
    page.locator(".scrub input").fill("40")
    assert page.locator("[data-budget=seqs] .value").inner_text() == "3 of 3 · said no"


@pytest.mark.parametrize(("preset", "step", "folded"), [
    ("46_v1_saturation", 165, "r13, r14, r15 are let in."),
    ("80_seconds_rtx_4090", 167, "r13, r14, r15, r16, r17, r18, r19, r20, r21, r22 are let in."),
    ("10_slip_everybody_out", 49, "r0, r1, r2, r3 are swapped out.")])
def test_theatre_step_with_more_sentences_than_fit_is_folded(
        page: Any, address: str, preset: str, step: int, folded: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    show(page, address, preset, step)
    why = page.locator(".why")
    assert why.evaluate("(e) => e.scrollHeight <= e.clientHeight")
    group = why.locator("details", has_text=folded)
    assert not group.locator("li").first.is_visible()
    group.locator("summary").click(position={"x": 3, "y": 8})
    sentence = group.locator("li", has_text=folded.split(",")[0] + " ")
    assert sentence.is_visible() and sentence.get_attribute("data-line")


def test_theatre_no_step_of_a_pressured_run_needs_scrolling(page: Any, address: str) -> None:
    """40 requests, 392 steps, on a projector."""
    page.set_viewport_size({"width": 1280, "height": 720})
    show(page, address, "02_swap_under_pressure", 0)
    assert page.evaluate("""() => {
      const { stage } = window.schedulerTheatre, pane = stage.root.querySelector('.why');
      let most = 0;
      for (let t = 0; t < stage.run.steps; t++) {
        stage.goTo(t);
        most = Math.max(most, pane.scrollHeight - pane.clientHeight);
      }
      return [stage.run.steps, most];
    }""") == [392, 0]


def test_theatre_arrow_keys_walk_through_the_requests(page: Any, address: str) -> None:
    show(page, address, "21_v0_swap", 10)
    stage = page.locator(".stage")
    for key, request in [("ArrowDown", "r0"), ("ArrowDown", "r1"), ("ArrowUp", "r0"),
                         ("ArrowUp", "r3")]:
        stage.press(key)
        assert page.locator(".life").inner_text().startswith(request)
        assert page.locator(".chip.focus .name").inner_text() == request
    stage.press("Escape")
    assert page.locator(".chip.focus").count() == 0
    assert "Click a bar" in page.locator(".life").inner_text()
    stage.press("ArrowUp")
    assert page.locator(".life").inner_text().startswith("r3")


def test_theatre_sentence_and_line_of_code_point_at_each_other(page: Any, address: str) -> None:
    show(page, address, "20_v0_recompute_by_default", 22)
    sentence = page.locator(".why li", has_text="r2, the last of running, loses its blocks")
    line = sentence.get_attribute("data-line")
    sentence.click()
    row = page.locator(f".code div[data-line='{line}']")
    assert "lit" in row.get_attribute("class")
    row.hover()
    assert "pointed" in sentence.get_attribute("class")
    source = Path("core/schedulers/vllm_v0.py").read_text("utf-8").splitlines()
    assert row.locator("span").inner_text() == source[int(line) - 1]


@pytest.mark.parametrize("preset", ["01_article_demo", "46_v1_saturation", "62_saturated_both",
                                    "70_static_batch"])
def test_theatre_every_line_that_is_lit_has_its_sentence(
        page: Any, address: str, preset: str) -> None:
    show(page, address, preset, 0)
    page.get_by_role("tab", name="The code").click()
    assert page.evaluate("""() => {
      const { stage } = window.schedulerTheatre, { root, run } = stage, bare = [];
      let lit = 0;
      for (let t = 0; t < run.steps; t++) {
        stage.goTo(t); stage.draw(false);
        const told = new Set([...root.querySelectorAll(".why li")]
          .flatMap((li) => li.dataset.lines.split(" ")));
        for (const row of root.querySelectorAll(".code .lit")) {
          lit++;
          if (!told.has(row.dataset.line)) bare.push([t, row.dataset.line]);
        }
      }
      return [lit > run.steps / 2, bare];
    }""") == [True, []]


def test_theatre_blocks_that_must_stay_free_are_told(page: Any, address: str) -> None:
    """A tenth of 18 blocks, rounded down."""
    page.goto(f"{address}/?preset=21_v0_swap&watermark=0.1")
    wait_for_run(page)
    assert "of 18 · 1 kept free" in page.locator("[data-budget=gpu]").inner_text()


def test_theatre_one_request_tells_its_life(page: Any, address: str) -> None:
    show(page, address, "21_v0_swap", 10)
    page.locator(".chip", has=page.get_by_text("r3", exact=True)).click()
    story = page.locator(".life").inner_text()
    assert "60 tokens of prompt and 30 of output" in story
    assert "r3, the last of running, is swapped out" in story and "comes back" in story
    assert "CPU blocks" in story
    page.locator(".life li", has_text="comes back").click()
    assert page.locator(".scrub input").input_value() == "23"
    assert "GPU blocks" in page.locator(".life").inner_text()


def test_theatre_step_in_which_the_engine_dies_has_everybody(page: Any, address: str) -> None:
    """h1 is on its way from waiting to running, and l1 and l2 are swapped out in waiting."""
    show(page, address, "28_v0_priority_and_swap", 7)
    assert chips(page, "waiting") == ["l1", "l2"]
    assert chips(page, "running") == ["h0", "l0", "h1"]
    assert page.locator(".why li").all_inner_texts() == [
        "h1 is let in.line 107",
        "The engine dies: looking at l1 breaks one of its own assumptions."
        " AssertionError: a request in waiting is swapped outline 95",
        "l0, l2, h0, h1: get nothing, for the engine dies before anything is computed."]
    page.locator(".chip", has=page.get_by_text("l2", exact=True)).click()
    steps = [int(text) for text in page.locator(".life li small").all_inner_texts()]
    assert steps[-3:] == [4, 5, 7]  # pushed out; behind h1 for two steps; the death
    assert "the engine dies in this step" in page.locator(".life li").last.inner_text()


@pytest.mark.parametrize(("preset", "step", "budget", "chip"), [
    ("43_v1_cache_outlives", 20, "16 of ", "+16"), ("29_v0_shared_prefix", 5,
                                                   "70 of 512 · 6 computed", "+6"),
    ("01_article_demo", 0, "9 of 4096 · 7 computed", "+5"),
    ("11_slip_charged_its_prompt", 9, "2 of 4 · 8 computed", "+8")])
def test_theatre_tokens_charged_are_told_from_those_computed(
        page: Any, address: str, preset: str, step: int, budget: str, chip: str) -> None:
    show(page, address, preset, step)
    assert budget in page.locator("[data-budget=tokens] .value").inner_text()
    assert chip in page.locator(".chip .badge").all_inner_texts()


def test_theatre_one_request_tells_pauses_and_ranges(page: Any, address: str) -> None:
    """r0 computes its prompt in one step and decodes in 29 more, with 7 pauses between them."""
    show(page, address, "20_v0_recompute_by_default", 20)
    page.locator(".chip", has=page.get_by_text("r0", exact=True)).click()
    assert page.locator(".shares span").all_inner_texts() == ["prefill 1", "decode 29", "paused 7"]
    show(page, address, "01_article_demo", 6)
    page.locator(".chip", has=page.get_by_text("3", exact=True)).click()
    waits = page.locator(".life li", has_text="has to wait").all_inner_texts()
    assert [" ".join(text.split()) for text in waits] == [
        "0 3 has to wait: too few blocks are free (needed: 3, free: 0 to 2). (8 steps)",
        "11 3 has to wait: too few blocks are free (needed: 3, free: 1 to 2). (5 steps)"]
    assert page.locator(".life li.now").inner_text().split()[0] == "0"


def test_theatre_story_begins_with_its_summary_and_then_follows_the_step(
        page: Any, address: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    show(page, address, "20_v0_recompute_by_default", 20)
    page.locator(".chip", has=page.get_by_text("r3", exact=True)).click()
    life = page.locator(".life")
    assert life.evaluate("(pane) => pane.scrollTop") == 0
    page.locator(".stage").press("End")
    now = life.locator("li.now").bounding_box()
    pane = life.bounding_box()
    assert pane["y"] <= now["y"] and now["y"] + now["height"] <= pane["y"] + pane["height"]


def test_theatre_marks_are_in_view_under_a_remark_too(page: Any, address: str) -> None:
    """42 has a remark of the front end above the theatre."""
    page.set_viewport_size({"width": 1280, "height": 720})
    show(page, address, "42_v1_hangs", 20)
    page.locator(".invariants button").last.wait_for()
    marks = page.locator(".marks").bounding_box()
    assert marks["y"] + marks["height"] <= 720


def test_theatre_budget_that_lacks_a_contiguous_run_is_marked(page: Any, address: str) -> None:
    show(page, address, "72_orca_fragmented", 8)
    assert "14 of 20 · said no" in page.locator("[data-budget=gpu]").inner_text()


def test_theatre_lanes_are_in_order_after_a_change_with_the_code_open(
        page: Any, address: str) -> None:
    show(page, address, "01_article_demo", 6)
    height = page.locator(".chip").first.bounding_box()["height"]
    page.get_by_role("tab", name="The code").click()
    before = wait_for_run(page)
    page.get_by_role("slider", name="Sequence budget").press("ArrowLeft")
    wait_for_run(page, before)
    page.get_by_role("tab", name="Queues and budgets").click()
    assert page.locator(".chip").first.bounding_box()["height"] == height
    assert page.locator(".chip .count").first.is_visible()


def test_theatre_space_plays_after_a_click_on_another_button(page: Any, address: str) -> None:
    show(page, address, "01_article_demo", 0)
    page.get_by_role("button", name="Step forward").click()
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Pause", exact=True).is_visible()
    assert page.evaluate("window.schedulerTheatre.stage.transport.playing")


def test_theatre_refusals_in_the_jump_list_are_refusals(page: Any, address: str) -> None:
    """In 70 one step refuses somebody; in 39 others a whole queue is held."""
    show(page, address, "70_static_batch", 0)
    options = page.locator("[data-do=jump] option").all_inner_texts()
    assert "refusals (1)" in options and "queues held (39)" in options


def test_theatre_phenomenon_clicked_jumps_and_explains(page: Any, address: str) -> None:
    show(page, address, "25_v0_prefill_stall", 0)
    page.locator(".phenomenon", has_text="Decode stall").click()
    assert page.locator(".scrub input").input_value() == "5"
    assert "Step 5" in page.locator(".note").inner_text()
    marks = page.locator(".invariants button")
    assert marks.count() == 9 and set(marks.all_inner_texts()) == {"✓"}
    marks.first.click()
    assert "1. blocks conserved" in page.locator(".note").inner_text()
    page.locator(".stage").press("ArrowRight")
    assert not page.locator(".note").is_visible()
    marks.last.click()
    assert "9. deterministic csv: The same scenario" in page.locator(".note").inner_text()


def test_theatre_marks_of_a_changed_run_are_its_own(page: Any, address: str) -> None:
    """With one seat nobody is thrown out any more."""
    show(page, address, "02_swap_under_pressure", 0)
    page.locator(".phenomenon", has_text="Thrashing").wait_for()
    before = wait_for_run(page)
    page.get_by_role("slider", name="Sequence budget").press("Home")
    version = wait_for_run(page, before)
    page.locator(".invariants button").last.wait_for()
    assert page.evaluate("window.schedulerTheatre.marks.version") == version
    assert page.locator(".phenomenon", has_text="Thrashing").count() == 0
    assert page.locator(".invariants button").count() == 9


def test_theatre_jump_buttons_go_from_preemption_to_preemption(page: Any, address: str) -> None:
    show(page, address, "20_v0_recompute_by_default", 0)
    page.locator("[data-do=jump]").select_option("preempted")
    steps = []
    for _ in range(3):
        page.get_by_role("button", name="Jump forward").click()
        steps.append(page.locator(".scrub input").input_value())
    page.get_by_role("button", name="Jump back").click()
    assert steps == ["5", "22", "24"]
    assert page.locator(".scrub input").input_value() == "22"


def test_theatre_ending_is_told_at_the_last_step(page: Any, address: str) -> None:
    show(page, address, "22_v0_engine_dies", 5)
    assert "The engine dies" in page.locator(".why").inner_text()
    assert "the engine dies" in page.locator(".st-key-chart_box").inner_text()


def test_theatre_picture_is_saved_as_png(page: Any, address: str) -> None:
    show(page, address, "01_article_demo", 6)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save a picture").click()
    assert waiting.value.suggested_filename == "01_article_demo-step-6.png"
    content = waiting.value.path().read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_standalone_page_plays_without_a_server(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    path.write_bytes(standalone_html(view_of(simulate(load_presets()["21_v0_swap"].scenario))))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    wait_for_run(page)
    page.get_by_role("button", name="Last step", exact=True).click()
    assert page.locator(".theatre-line").get_attribute("data-step") == "47"
    assert "r3 has its last token" in page.locator(".why").inner_text()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_theatre_one_request_says_how_long_it_waited_and_why(page: Any, address: str) -> None:
    """41: C1 stands 31 steps behind B. 25: r0 pauses for r4's prompt in step 5."""
    show(page, address, "41_v1_head_of_line", 5)
    page.locator(".chip", has=page.get_by_text("C1", exact=True)).click()
    waited = page.locator(".life li", has_text="(31 steps)")
    assert "B" in waited.inner_text()
    show(page, address, "25_v0_prefill_stall", 5)
    page.locator(".chip", has=page.get_by_text("r0", exact=True)).click()
    assert "r4" in page.locator(".life li.now").inner_text()
