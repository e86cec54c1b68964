"""The numbers that the texts of the presets in seconds and before paging name."""

from __future__ import annotations

from statistics import mean

import pytest

from core import Trace, simulate
from core.presets import load_presets
from core.trace import Kind, Limit

PRESETS = load_presets()


def both(name: str) -> tuple[Trace, Trace]:
    """The run of a preset and that of its counterpart."""
    other = PRESETS[name].other()
    assert other is not None
    return simulate(PRESETS[name].scenario), simulate(other)


def counted(trace: Trace, kind: Kind, request_id: str | None = None) -> int:
    return sum(e.kind is kind and request_id in (None, trace.request_id(e.request))
               for e in trace.event_rows)


def durations_ms(trace: Trace, num_running: int) -> list[float]:
    """Steps without prompts in which so many run."""
    assert trace.durations_s is not None
    return [1e3 * duration
            for duration, row in zip(trace.durations_s, trace.step_rows, strict=True)
            if row.num_running == num_running and not row.num_prefill_tokens]


def test_static_batch_takes_70_steps_where_joining_takes_40() -> None:
    static, orca = both("70_static_batch")
    assert (static.num_steps, orca.num_steps) == (70, 40)


def test_fragmented_memory_is_half_free_and_has_no_run_of_five() -> None:
    orca, paged = both("72_orca_fragmented")
    assert (orca.num_steps, paged.num_steps) == (54, 40)
    refused = {e.step: e for e in orca.event_rows if e.cause
               and e.cause.limit is Limit.CONTIGUOUS_RUN}
    for step in range(10, 24):
        assert orca.step_rows[step].free_gpu_blocks == 10
        cause = refused[step].cause
        assert cause is not None
        assert (orca.request_id(refused[step].request), cause[1:3]) == ("r5", (5, 4))


def test_steps_on_the_4090_last_19_ms_and_with_prompts_up_to_214() -> None:
    trace = simulate(PRESETS["80_seconds_rtx_4090"].scenario)
    assert trace.durations_s is not None
    ordered = sorted(trace.durations_s)
    assert round(1e3 * ordered[len(ordered) // 2]) == 19
    assert round(1e3 * ordered[-1]) == 214


def test_swaps_and_recomputes_on_the_a100_take_as_long() -> None:
    swapped, recomputed = both("81_seconds_a100_swap")
    assert counted(swapped, Kind.SWAPPED_OUT) == 12
    assert counted(recomputed, Kind.PREEMPTED) == 24
    assert counted(recomputed, Kind.PREEMPTED, "r11") == 9
    for trace in (swapped, recomputed):
        assert trace.end_s(trace.num_steps) == pytest.approx(4.8, abs=0.05)
    first = next(e for e in swapped.event_rows if e.kind is Kind.SWAPPED_OUT)
    assert swapped.durations_s is not None
    assert first.num_tokens == 6
    assert round(1e3 * swapped.durations_s[first.step - 1]) == 16
    assert round(1e3 * swapped.durations_s[first.step]) == 20


def test_steps_of_sixteen_on_the_t4_last_hardly_longer_than_of_one() -> None:
    trace = simulate(PRESETS["82_seconds_t4_small"].scenario)
    assert mean(durations_ms(trace, 1)) == pytest.approx(10.0, abs=0.05)
    assert mean(durations_ms(trace, 16)) == pytest.approx(10.4, abs=0.05)
