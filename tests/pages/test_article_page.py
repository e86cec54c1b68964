"""The table of the article and the real engine: each row opens a run that shows it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from core.presets import load_presets

PAGE = Path(__file__).parents[2] / "pages" / "article.py"
PRESETS = load_presets()


def rows() -> list[tuple[str, ...]]:
    """ROWS of the page, read without running it."""
    for node in ast.parse(PAGE.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ROWS":
            found: list[tuple[str, ...]] = ast.literal_eval(node.value)
            return found
    raise AssertionError("the page has no ROWS")


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_article_row_links_to_a_preset_of_the_engine_it_is_about(row: tuple[str, ...]) -> None:
    *texts, preset = row
    assert all(texts)
    of_a_slip = "slip" in preset
    expected = "article" if of_a_slip else "vllm_v0"
    assert PRESETS[preset].scenario.scheduler == expected
