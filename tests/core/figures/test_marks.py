"""The marks under the theatre: nine invariants, each with what a click on it says."""

from __future__ import annotations

import pytest

from core.figures.theatre import marks
from tests.conftest import make_requests, run


def test_marks_of_a_small_run_say_that_it_keeps_all_invariants() -> None:
    shown = marks.invariants(run(make_requests(2), scheduler="vllm_v1"))
    assert [mark["number"] for mark in shown] == list(range(1, 10))
    not_touched = [mark["name"] for mark in shown if mark["mark"] != "✓"]
    assert not_touched == ["no admission past refused head", "every refusal has a cause"]
    assert str(shown[8]["text"]).endswith("byte for byte. This run keeps it.")


def test_marks_of_a_long_run_say_which_part_was_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two requests in each of 4 steps; 5 may be served again."""
    monkeypatch.setattr(marks, "SERVED_AGAIN", 5)
    shown = marks.invariants(run(make_requests(2), scheduler="vllm_v1"))
    for mark in shown[7:]:
        assert str(mark["text"]).endswith(" Its first 2 steps were run again, and keep it.")
