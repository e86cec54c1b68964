"""What the KV memory holds by kind: by hand, and summing up in every run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from core import Scenario, simulate
from core.memory_contrast import OLDER_SYSTEMS_USED, PAGING_WASTE, contrast
from core.memory_use import KINDS, largest_free_runs, memory_use, num_usable_blocks
from core.token_times import token_times
from tests.conftest import make_requests, run
from tests.strategies import scenarios


def test_reservation_of_the_longest_sequence_is_mostly_for_nothing() -> None:
    # 4 blocks of 4 for at most 16 tokens; 3 of prompt and 5 of output, the last is never stored
    trace = run(make_requests(1, prompt_len=3, output_len=5), scheduler="orca_max",
                max_model_len=16)
    use = memory_use(trace)
    assert use.num_slots == 32
    assert use.used.tolist() == [3, 4, 5, 6, 7]
    assert use.reserved.tolist() == [4, 3, 2, 1, 0]
    assert use.internal.tolist() == [9] * 5
    assert use.free.tolist() == [16] * 5
    assert use.unusable.tolist() == [0] * 5
    assert use.waste().tolist() == [1 - used / 16 for used in (3, 4, 5, 6, 7)]


def test_paged_blocks_waste_the_rest_of_the_last_block_only() -> None:
    # 3 tokens in a block of 4; a second block for the fifth token
    trace = run(make_requests(1, prompt_len=3, output_len=4), scheduler="vllm_v1")
    use = memory_use(trace)
    assert num_usable_blocks(trace) == 7  # V1 keeps a block
    assert use.used.tolist() == [3, 4, 5, 6]
    assert use.reserved.tolist() == [1, 0, 1, 0]  # of the 6 tokens, 2 are in the second block
    assert use.internal.tolist() == [0, 0, 2, 2]


def test_free_memory_is_unusable_while_somebody_is_refused_for_want_of_room() -> None:
    # runs of 2; "1" and "3" end with step 1; "5" wants 3 neighbours, and 0-1 and 4-5 are free
    trace = run(make_requests(5, prompt_len=[4, 4, 4, 4, 8], output_len=[2, 4, 2, 4, 4]),
                scheduler="orca_oracle", max_model_len=16)
    use = memory_use(trace)
    assert use.unusable[:4].tolist() == [0, 0, 16, 16]
    assert largest_free_runs(trace)[:5].tolist() == [0, 0, 2, 2, 5]


def test_static_batch_reserves_for_those_that_have_ended() -> None:
    # "1" ends with step 1, and its 16 slots stay; all of them are for nothing from then on
    trace = run(make_requests(2, output_len=[2, 4]), scheduler="static_batching",
                max_model_len=16)
    use = memory_use(trace)
    assert use.used.tolist() == [8, 10, 6, 7]
    assert (use.used + use.reserved + use.internal).tolist() == [32] * 4


def test_shared_blocks_are_held_once_and_waste_nothing_twice() -> None:
    requests = make_requests(2, prompt_len=10, output_len=2, arrival_step=[0, 1], prefix_id="p",
                             prefix_len=8)
    trace = run(requests, scheduler="vllm_v1", enable_prefix_caching=True,
                enable_chunked_prefill=True, num_gpu_blocks=12)
    use = memory_use(trace)
    # step 1: 11 tokens of "1" and the 2 of "2" that are its own, in 3 + 1 blocks
    assert use.used[1] == 13
    assert use.reserved[1] + use.internal[1] == 3


@settings(max_examples=150, deadline=None)
@given(scenarios())
def test_kinds_of_slots_are_the_whole_memory_in_every_step(scenario: Scenario) -> None:
    trace = simulate(scenario)
    use = memory_use(trace)
    assert (sum(getattr(use, kind) for kind in KINDS) == use.num_slots).all()
    assert all((getattr(use, kind) >= 0).all() for kind in KINDS)
    legal = all(r.prompt_len < scenario.config.max_model_len for r in scenario.requests)
    if legal and not scenario.config.enable_prefix_caching:
        assert (use.used == token_times(trace).kv_tokens).all()
    free = np.array([row.free_gpu_blocks for row in trace.step_rows])
    assert (largest_free_runs(trace) <= free).all()


def test_contrast_is_taken_over_the_time_in_which_somebody_waits() -> None:
    # one seat: "2" waits through the three steps of "1", which uses 4, 5, 6 of 32 slots
    trace = run(make_requests(2, output_len=3), scheduler="orca_max", max_num_seqs=1,
                max_model_len=16)
    found = contrast(trace)
    assert found.loaded_s == 3
    assert found.shares["used"] == pytest.approx(5 / 32)
    assert found.waste == pytest.approx(1 - 5 / 16)
    assert sum(found.shares.values()) == pytest.approx(1)


def test_contrast_without_waiting_is_that_of_the_whole_run() -> None:
    found = contrast(run(make_requests(1, output_len=3), scheduler="orca_max", max_model_len=16))
    assert found.loaded_s == 0
    assert found.shares["used"] == pytest.approx(5 / 32)


def test_contrast_of_the_paper_shows_on_the_default_workload() -> None:
    """A fifth of the memory holds tokens with the longest reservation, less than half of what is
    held even with exact ones; with paging nearly all does."""
    from core.claim import ClaimWorkload

    workload = ClaimWorkload()
    found = {name: contrast(simulate(workload.scenario(name, None)))
             for name in ("orca_max", "orca_oracle", "vllm_v1")}
    low, high = OLDER_SYSTEMS_USED
    assert found["orca_max"].shares["used"] == pytest.approx(low, abs=0.05)
    assert low < found["orca_oracle"].shares["used"] < high + 0.15
    assert found["vllm_v1"].waste < PAGING_WASTE
    assert found["vllm_v1"].shares["used"] > 0.9
