"""vLLM's classic scheduler: the priority policy, how the engine dies, and the knobs it refuses.

Numbers in the docstrings are sections of golden/v0, "surprise" its part 4. Blocks hold 4 tokens.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from core import ScenarioError
from core.engine import EngineDied
from core.recorder import Recorder
from core.runnable import check
from core.scenario import Request
from core.schedulers import schedulers
from core.sequence import Sequence
from core.trace import Cause, End, Kind, Limit, Outcome, State
from tests.conftest import (
    column,
    ids_of,
    make_requests,
    make_scenario,
    queue_after,
    two_that_outgrow_their_blocks,
)
from tests.core.v0_runs import causes, run_v0

# -- priority ------------------------------------------------------------------------------------

def test_urgent_head_pushes_out_the_least_urgent_and_a_more_urgent_one_comes_in() -> None:
    """2.12 and surprise 16: room is made for 3; sorted, 4 stands before it."""
    trace = run_v0(make_requests(5, priority=[5, 4, 3, 1, 1]), policy="priority", max_num_seqs=2)
    assert causes(trace, Kind.PREEMPTED)[0] == (1, "1", Cause(Limit.PRIORITY, other="3"))
    assert queue_after(trace, "waiting", 1) == ["4", "5", "3", "1"]
    assert ids_of(trace, Kind.ADMITTED, step=2) == ["4"]


def test_priority_with_swapping_kills_the_engine_at_the_next_look_at_the_victim() -> None:
    """Surprise 16: 1 is swapped out and yet in waiting, where admission meets it behind 2."""
    trace = run_v0(make_requests(2, priority=[5, 0], arrival_step=[0, 1]), policy="priority",
                   preemption_mode="swap", max_num_seqs=1)
    assert causes(trace, Kind.SWAPPED_OUT) == [(1, "1", Cause(Limit.PRIORITY, other="2"))]
    assert queue_after(trace, "waiting", 1) == ["2", "1"]
    assert trace.end._replace(message="") == End(
        Outcome.ABORTED, 2, Cause(Limit.INTERNAL_ERROR), 0)
    assert trace.end.message.startswith("AssertionError: ")


def test_priority_preemption_for_a_swapped_out_candidate_kills_the_engine() -> None:
    """2.12: as the candidate, with somebody less urgent running. No recording gets there."""
    config = make_scenario(scheduler="vllm_v0", policy="priority", preemption_mode="swap").config
    engine: Any = schedulers()["vllm_v0"](config, Recorder(""))
    runs, waits = (Sequence(i, Request(request_id=str(i), prompt_len=1, output_len=1,
                                       priority=1 - i)) for i in range(2))
    waits.state = State.SWAPPED
    engine.running.append(runs)
    engine.waiting.append(waits)
    with pytest.raises(EngineDied, match="IndexError: ") as death:
        engine.schedule_priority_preemption()
    assert (death.value.request, death.value.cause) == (waits, Cause(Limit.INTERNAL_ERROR))


# -- the engine dies -----------------------------------------------------------------------------

@pytest.mark.parametrize(("prompt_len", "num_cpu_blocks", "needed"), [(1, 0, 1), (4, 1, 2)])
def test_too_few_cpu_blocks_kill_the_engine_and_at_a_block_edge_one_too_many_is_asked_for(
        prompt_len: int, num_cpu_blocks: int, needed: int) -> None:
    """Surprise 4: the victim holds one block. If it is full, two are asked for."""
    trace = run_v0(make_requests(2, prompt_len=prompt_len), num_gpu_blocks=2,
                   num_cpu_blocks=num_cpu_blocks, preemption_mode="swap")
    assert trace.end._replace(message="") == End(
        Outcome.ABORTED, 1, Cause(Limit.CPU_BLOCKS, needed, num_cpu_blocks, "1"), 1)
    assert trace.end.message.startswith("RuntimeError: ")
    assert column(trace, "requests", "outcome") == ["aborted", "aborted"]


def test_outgrowing_the_cache_while_swapped_out_loses_the_cpu_blocks_for_good() -> None:
    """Surprise 7: 8 tokens in both blocks; with the ninth it needs three to come back."""
    trace = run_v0(make_requests(1, prompt_len=8), num_gpu_blocks=2, preemption_mode="swap")
    assert causes(trace, Kind.IGNORED) == [(2, "1", Cause(Limit.GPU_BLOCKS, 3, 2))]
    assert column(trace, "steps", "free_cpu_blocks") == [8, 6, 6]
    assert trace.end.outcome is Outcome.FINISHED


def test_budget_that_is_no_multiple_of_the_block_size_kills_caching_with_chunks() -> None:
    """Surprise 15, where the check of the knobs is bypassed."""
    trace = run_v0(make_requests(1), max_num_batched_tokens=10, enable_chunked_prefill=True,
                   enable_prefix_caching=True, bypass_config_checks=True)
    assert (trace.end.outcome, trace.end.step) == (Outcome.ABORTED, 0)
    assert trace.end.message.startswith("ValueError: ")


# -- the knobs -----------------------------------------------------------------------------------

@pytest.mark.parametrize(("knobs", "field", "part"), [
    ({"max_num_seqs": 65}, "max_num_batched_tokens", "max_num_seqs (65)"),
    ({"max_model_len": 65}, "max_num_batched_tokens", "max_model_len (65)"),
    ({"max_num_batched_tokens": 66, "enable_chunked_prefill": True, "enable_prefix_caching": True},
     "max_num_batched_tokens", "multiple of block_size (4)"),
])
def test_budget_that_the_engine_refuses_at_its_start_is_refused_unless_bypassed(
        knobs: dict[str, Any], field: str, part: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        check(make_scenario(scheduler="vllm_v0", **knobs))
    (fault,) = refused.value.faults
    assert fault.field == f"config.{field}"
    assert part in fault.rule
    check(make_scenario(scheduler="vllm_v0", bypass_config_checks=True, **knobs))


def test_policy_that_the_engine_does_not_know_is_refused_even_if_bypassed() -> None:
    with pytest.raises(ScenarioError, match="policy = 'length'"):
        check(make_scenario(scheduler="vllm_v0", policy="length", bypass_config_checks=True))


@pytest.mark.parametrize("mode", ["recompute", None])
def test_engines_own_choice_of_preemption_is_recompute(mode: str | None) -> None:
    """Surprise 17."""
    trace = two_that_outgrow_their_blocks("vllm_v0", preemption_mode=mode)
    assert ids_of(trace, Kind.SWAPPED_OUT) == []
    assert ids_of(trace, Kind.PREEMPTED) == ["2", "2", "2", "2"]


@pytest.mark.parametrize(("scheduler", "call"), [
    ("vllm_v0", "self.throw_out(victim"), ("article", "self.swap_out(seq_group")])
def test_death_names_the_line_of_the_scheduler_that_was_at_work(scheduler: str, call: str) -> None:
    """The blocks are moved in another file; the line is that of the scheduler's call."""
    trace = two_that_outgrow_their_blocks(scheduler, preemption_mode="swap", num_cpu_blocks=0)
    (death,) = [event for event in trace.event_rows if event.kind is Kind.ABORTED]
    source = Path(inspect.getfile(schedulers()[scheduler])).read_text("utf-8").splitlines()
    assert call in source[(death.line or 0) - 1]
