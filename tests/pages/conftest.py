"""One running dashboard and one browser for all tests that need them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.pages.browser import browser, chromium, dashboard

HARMLESS = re.compile(r"_stcore/(host-config|health)|Failed to load resource.*404")
"""On a deep link Streamlit looks for its own address one folder too low first."""


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the dashboard runs."""
    with dashboard() as running:
        yield running


@pytest.fixture(scope="session")
def chrome() -> Iterator[Any]:
    """Headless Chromium; skips where there is none."""
    if chromium() is None:
        pytest.skip("no Chromium is installed here")
    with browser() as running:
        yield running


@pytest.fixture
def page(chrome: Any) -> Iterator[Any]:
    """A page that must not write an error to the console."""
    context = chrome.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    opened, problems = context.new_page(), []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text)
              if message.type == "error" and not HARMLESS.search(message.text) else None)
    yield opened
    context.close()
    assert problems == []
