"""The four tables of a run and the table of its requests: columns and contents of one small run.

The run is ``two_that_outgrow_their_blocks`` (conftest.py) with the article's scheduler: requests 1
and 2 take a block each in step 0; in step 3 both need a second one, 1 is swapped out and 2 takes
its block; 2 ends in step 4, 1 comes back in step 5 and ends in step 6.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from core import Trace, simulate
from core.schedulers import article
from tests.conftest import column, make_requests, make_scenario, run, two_that_outgrow_their_blocks


@pytest.fixture(scope="module")
def trace() -> Trace:
    return two_that_outgrow_their_blocks("article")


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    """The rows of these columns, with None for what is missing."""
    picked = frame[list(columns)].astype(object)
    return list(picked.where(picked.notna(), None).itertuples(index=False, name=None))


def test_steps_hold_the_numbers_of_each_step(trace: Trace) -> None:
    assert rows(trace.steps, "step", "num_batched_tokens", "num_prefill_tokens", "num_scheduled",
                "num_running", "num_waiting", "num_swapped", "free_gpu_blocks",
                "free_cpu_blocks", "seqs_used") == [
        (0, 4, 2, 2, 2, 0, 0, 0, 8, 2),
        (1, 2, 0, 2, 2, 0, 0, 0, 8, 0),
        (2, 2, 0, 2, 2, 0, 0, 0, 8, 0),
        (3, 1, 0, 1, 1, 0, 1, 0, 7, 0),
        (4, 1, 0, 1, 1, 0, 1, 0, 7, 0),
        (5, 2, 0, 1, 1, 0, 0, 0, 8, 4),
        (6, 1, 0, 1, 1, 0, 0, 0, 8, 0),
    ]


def test_steps_hold_the_first_refusal_and_the_budgets(trace: Trace) -> None:
    refusals = rows(trace.steps, "refused_id", "refused_limit", "refused_needed",
                    "refused_available")
    assert refusals[4] == ("1", "num_gpu_blocks", 1, 0)
    assert set(refusals[:4] + refusals[5:]) == {(None, None, None, None)}
    assert set(rows(trace.steps, "token_budget", "seq_budget")) == {(64, 8)}


def test_steps_hold_the_budgets_of_v1s_own_knobs() -> None:
    trace = run(make_requests(2), scheduler="vllm_v1", max_num_scheduled_tokens=7,
                max_num_active_seqs=3)
    assert set(rows(trace.steps, "token_budget", "seq_budget")) == {(7, 3)}


def test_steps_last_a_second_each_with_the_clock_in_steps(trace: Trace) -> None:
    assert rows(trace.steps, "start_s", "duration_s") == [(float(n), 1.0) for n in range(7)]


def test_events_hold_each_decision_in_order(trace: Trace) -> None:
    assert rows(trace.events, "step", "order", "kind", "request_id", "queue", "num_tokens") == [
        (0, 0, "arrived", "1", "waiting", 0),
        (0, 1, "arrived", "2", "waiting", 0),
        (0, 2, "admitted", "1", "waiting", 0),
        (0, 3, "admitted", "2", "waiting", 0),
        (0, 4, "prefilled", "1", None, 1),
        (0, 5, "prefilled", "2", None, 1),
        (3, 0, "swapped_out", "1", None, 1),
        (4, 0, "refused", "1", "swapped", 0),
        (4, 1, "finished", "2", None, 5),
        (5, 0, "swapped_in", "1", "swapped", 1),
        (6, 0, "finished", "1", None, 5),
    ]


def test_events_hold_the_cause_of_what_was_refused(trace: Trace) -> None:
    causes = rows(trace.events, "kind", "limit", "needed", "available", "other")
    assert causes[6:8] == [("swapped_out", "num_gpu_blocks", 1, 0, None),
                           ("refused", "num_gpu_blocks", 1, 0, None)]
    assert all(limit is None for kind, limit, *_ in causes[:6] + causes[8:])


def test_events_hold_the_line_of_the_scheduler_that_decided(trace: Trace) -> None:
    """What the request is told stands in these very lines of the algorithm's file."""
    source = Path(article.__file__).read_text(encoding="utf-8").splitlines()
    line_of = dict(zip(trace.events.kind, trace.events.source_line, strict=True))
    assert "self.start(seq_group)" in source[line_of["admitted"] - 1]
    assert "self.append_token(seq_group)" in source[line_of["prefilled"] - 1]
    assert "self.swap_out(seq_group, cause)" in source[line_of["swapped_out"] - 1]
    assert 'self.refuse(seq_group, cause, "swapped")' in source[line_of["refused"] - 1]
    assert "self.restore(seq_group)" in source[line_of["swapped_in"] - 1]
    assert pd.isna(line_of["arrived"])
    assert pd.isna(line_of["finished"])


def test_spans_hold_each_stay_by_request_and_time(trace: Trace) -> None:
    assert rows(trace.spans, "request_id", "state", "attempt", "from_step", "to_step",
                "num_tokens") == [
        ("1", "prefill", 0, 0, 1, 1),
        ("1", "decode", 0, 1, 3, 2),
        ("1", "swapped", 0, 3, 5, 0),
        ("1", "decode", 0, 5, 7, 2),
        ("1", "finished", 0, 7, 7, 0),
        ("2", "prefill", 0, 0, 1, 1),
        ("2", "decode", 0, 1, 5, 4),
        ("2", "finished", 0, 5, 5, 0),
    ]
    assert rows(trace.spans, "start_s", "end_s")[2] == (3.0, 5.0)


def test_leases_hold_each_stay_of_a_block(trace: Trace) -> None:
    """Blocks are handed out from the one given back last: 2 gets the 0 that 1 gave up, and 1 gets
    the end of 2's table first, 0 and then 1."""
    found = rows(trace.leases, "device", "block_id", "request_id", "position", "from_step",
                 "to_step", "compressed")
    assert sorted(found) == [
        ("cpu", 0, "1", 0, 3, 5, False),
        ("gpu", 0, "1", 0, 0, 3, False),
        ("gpu", 0, "1", 0, 5, 7, False),
        ("gpu", 0, "2", 1, 3, 5, False),
        ("gpu", 1, "1", 1, 5, 7, False),
        ("gpu", 1, "2", 0, 0, 5, False),
    ]


def test_requests_hold_what_was_asked_and_what_became_of_it(trace: Trace) -> None:
    """Request 1 computed its prompt token, 2 decodes before and 2 after its time in swap; its 5th
    output is the last and is not computed."""
    frame = trace.requests
    assert rows(frame, "request_id", "arrival_step", "prompt_len", "output_len", "priority",
                "outcome") == [("1", 0, 1, 5, 0, "finished"), ("2", 0, 1, 5, 0, "finished")]
    assert rows(frame, "num_output_tokens", "first_scheduled_step", "first_token_step",
                "end_step", "num_preemptions", "num_swaps", "num_computed_tokens",
                "num_cached_tokens") == [(5, 0, 0, 6, 0, 1, 5, 0), (5, 0, 0, 4, 0, 0, 5, 0)]


def test_requests_that_never_ran_have_no_steps() -> None:
    frame = run(make_requests(1, prompt_len=9), num_gpu_blocks=2).requests
    assert rows(frame, "outcome", "num_output_tokens", "first_scheduled_step",
                "first_token_step", "end_step") == [("waiting", 0, None, None, None)]


def test_tables_of_an_empty_run_have_their_columns(trace: Trace) -> None:
    empty = simulate(make_scenario([]))
    assert empty.num_steps == 0
    for name in ("steps", "events", "spans", "leases", "requests"):
        frame = getattr(empty, name)
        assert len(frame) == 0
        assert list(frame.columns) == list(getattr(trace, name).columns)


def test_counts_are_whole_numbers_even_where_some_are_missing(trace: Trace) -> None:
    assert column(trace, "steps", "refused_needed") == [None, None, None, None, 1, None, None]
    for name in ("steps", "events", "spans", "leases", "requests"):
        frame = getattr(trace, name)
        for each in frame.columns:
            if not each.endswith("_s") and pd.api.types.is_numeric_dtype(frame[each].dtype):
                assert not pd.api.types.is_float_dtype(frame[each].dtype), (name, each)
