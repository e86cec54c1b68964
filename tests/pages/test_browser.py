"""The dashboard in a real browser: plays, steps, hovers, downloads, survives deep links."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from tests.pages.browser import chromium, dashboard, wait_for_run

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium is installed here")

def step_of(page: Any) -> int:
    return int(page.locator(".scrub input").input_value())


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_run_page_plays_steps_and_scrubs(page: Any, address: str) -> None:
    page.goto(address)
    wait_for_run(page)
    assert step_of(page) == 0
    press(page, "Step forward")
    assert step_of(page) == 1
    press(page, "Last step")
    assert step_of(page) == 23
    press(page, "Step back")
    assert step_of(page) == 22
    page.locator(".scrub input").fill("6")
    assert "2 is swapped out" in page.locator(".why").inner_text()
    page.locator(".stage").press("Home")
    assert step_of(page) == 0
    page.locator(".stage").press("ArrowRight")
    page.locator(".stage").press("ArrowRight")
    page.locator(".stage").press("ArrowLeft")
    assert step_of(page) == 1
    page.locator("[data-do=rate]").select_option("10")
    press(page, "Play")
    page.wait_for_function("(from) => +document.querySelector('.theatre-line')"
                           ".dataset.step > from + 3", arg=1)
    press(page, "Pause")
    stopped = step_of(page)
    page.wait_for_timeout(300)
    assert step_of(page) == stopped


def test_run_page_playhead_on_the_chart_follows(page: Any, address: str) -> None:
    page.goto(address)
    wait_for_run(page)
    line = page.locator(".theatre-line")
    line.wait_for()
    left = line.bounding_box()["x"]
    page.locator(".scrub input").fill("12")
    moved = line.bounding_box()["x"]
    page.locator(".scrub input").fill("24")
    assert left < moved < line.bounding_box()["x"]
    assert line.get_attribute("data-step") == "23"


def test_run_page_hovering_a_block_lights_its_row_and_the_other_way_round(
        page: Any, address: str) -> None:
    page.goto(address)
    wait_for_run(page)
    page.locator(".theatre-row").wait_for(state="attached")
    page.locator("canvas.grid").hover(position={"x": 100, "y": 40})  # block 2, of request 2
    assert "GPU block 2: 2" in page.locator(".tip").inner_text()
    row = page.locator(".theatre-row")
    assert row.is_visible()
    middle = row.bounding_box()["y"] + row.bounding_box()["height"] / 2
    bar = page.locator(".st-key-chart_box .trace.bars").nth(1).locator("path").nth(1)
    box = bar.bounding_box()
    assert abs(middle - (box["y"] + box["height"] / 2)) < 4
    page.mouse.move(5, 5)
    box = page.locator(".st-key-chart_box .trace.bars").nth(0).locator("path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".chip.focus").wait_for()
    assert page.locator(".chip.focus .name").inner_text() == "3"


def test_run_page_slider_moved_keeps_the_step_and_goes_on_playing(page: Any, address: str) -> None:
    page.goto(f"{address}/?preset=02_swap_under_pressure")
    version = wait_for_run(page)
    page.locator(".scrub input").fill("100")
    slider = page.get_by_role("slider", name="GPU blocks")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    second = wait_for_run(page, version)
    assert step_of(page) == 100
    assert "num_gpu_blocks=120" in page.url
    press(page, "Play")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    wait_for_run(page, second)
    at = step_of(page)
    page.wait_for_function("(from) => +document.querySelector('.theatre-line')"
                           ".dataset.step > from", arg=at)
    assert page.get_by_role("button", name="Pause", exact=True).is_visible()


def test_back_and_forward_of_the_browser_undo_what_was_moved(page: Any, address: str) -> None:
    page.goto(f"{address}/?preset=21_v0_swap")
    runs = [wait_for_run(page)]
    slider = page.get_by_role("slider", name="GPU blocks")
    for _ in range(2):
        slider.press("ArrowLeft")
        runs.append(wait_for_run(page, runs[-1]))
        page.wait_for_url(f"**num_gpu_blocks={slider.get_attribute('aria-valuetext')}")
    page.go_back()
    assert wait_for_run(page, runs[2]) == runs[1]
    page.go_back()
    assert wait_for_run(page, runs[1]) == runs[0]
    assert slider.get_attribute("aria-valuetext") == "18" and "num_gpu_blocks" not in page.url
    page.go_forward()
    assert wait_for_run(page, runs[0]) == runs[1]
    slider.press("ArrowLeft")
    assert wait_for_run(page, runs[1]) == runs[2]


def test_knob_that_was_moved_stays_on_another_page_and_on_the_way_back(
        page: Any, address: str) -> None:
    page.goto(f"{address}/?preset=21_v0_swap")
    before = wait_for_run(page)
    slider = page.get_by_role("slider", name="GPU blocks")
    slider.press("ArrowLeft")
    moved = wait_for_run(page, before)
    page.get_by_role("link", name="Tables and downloads").click()
    page.get_by_role("button", name="requests.csv").wait_for()
    assert slider.get_attribute("aria-valuetext") == "16"
    page.get_by_role("link", name="The run").click()
    page.locator(".st-key-chart_box .bars path").first.wait_for()
    assert wait_for_run(page) == moved and slider.get_attribute("aria-valuetext") == "16"


def test_tables_page_csv_downloads(page: Any, address: str) -> None:
    page.goto(address)
    wait_for_run(page)
    page.get_by_role("link", name="Tables and downloads").click()
    button = page.get_by_role("button", name="requests.csv")
    button.wait_for()
    with page.expect_download() as waiting:
        button.click()
    assert waiting.value.suggested_filename == "article-demo_requests.csv"
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text("utf-8"))))
    assert [row["request_id"] for row in rows] == ["1", "2", "3"]


def test_pages_cold_deep_link_lands_in_the_frame_with_its_parameters(chrome: Any) -> None:
    """The first visit after the server's start is a link to a page other than the first."""
    with dashboard() as fresh:
        page = chrome.new_page()
        page.goto(f"{fresh}/tables?preset=05_sequence_budget_binds&max_num_seqs=5")
        page.get_by_role("button", name="requests.csv").wait_for(timeout=20_000)
        assert page.get_by_role("link", name="The run").is_visible()
        page.get_by_text("10 rows").wait_for()
        assert "max_num_seqs=5" in page.url and "preset=05_sequence_budget_binds" in page.url
        page.close()


@pytest.mark.parametrize(("scheme", "width", "height"),
                         [("light", 1400, 900), ("dark", 1280, 720)])
def test_run_page_fits_the_screen_without_scrolling(
        chrome: Any, address: str, scheme: str, width: int, height: int) -> None:
    page = chrome.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(f"{address}/?preset=02_swap_under_pressure")
    wait_for_run(page)
    page.locator(".scrub input").fill("180")
    for part in (".st-key-chart_box", "canvas.grid", ".lanes", ".why"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= height + 1, part
        assert box["x"] + box["width"] <= width + 1, part
    page.close()
