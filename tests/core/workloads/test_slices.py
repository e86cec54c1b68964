"""Slices: which rows are taken and how they change."""

from __future__ import annotations

import pytest

from core import ScenarioError
from core.workloads import Slice, Workload, WorkloadRow, apply
from core.workloads.slices import (
    cap_lengths,
    fill_arrivals,
    first,
    scale_lengths,
    scale_rate,
    window,
)
from tests.core.workloads.files import lengths, note, seconds, workload


def at(*times: float) -> Workload:
    """Requests with 10 prompt and 4 output tokens at these seconds."""
    return Workload("test", "Test", tuple(
        WorkloadRow(f"r{i}", 10, 4, time) for i, time in enumerate(times)))


def test_slice_without_choices_changes_nothing() -> None:
    before = workload("mooncake.jsonl")
    assert apply(before, Slice()) == before


def test_window_takes_its_start_and_not_its_end_and_counts_from_its_start() -> None:
    found = window(at(0.0, 1.0, 2.5, 3.0), 1.0, 3.0)
    assert seconds(found) == [0.0, 1.5]
    assert [row.request_id for row in found.rows] == ["r1", "r2"]
    assert note(found, "window") == (2, None)


def test_window_of_steps_counts_in_steps() -> None:
    found = window(workload("plain.csv"), 1, 5)
    assert [(row.request_id, row.arrival_step) for row in found.rows] == [("b", 1)]


def test_window_without_arrivals_takes_everything() -> None:
    assert len(window(workload("vidur_lengths.csv"), 5.0).rows) == 2


def test_first_takes_so_many_rows() -> None:
    found = first(at(0.0, 1.0, 2.0), 2)
    assert seconds(found) == [0.0, 1.0]
    assert note(found, "first") == (1, None)
    assert first(found, 5) == found


def test_first_frees_a_call_from_a_predecessor_that_is_not_taken() -> None:
    rows = (WorkloadRow("a", 1, 1, 0.0), WorkloadRow("b", 1, 1, 1.0, after="a"),
            WorkloadRow("c", 1, 1, 2.0, after="b"))
    assert [row.after for row in window(Workload("t", "T", rows), 1.0).rows] == [None, "b"]


def test_scale_rate_brings_arrivals_closer() -> None:
    assert seconds(scale_rate(at(0.0, 1.0, 3.0), 2.0)) == [0.0, 0.5, 1.5]
    steps = scale_rate(workload("plain.csv"), 0.5)
    assert [row.arrival_step for row in steps.rows] == [0, 4]


def test_scale_lengths_rounds_and_keeps_one_token() -> None:
    found = scale_lengths(at(0.0), 0.25, 0.01)
    assert lengths(found) == [(2, 1)]
    assert note(found, "prompts_scaled") == (1, 0.25)
    assert note(found, "outputs_scaled") == (1, 0.01)


def test_scale_lengths_stretches_shared_prefixes_with_the_prompts() -> None:
    half = scale_lengths(workload("mooncake.jsonl"), 0.5, 1.0)
    assert [row.prompt_len for row in half.rows] == [550, 650, 256, 300]
    assert {row.prefix_hash_block for row in half.rows} == {256}
    assert half.summary.shared == workload("mooncake.jsonl").summary.shared
    named = scale_lengths(workload("plain.csv"), 0.5, 1.0)
    assert (named.rows[1].prompt_len, named.rows[1].prefix_len) == (10, 8)


def test_cap_lengths_cuts_prompts_with_what_they_share() -> None:
    found = cap_lengths(workload("mooncake.jsonl"), 600, 6)
    assert lengths(found) == [(600, 5), (600, 6), (512, 6), (600, 6)]
    assert [row.prefix_hashes for row in found.rows] == [(0, 1), (0, 1), (0,), (4, 5)]
    assert note(found, "prompts_capped") == (2, 600)
    assert note(found, "outputs_capped") == (2, 6)


def test_cap_lengths_that_cuts_nothing_says_nothing() -> None:
    found = at(0.0)
    assert cap_lengths(found, 10, 4) == found


def test_fill_arrivals_draws_poisson_arrivals_from_the_seed() -> None:
    bare = Workload("test", "Test", tuple(WorkloadRow(f"r{i}", 1, 1) for i in range(2000)))
    found = fill_arrivals(bare, 5.0, seed=1)
    assert found.summary.rate == pytest.approx(5.0, rel=0.1)
    assert found.summary.burstiness == pytest.approx(1.0, rel=0.1)
    assert found.rows == fill_arrivals(bare, 5.0, seed=1).rows
    assert found.rows != fill_arrivals(bare, 5.0, seed=2).rows


def test_fill_arrivals_takes_back_that_there_are_none() -> None:
    found = fill_arrivals(workload("vidur_lengths.csv"), 5.0, seed=1)
    assert note(found, "no_arrivals") is None
    assert note(found, "filled_arrivals") == (2, 5.0)
    assert seconds(found)[0] == 0.0


def test_fill_arrivals_leaves_arrivals_that_are_there() -> None:
    before = workload("vidur_arrivals.csv")
    assert fill_arrivals(before, 5.0, seed=1) == before


def test_apply_takes_the_window_first_and_then_so_many_and_scales_after() -> None:
    found = apply(at(0.0, 1.0, 2.0, 3.0), Slice(start=1.0, first=2, rate_factor=2.0,
                                                output_factor=3.0, max_output_len=11))
    assert seconds(found) == [0.0, 0.5]
    assert lengths(found) == [(10, 11), (10, 11)]


@pytest.mark.parametrize("wrong", [
    {"first": 0}, {"rate": 0.0}, {"rate_factor": -1.0}, {"prompt_factor": float("nan")},
    {"start": 2.0, "end": 2.0}, {"start": -1.0}, {"max_prompt_len": 0},
])
def test_slice_of_nonsense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ScenarioError):
        Slice(**wrong)  # type: ignore[arg-type]
