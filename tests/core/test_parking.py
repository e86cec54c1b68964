"""Free blocks whose content can still be found: when they begin and end to be that."""

from __future__ import annotations

import pytest

from core import Trace, simulate
from core.presets import load_presets
from core.trace import Kind

PRESETS = load_presets()


def parked_at(trace: Trace, step: int) -> set[int]:
    return {p.block for p in trace.parkings if p.from_step <= step < p.to_step}


def held_at(trace: Trace, step: int) -> set[int]:
    frame = trace.leases.query("device == 'gpu' and from_step <= @step < to_step")
    return set(frame["block_id"])


def test_parking_v1_finished_request_leaves_its_full_blocks_until_they_are_adopted() -> None:
    """r0 ends in step 3 with 80 prompt tokens and 4 made, of which the last needs no place: 83
    tokens fill 5 of its 6 blocks of 16. r1 shares 64 tokens with it and adopts 4 of them in step
    20; the fifth holds r0's own tokens and stays parked."""
    trace = simulate(PRESETS["43_v1_cache_outlives"].scenario)
    assert parked_at(trace, 3) == set()
    assert parked_at(trace, 4) == parked_at(trace, 19) == {1, 2, 3, 4, 5}
    assert parked_at(trace, 20) == {5}
    assert {1, 2, 3, 4} <= held_at(trace, 20)


@pytest.mark.parametrize("preset", ["29_v0_shared_prefix", "43_v1_cache_outlives",
                                    "44_v1_evicts_the_tail"])
def test_parking_is_of_free_blocks_only(preset: str) -> None:
    trace = simulate(PRESETS[preset].scenario)
    assert trace.parkings
    for step, row in enumerate(trace.step_rows):
        parked = parked_at(trace, step)
        assert not parked & held_at(trace, step)
        assert len(parked) <= row.free_gpu_blocks


def test_parking_v1_evicted_block_ends_in_the_step_that_hands_it_out() -> None:
    """b takes a's third block, and a's first two stay for c."""
    trace = simulate(PRESETS["44_v1_evicts_the_tail"].scenario)
    evicted = [(e.block_id, e.step) for e in trace.event_rows if e.kind is Kind.EVICTED]
    assert evicted
    ends = {(p.block, p.to_step) for p in trace.parkings}
    assert set(evicted) <= ends


def test_parking_without_prefix_caching_there_is_none() -> None:
    assert simulate(PRESETS["46_v1_saturation"].scenario).parkings == []
