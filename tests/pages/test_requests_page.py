"""Requests of one's own, through the page: a file, a generator, a table; and bad files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from core.export.permalink import to_permalink
from core.presets import load_presets
from tests.pages.browser import chromium, wait_for_run

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium is installed here")

AZURE = ("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
         "2023-11-16 18:15:46.6805900,374,44\r\n"
         "2023-11-16 18:15:50.9951690,396,109\r\n"
         "2023-11-16 18:15:51.2220670,879,55")


def open_requests(page: Any, address: str, query: str = "") -> None:
    page.goto(f"{address}/{query}")
    wait_for_run(page)
    page.get_by_role("link", name="Requests").click()
    page.get_by_text("Requests of your own").wait_for()


def upload(page: Any, tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(content.encode())
    page.locator("input[type=file]").first.set_input_files(path)


def test_requests_page_file_is_summarised_and_scheduled(
        page: Any, address: str, tmp_path: Path) -> None:
    open_requests(page, address, "?scheduler=vllm_v1&preset=40_v1_youngest_preempted")
    upload(page, tmp_path, AZURE)
    page.get_by_text("3 requests in 4.5 s").wait_for()
    page.get_by_role("button", name="Schedule these requests").click()
    page.get_by_text("3 requests of your own").wait_for()
    page.wait_for_function("() => new URL(location).searchParams.get('scenario')")
    page.get_by_text("3 of 3").wait_for()
    assert page.locator(".chip .name").first.inner_text() == "r1"


def test_requests_page_bad_file_tells_line_and_column_and_keeps_the_run(
        page: Any, address: str, tmp_path: Path) -> None:
    open_requests(page, address)
    upload(page, tmp_path, AZURE.replace("396", "many"))
    message = page.get_by_test_id("stAlert").inner_text()
    assert "line 3" in message and "ContextTokens" in message and "many" in message
    page.get_by_role("link", name="The run").click()
    page.get_by_text("The article's demo.").wait_for()
    page.get_by_text("3 of 3").wait_for()


def test_requests_page_generator_makes_requests_from_its_seed(page: Any, address: str) -> None:
    query = "?scheduler=vllm_v1&clock=seconds&preset=40_v1_youngest_preempted"
    open_requests(page, address, query)
    page.get_by_text("A generator").click()
    page.get_by_text("Generated: 60 requests").wait_for()
    page.get_by_role("button", name="Schedule these requests").click()
    page.get_by_text("60 requests of your own").wait_for()
    page.get_by_text("60 of 60").wait_for()
    assert page.get_by_text("60 of 60").is_visible()


def test_link_with_a_whole_scenario_reopens_it(page: Any, address: str) -> None:
    scenario = load_presets()["06_priority"].scenario.with_knobs(policy="fcfs")
    page.goto(f"{address}/?scenario={to_permalink(scenario)}")
    wait_for_run(page)
    page.get_by_text("6 requests of your own").wait_for()
    page.get_by_text("More knobs").click()
    assert page.get_by_role("radio", name="first come").is_checked()


def test_link_with_a_damaged_scenario_says_so_and_opens_the_first_preset(
        page: Any, address: str) -> None:
    page.goto(f"{address}/?scenario=1.nothing")
    wait_for_run(page)
    assert "Left out of the link: scenario" in page.get_by_test_id("stAlert").inner_text()
    assert page.get_by_text("The article's demo.").is_visible()


def test_requests_page_scenario_file_opens_with_its_scheduler_and_knobs(
        page: Any, address: str, tmp_path: Path) -> None:
    open_requests(page, address)
    upload(page, tmp_path, load_presets()["21_v0_swap"].scenario.to_json())
    page.get_by_text("v0-swap: 4 requests for vllm_v0, with its knobs.").wait_for()
    page.get_by_role("button", name="Open this scenario").click()
    page.get_by_text("4 requests of your own").wait_for()
    steps = page.get_by_role("definition").filter(has_text=re.compile("^48$"))
    steps.wait_for()
    assert steps.count() == 1  # as with the preset
