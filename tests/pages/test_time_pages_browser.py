"""The pages of time and memory in a real browser: deep links, the menu, and room on the screen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pages.browser import chromium, dashboard

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium is installed here")

PAGES = {"metrics": "The metrics of this run", "memory": "The KV memory",
         "claim": "3 to 5 times the throughput?", "swap_or_recompute": "Swap or recompute?",
         "measured": "Measured and simulated"}
FITS = """() => [...document.querySelectorAll('.stMain .js-plotly-plot, .stMain table')]
    .every(each => each.getBoundingClientRect().right <= window.innerWidth + 1)"""


def wait_for_charts(page: Any, title: str) -> None:
    page.get_by_role("heading", name=title).wait_for(timeout=30_000)
    page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=60_000)
    page.wait_for_timeout(300)


def test_time_page_cold_deep_link_lands_in_the_frame_with_its_parameters(chrome: Any) -> None:
    """The first visit after the server's start is a link to a page in a section of the menu."""
    with dashboard() as fresh:
        page = chrome.new_page()
        page.goto(f"{fresh}/measured?preset=05_sequence_budget_binds&max_num_seqs=5")
        wait_for_charts(page, PAGES["measured"])
        assert page.get_by_role("link", name="The run").is_visible()
        assert "/measured" in page.url and "max_num_seqs=5" in page.url
        page.close()


def test_menu_leads_to_every_time_page_and_keeps_the_run(page: Any, address: str) -> None:
    page.goto(f"{address}/about?preset=81_seconds_a100_swap")
    for path, title in PAGES.items():
        page.get_by_text("Time and memory", exact=True).click()
        page.locator(f"a[href*='/{path}']").click()
        wait_for_charts(page, title)
        assert f"/{path}" in page.url and "preset=81_seconds_a100_swap" in page.url


@pytest.mark.parametrize(("scheme", "width", "height"),
                         [("light", 1400, 900), ("dark", 1280, 720)])
@pytest.mark.parametrize("path", PAGES)
def test_time_page_is_no_wider_than_the_screen(chrome: Any, address: str, path: str, scheme: str,
                                               width: int, height: int) -> None:
    page = chrome.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(f"{address}/{path}")
    wait_for_charts(page, PAGES[path])
    assert page.evaluate(FITS)
    page.close()
