"""The cases of public reports that are about V1: our run has the digest of the real engine's."""

from __future__ import annotations

import pytest

from tests.core.case_digest import CaseRun, case_runs, digest_of_ours

RUNS = case_runs("v1")


def test_cases_of_v1_are_all_there() -> None:
    assert len(RUNS) == 21


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_v1_case_has_the_digest_of_the_real_engine(run: CaseRun) -> None:
    assert digest_of_ours(run) == run.expected
