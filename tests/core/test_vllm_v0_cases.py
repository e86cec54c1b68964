"""vLLM's classic scheduler against what the real one did in the cases drawn from public reports."""

from __future__ import annotations

import pytest

from core import ScenarioError
from core.recorded import scenario_from_recorded
from core.simulator import check
from tests.core.case_digest import CASES, CaseRun, case_runs, digest_of_ours

RUNS = case_runs("v0")


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_case_run_by_us_gives_the_real_engines_digest(run: CaseRun) -> None:
    assert digest_of_ours(run) == run.expected
