"""A window of a run is a run of its own that tells the same."""

from __future__ import annotations

import pytest

from core import simulate
from core.presets import load_presets, queues_after
from core.window import window

TRACE = simulate(load_presets()["02_swap_under_pressure"].scenario)


@pytest.mark.parametrize(("first", "last"), [(0, 391), (100, 220), (180, 180), (350, 391)])
def test_window_with_everybody_has_the_same_queues_blocks_and_decisions(
        first: int, last: int) -> None:
    part = window(TRACE, first, last, 40)
    assert part.num_steps == last - first + 1
    for step in range(first, last + 1, 13):
        ours, whole = queues_after(part, step - first), queues_after(TRACE, step)
        assert {name: ours.get(name, []) for name in whole} == whole
        held = TRACE.leases.query("from_step <= @step < to_step")
        shown = part.leases.query("from_step <= @step - @first < to_step")
        columns = ["device", "block_id", "request_id", "position"]
        assert sorted(map(tuple, shown[columns].values)) == sorted(
            map(tuple, held[columns].values))
    told = TRACE.events.query("@first <= step <= @last")
    assert list(part.events["kind"]) == list(told["kind"])
    assert list(part.events["step"] + first) == list(told["step"])


@pytest.mark.parametrize("most", [5, 12, 20])
def test_window_with_few_requests_ends_before_somebody_busy_would_be_missing(most: int) -> None:
    part = window(TRACE, 180, 300, most)
    assert 1 <= part.num_steps <= 121
    for step in range(part.num_steps):
        ours, whole = queues_after(part, step), queues_after(TRACE, 180 + step)
        assert [ours["running"], ours["swapped"]] == [whole["running"], whole["swapped"]]
        assert ours["waiting"] == whole["waiting"][: len(ours["waiting"])]
        held = TRACE.leases.query("from_step <= 180 + @step < to_step")
        assert len(part.leases.query("from_step <= @step < to_step")) == len(held)


def test_window_rows_are_those_of_the_whole_run() -> None:
    part = window(TRACE, 150, 160, 30)
    rows = [row._replace(refusal=None) for row in TRACE.step_rows[150:161]]
    assert [row._replace(refusal=None) for row in part.step_rows] == rows
    for row, step in zip(part.step_rows, range(11), strict=True):
        if row.refusal is not None:
            assert part.event_rows[row.refusal].step == step


@pytest.mark.parametrize(("first", "last"), [(-1, 3), (5, 4), (0, 392)])
def test_window_outside_of_the_run_is_refused(first: int, last: int) -> None:
    with pytest.raises(ValueError, match="within steps 0 to 391"):
        window(TRACE, first, last, 10)
