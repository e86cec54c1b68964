"""Static batching and Orca's three reservations, on scenarios worked out by hand.

Blocks hold 4 tokens; sequences have at most 16, so that the longest reservation is 4 blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from core import Trace
from core.schedulers import schedulers
from core.schedulers.orca_pow2 import next_power_of_two
from core.trace import Cause, Kind, Limit, State
from tests.conftest import (
    blocks_held,
    ids_of,
    make_requests,
    only_event,
    queue_after,
    run,
)

ALL = ("static_batching", "orca_max", "orca_pow2", "orca_oracle")


def reserving(scheduler: str, requests: Iterable[dict[str, Any]], **knobs: Any) -> Trace:
    return run(requests, scheduler=scheduler, **{"max_model_len": 16, **knobs})


@pytest.mark.parametrize(("scheduler", "num_blocks"), [
    ("static_batching", 4),  # 16 tokens
    ("orca_max", 4),         # 16 tokens
    ("orca_pow2", 3),        # 3 of the prompt + 8: 11 tokens
    ("orca_oracle", 2),      # 3 of the prompt + 5: 8 tokens
])
def test_request_reserves_at_its_start_and_keeps_it_to_its_end(
        scheduler: str, num_blocks: int) -> None:
    trace = reserving(scheduler, make_requests(1, prompt_len=3, output_len=5))
    assert trace.num_steps == 5
    for step in range(5):
        assert blocks_held(trace, "gpu", step) == {"1": list(range(num_blocks))}


@pytest.mark.parametrize("scheduler", ALL)
def test_reservation_never_goes_beyond_max_model_len(scheduler: str) -> None:
    trace = reserving(scheduler, make_requests(1, prompt_len=10, output_len=60))
    assert blocks_held(trace, "gpu", 0) == {"1": [0, 1, 2, 3]}
    assert trace.request_rows[0].num_output_tokens == 6  # it ends with 16 tokens


@pytest.mark.parametrize(("number", "power"), [(1, 1), (2, 2), (3, 4), (25, 32), (32, 32)])
def test_power_of_two_is_the_next_one_or_the_number_itself(number: int, power: int) -> None:
    assert next_power_of_two(number) == power


def test_orca_lets_a_newcomer_into_the_step_after_somebody_ended() -> None:
    # 8 blocks: two of 4 run; "1" ends with step 1, "3" starts in step 2 beside "2"
    trace = reserving("orca_max", make_requests(3, output_len=[2, 6, 3]))
    assert queue_after(trace, "scheduled", 1) == ["1", "2"]
    assert only_event(trace, Kind.REFUSED, 1).cause == Cause(Limit.GPU_BLOCKS, 4, 0)
    assert queue_after(trace, "scheduled", 2) == ["2", "3"]
    assert blocks_held(trace, "gpu", 2) == {"2": [4, 5, 6, 7], "3": [0, 1, 2, 3]}
    assert trace.num_steps == 6


def test_static_batch_keeps_a_newcomer_and_all_memory_until_its_last_token() -> None:
    trace = reserving("static_batching", make_requests(3, output_len=[2, 6, 3]))
    for step in range(2, 6):  # "1" ended with step 1; its blocks stay where they are
        assert queue_after(trace, "scheduled", step) == ["2"]
        assert only_event(trace, Kind.HELD, step).cause == Cause(Limit.BATCH_CLOSED, 3, 2)
        assert blocks_held(trace, "gpu", step) == {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}
        assert trace.step_rows[step].free_gpu_blocks == 0
    assert ids_of(trace, Kind.ADMITTED, 6) == ["3"]
    assert blocks_held(trace, "gpu", 6) == {"3": [0, 1, 2, 3]}
    assert trace.num_steps == 9


def test_static_batch_closes_even_with_seats_and_blocks_to_spare() -> None:
    trace = reserving("static_batching", make_requests(2, output_len=3, arrival_step=[0, 1]),
                      num_gpu_blocks=40)
    assert only_event(trace, Kind.HELD, 1).cause == Cause(Limit.BATCH_CLOSED, 2, 1)
    assert ids_of(trace, Kind.ADMITTED, 3) == ["2"]


def test_orca_refused_for_want_of_neighbours_while_enough_blocks_are_free() -> None:
    # oracle, 8 blocks: runs of 2, 2, 2, 2; "1" and "3" end, which leaves 0-1 and 4-5; "5" wants 3
    trace = reserving("orca_oracle", make_requests(
        5, prompt_len=[4, 4, 4, 4, 8], output_len=[2, 4, 2, 4, 4]))
    assert only_event(trace, Kind.REFUSED, 2).cause == Cause(Limit.CONTIGUOUS_RUN, 3, 2)
    assert trace.step_rows[2].free_gpu_blocks == 4
    assert ids_of(trace, Kind.ADMITTED, 4) == ["5"]


@pytest.mark.parametrize("scheduler", ALL)
def test_request_that_can_never_start_is_given_up_and_holds_nobody(scheduler: str) -> None:
    # longer than max_model_len; longer than the token budget; more blocks than there are
    for length, knobs, cause in (
        (17, {}, Cause(Limit.MODEL_LEN, 17, 16)),
        (9, {"max_num_batched_tokens": 8}, Cause(Limit.TOKEN_BUDGET, 9, 8)),
        (16, {"num_gpu_blocks": 3}, Cause(Limit.GPU_BLOCKS, 4, 3)),
    ):
        trace = reserving(scheduler, make_requests(2, prompt_len=[length, 2], output_len=1),
                          **knobs)
        assert only_event(trace, Kind.IGNORED, 0, "1").cause == cause
        if "num_gpu_blocks" not in knobs:
            assert trace.request_rows[1].state is State.FINISHED


@pytest.mark.parametrize("scheduler", ALL)
def test_step_holds_to_both_budgets(scheduler: str) -> None:
    requests = make_requests(4, prompt_len=6, output_len=2)
    tokens = reserving(scheduler, requests, num_gpu_blocks=40, max_num_batched_tokens=13)
    assert only_event(tokens, Kind.REFUSED, 0).cause == Cause(Limit.TOKEN_BUDGET, 6, 1)
    assert tokens.step_rows[0].num_batched_tokens == 12
    seats = reserving(scheduler, requests, num_gpu_blocks=40, max_num_seqs=3)
    assert only_event(seats, Kind.REFUSED, 0).cause == Cause(Limit.SEQ_BUDGET, 1, 0)
    assert seats.step_rows[0].num_running == 3


@pytest.mark.parametrize("scheduler", ALL)
@pytest.mark.parametrize(("policy", "order"), [
    ("fcfs", ["1", "2", "3"]), ("priority", ["3", "1", "2"]), ("length", ["2", "3", "1"]),
])
def test_waiting_queue_follows_the_policy(scheduler: str, policy: str, order: list[str]) -> None:
    trace = reserving(scheduler, make_requests(3, prompt_len=[9, 2, 5], priority=[1, 1, 0]),
                      max_num_seqs=1, policy=policy)
    assert ids_of(trace, Kind.ADMITTED) == order


def test_only_the_oracles_are_told_true_lengths_and_say_so() -> None:
    told = {name for name, engine in schedulers().items() if engine.needs_true_length}
    assert told == {"orca_pow2", "orca_oracle"}
    assert told == {name for name, engine in schedulers().items()
                    if "true_length_not_read" in engine.breaks}
