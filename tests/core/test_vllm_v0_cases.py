"""The cases of public reports that are about V0: our run has the digest of the real engine's."""

from __future__ import annotations

import pytest

from core import ScenarioError, simulate
from core.recorded import scenario_from_recorded
from tests.core.case_digest import CaseRun, case_runs, digest_of_ours

RUNS = {run.name: run for run in case_runs("v0")}

NO_LENGTH_STOP = "07-prompt-over-token-limit-ignored:base"
"""This digest was taken without the engine's stop at max_model_len: a request whose prompt is
exactly that long got all its tokens."""


def test_cases_of_v0_are_all_there() -> None:
    assert len(RUNS) == 46


@pytest.mark.parametrize("name", [name for name in RUNS if name != NO_LENGTH_STOP])
def test_v0_case_has_the_digest_of_the_real_engine(name: str) -> None:
    assert digest_of_ours(RUNS[name]) == RUNS[name].expected


def test_v0_case_without_the_stop_at_max_model_len_has_the_digest_of_the_real_engine() -> None:
    """The prompt limit, min(max_model_len, token budget), stays what it is: the budget."""
    run = RUNS[NO_LENGTH_STOP]
    unlimited = with_knobs(run, max_model_len=1000, bypass_config_checks=True)
    assert digest_of_ours(unlimited) == run.expected


def test_v0_case_with_a_prompt_of_max_model_len_gets_one_token() -> None:
    run = RUNS[NO_LENGTH_STOP]
    assert (run.scenario["config"]["max_model_len"], digest_of_ours(run)["finished_step"]) == (
        160, {"r3": 1, "r0": 10, "r2": 10})


def test_v0_case_with_a_budget_below_the_model_length_is_refused_with_both_numbers_and_cures(
        ) -> None:
    scenario = RUNS["08-budget-below-model-len-rejected:base"].scenario
    with pytest.raises(ScenarioError) as refused:
        simulate(scenario_from_recorded(scenario, "v0"))
    (fault,) = refused.value.faults
    assert (fault.field, fault.value) == ("config.max_num_batched_tokens", 256)
    for part in ("max_model_len (512)", "raise it", "enable_chunked_prefill"):
        assert part in fault.rule


def with_knobs(run: CaseRun, **knobs: object) -> CaseRun:
    """The same run with other knobs, held against the same digest."""
    scenario = {**run.scenario, "config": {**run.scenario["config"], **knobs}}
    return run._replace(scenario=scenario)
