"""V1's prefix caching on scenarios that can be worked out by hand. Blocks hold 4 tokens."""

from __future__ import annotations

from typing import Any

from core import Trace, simulate
from core.recorded import scenario_from_recorded
from core.trace import Cause, Event, Kind, Limit
from tests.conftest import blocks_held, ids_of, make_requests, only_event
from tests.core.test_vllm_v1 import v1
from tests.core.test_vllm_v1_golden import RECORDINGS


def cached(**knobs: Any) -> Trace:
    """Requests with the same prompts as far as their prefixes reach."""
    asked = {key: knobs.pop(key) for key in ("prompt_len", "output_len", "priority",
                                             "arrival_step", "prefix_len") if key in knobs}
    number = len(asked["prompt_len"])
    requests = make_requests(number, prefix_id="p", **{"prefix_len": 60, **asked})
    return v1(requests, enable_prefix_caching=True, **knobs)


def found(trace: Trace) -> list[tuple[str | None, int]]:
    """For every admission the tokens that the cache had."""
    return [(trace.request_id(e.request), e.num_cached_tokens) for e in trace.event_rows
            if e.kind is Kind.PREFILLED]


def blocks_of(trace: Trace, kind: Kind, step: int) -> list[int | None]:
    return [e.block_id for e in trace.event_rows if e.kind is kind and e.step == step]


def test_v1_equal_prompts_in_one_step_share_their_blocks_before_they_are_computed() -> None:
    # surprise 8: "1" is given 10 tokens, 2 full blocks; "2" computes only its last 2 tokens
    trace = cached(prompt_len=[10, 10], output_len=1)
    assert found(trace) == [("1", 0), ("2", 8)]
    assert blocks_held(trace, "gpu", 0) == {"1": [1, 2, 3], "2": [1, 2, 4]}
    assert trace.step_rows[0].num_batched_tokens == trace.step_rows[0].num_prefill_tokens == 12
    assert trace.request_rows[1].num_computed_tokens == 2


def test_v1_hit_in_the_same_step_reaches_as_far_as_the_first_ones_chunk() -> None:
    trace = cached(prompt_len=[10, 10], output_len=1, long_prefill_token_threshold=4)
    assert found(trace)[:2] == [("1", 0), ("2", 4)]


def test_v1_last_token_is_computed_even_if_everything_is_cached() -> None:
    # 8 cached tokens: a prompt of 8 hits only the first block, one of 9 both
    trace = cached(prompt_len=[8, 8, 9], output_len=1, arrival_step=[0, 1, 2])
    assert found(trace) == [("1", 0), ("2", 4), ("3", 8)]


def test_v1_hit_on_a_block_that_nobody_holds_counts_as_a_new_one() -> None:
    # surprise 9: "1" ends and leaves 2 cached blocks. "2" takes one of 4, "3" needs 1 new and
    # both hits back: 3 of 3. With one usable block less it is refused
    asked: dict[str, Any] = {"prompt_len": [8, 4, 12], "output_len": [1, 9, 1],
                             "prefix_len": [8, 0, 8], "arrival_step": [0, 1, 2],
                             "max_num_seqs": 2}
    trace = cached(**asked, num_gpu_blocks=6)
    assert only_event(trace, Kind.PREFILLED, 2).num_cached_tokens == 8
    trace = cached(**asked, num_gpu_blocks=5)
    assert only_event(trace, Kind.REFUSED, 2).cause == Cause(Limit.GPU_BLOCKS, 3, 2)


def test_v1_eviction_takes_the_tail_of_a_sequence_first() -> None:
    # 3 of 4 usable blocks are cached; "2" takes the free one and then block 3, "3" still hits 1, 2
    trace = cached(prompt_len=[12, 8, 13], output_len=1, prefix_len=[12, 0, 12],
                   arrival_step=[0, 1, 2], num_gpu_blocks=5)
    assert blocks_of(trace, Kind.EVICTED, 1) == [3]
    assert found(trace)[-1] == ("3", 8)


def test_v1_entries_of_tokens_taken_back_stay_and_are_flagged_when_they_are_hit() -> None:
    # surprise 16, with 8 usable blocks. "1" is given 12 tokens alone and then 8 at a time: blocks
    # 1-3, 4-5 and, in step 2, 7-8, entered at once. There "2" needs a block beside its 6: the last
    # 8 tokens are taken back, and 8 goes to "2". In step 3 "1" finds 24 tokens, 20 are computed
    trace = cached(prompt_len=[28, 4], output_len=[1, 2], priority=[1, 0], prefix_len=[28, 0],
                   arrival_step=[0, 1], num_gpu_blocks=9, policy="priority",
                   max_num_batched_tokens=12, long_prefill_token_threshold=8)
    assert blocks_of(trace, Kind.UNCOMPUTED_ENTRY, 2) == [7, 8]
    assert blocks_of(trace, Kind.EVICTED, 2) == [8]
    assert only_event(trace, Kind.PREFILLED, 3).num_cached_tokens == 24
    hit = only_event(trace, Kind.UNCOMPUTED_HIT)
    assert (hit.step, hit.request, hit.block_id, hit.num_tokens) == (3, 0, 7, 4)
    assert trace.request_rows[0].num_computed_tokens == 20 + 4  # of 28


def test_v1_defect_is_flagged_in_the_recording_that_shows_it() -> None:
    recorded = RECORDINGS["v1-06b-priority-pressure-s1-004"]["scenario"]
    trace = simulate(scenario_from_recorded(recorded, "v1"))

    def told(event: Event) -> tuple[int, str | None, int | None]:
        return event.step, trace.request_id(event.request), event.block_id

    entries = [told(e) for e in trace.event_rows if e.kind is Kind.UNCOMPUTED_ENTRY]
    hits = [told(e) for e in trace.event_rows if e.kind is Kind.UNCOMPUTED_HIT]
    assert entries[:2] == [(2, "r0", 7), (2, "r0", 8)]
    assert hits[:2] == [(5, "r0", 7), (6, "r2", 7)]


def test_v1_defect_needs_priorities() -> None:
    for recorded in RECORDINGS.values():
        if recorded["scenario"]["config"]["policy"] == "fcfs":
            trace = simulate(scenario_from_recorded(recorded["scenario"], "v1"))
            assert ids_of(trace, Kind.TAKEN_BACK) == ids_of(trace, Kind.UNCOMPUTED_ENTRY) == []
