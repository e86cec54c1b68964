"""The numbered invariants over all schedulers and random workloads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Scenario, simulate
from core.invariants import INVARIANTS, Verdict, examine
from core.invariants.reruns import RERUNS, beginning
from core.schedulers import schedulers
from core.trace import Outcome
from tests.conftest import make_requests, make_scenario, run
from tests.strategies import scenarios

ROOT = Path(__file__).parents[2]
EVERY_SCHEDULER = pytest.mark.parametrize("scheduler", schedulers())


@EVERY_SCHEDULER
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_invariants_of_a_random_run_hold(scheduler: str, data: st.DataObject) -> None:
    trace = simulate(data.draw(scenarios(scheduler)))
    assert [finding for finding in examine(trace) if finding.verdict is Verdict.BROKEN] == []


@EVERY_SCHEDULER
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_invariants_that_need_another_run_hold(scheduler: str, data: st.DataObject) -> None:
    trace = simulate(data.draw(scenarios(scheduler)))
    found = [invariant.examine(trace) for invariant in RERUNS]
    assert [finding for finding in found if finding.verdict is Verdict.BROKEN] == []


def test_invariants_are_numbered_in_order_and_named_once() -> None:
    everything = [*INVARIANTS, *RERUNS]
    assert [invariant.number for invariant in everything] == list(range(1, 10))
    assert len({invariant.name for invariant in everything}) == 9


@EVERY_SCHEDULER
def test_breaks_of_a_scheduler_are_names_of_invariants_with_a_reason(scheduler: str) -> None:
    names = {invariant.name for invariant in [*INVARIANTS, *RERUNS]}
    for name, reason in schedulers()[scheduler].breaks.items():
        assert name in names
        assert reason


def test_article_that_admits_a_budget_of_sequences_each_cycle_is_exempt() -> None:
    """Slip 2 of article.py: with 2 seats, 3 requests run in step 2."""
    trace = run(make_requests(3, arrival_step=[0, 1, 2]), max_num_seqs=2)
    found = {finding.name: finding for finding in examine(trace)}
    exempt = found.pop("running_within_seq_budget")
    assert (exempt.verdict, exempt.step, dict(exempt.detail)) == (
        Verdict.EXEMPT, 2, {"num_running": 3, "seq_budget": 2})
    assert "slip 2" in exempt.reason
    assert Verdict.EXEMPT not in {finding.verdict for finding in found.values()}


def test_article_that_recomputes_more_than_it_charged_is_exempt() -> None:
    """Slip 5 of article.py: 8 tokens computed in step 9, of a budget of 4."""
    trace = run(make_requests(2, prompt_len=1, output_len=9), block_size=8, num_gpu_blocks=2,
                preemption_mode="recompute", max_num_batched_tokens=4)
    (exempt,) = [f for f in examine(trace) if f.verdict is Verdict.EXEMPT]
    assert (exempt.name, exempt.step, dict(exempt.detail)) == (
        "tokens_within_budget", 9, {"num_tokens": 8, "token_budget": 4})
    assert "slip 5" in exempt.reason


def test_run_in_which_nothing_happens_has_nothing_to_check() -> None:
    found = [i.examine(simulate(make_scenario([]))) for i in [*INVARIANTS, *RERUNS]]
    assert [f.name for f in found if f.verdict is not Verdict.NOT_APPLICABLE] == [
        "deterministic_csv"]


def test_run_in_which_nobody_is_refused_says_so_instead_of_held() -> None:
    found = {f.name: f.verdict for f in examine(run(make_requests(2)))}
    not_seen = {"no_admission_past_refused_head", "every_refusal_has_a_cause"}
    assert {name for name, verdict in found.items() if verdict is Verdict.NOT_APPLICABLE} == (
        not_seen)
    assert {verdict for name, verdict in found.items() if name not in not_seen} == {Verdict.HELD}


# -- two processes --------------------------------------------------------------------------------

PRINT_TABLES = """
import sys
from core import Scenario, simulate
from core.export.csv import tables_csv
for line in sys.stdin:
    for name, content in tables_csv(simulate(Scenario.from_json(line))).items():
        sys.stdout.buffer.write(name.encode() + b"\\n" + content)
"""


def tables_in_a_process(scenarios: list[Scenario], hash_seed: str) -> bytes:
    """The CSVs of these scenarios, made by a fresh interpreter with this PYTHONHASHSEED."""
    lines = "\n".join(scenario.to_json().replace("\n", "") for scenario in scenarios)
    done = subprocess.run(
        [sys.executable, "-c", PRINT_TABLES], input=lines.encode(), cwd=ROOT, check=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True)
    return done.stdout


def test_tables_made_in_processes_with_other_hash_seeds_are_the_same_bytes() -> None:
    """Every scheduler, under pressure, with text where a set or a dict could be iterated."""
    requests = make_requests(
        8, prompt_len=[9, 4, 12, 7, 3, 8, 11, 5], output_len=9,
        arrival_step=[0, 0, 0, 1, 1, 2, 5, 9],
        priority=[1, 0, 2, 0, 1, 2, 0, 1], prefix_id=["p", "q", "p", "q", "r", "p", "r", "q"],
        prefix_len=8)
    under_pressure = [
        make_scenario(requests, scheduler=name, num_cpu_blocks=64, enable_prefix_caching=caching,
                      policy="priority", preemption_mode=mode)
        for name in schedulers() for caching in (False, True) for mode in ("swap", "recompute")]
    one, other = (tables_in_a_process(under_pressure, seed) for seed in ("1", "2"))
    assert b"preempted" in one
    assert b"swapped_out" in one
    assert one == other


def test_beginning_of_a_run_is_the_run_itself_if_it_serves_few() -> None:
    trace = run(make_requests(2))
    served = sum(row.num_scheduled for row in trace.step_rows)
    assert beginning(trace, served) is trace


def test_beginning_of_a_long_run_is_its_first_steps() -> None:
    """Two requests are served in each of 4 steps: after 2 of them, 4 of the 8."""
    trace = run(make_requests(2))
    part = beginning(trace, 5)
    assert (part.num_steps, part.end.outcome) == (2, Outcome.STEP_LIMIT)
    assert part.step_rows == trace.step_rows[:2]
