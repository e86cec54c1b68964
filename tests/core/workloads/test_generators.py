"""Seeded generators: reproducible, and with the figures that were asked for."""

from __future__ import annotations

from collections import defaultdict

import pytest

from core import ScenarioError
from core.workloads import Options, Workload, WorkloadRow
from core.workloads.arrivals import generator
from core.workloads.generators import Recipe, generate
from core.workloads.lengths import Lengths
from tests.core.workloads.files import note, seconds

ARRIVALS = ("poisson", "gamma", "burst", "uniform", "closed_loop")


def conversations(found: Workload) -> dict[str, list[WorkloadRow]]:
    """The rows of each conversation, c1, c2, ..."""
    groups = defaultdict(list)
    for row in found.rows:
        groups[row.request_id.split(".")[0]].append(row)
    return groups


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("turns", [1, 3])
def test_generate_same_recipe_gives_the_same_rows_and_another_seed_others(
        arrivals: str, turns: int) -> None:
    def made(seed: int) -> Workload:
        return generate(Recipe(count=40, arrivals=arrivals, turns=turns,  # type: ignore[arg-type]
                               seed=seed))

    assert made(1) == made(1)
    assert made(1).rows != made(2).rows
    times = seconds(made(1))
    assert times == sorted(times)  # type: ignore[type-var]
    assert len(times) == 40
    assert times[0] == 0.0


def test_generate_rows_of_a_seed_are_these_on_every_machine() -> None:
    found = generate(Recipe(count=3, seed=7))
    assert [(r.request_id, r.prompt_len, r.output_len) for r in found.rows] == [
        ("r1", 338, 147), ("r2", 39, 85), ("r3", 195, 48)]
    assert seconds(found) == pytest.approx([0.0, 0.20504066965898102, 0.31875040113563136])


def test_generate_other_arrivals_leave_the_lengths_alone() -> None:
    poisson, uniform = (generate(Recipe(arrivals=kind)) for kind in ("poisson", "uniform"))
    assert [(r.prompt_len, r.output_len) for r in poisson.rows] == [
        (r.prompt_len, r.output_len) for r in uniform.rows]


def test_generate_poisson_has_its_rate_and_a_burstiness_of_one() -> None:
    summary = generate(Recipe(count=4000, rate=8.0)).summary
    assert summary.rate == pytest.approx(8.0, rel=0.05)
    assert summary.burstiness == pytest.approx(1.0, rel=0.05)


def test_generate_gamma_has_its_rate_and_its_burstiness() -> None:
    summary = generate(Recipe(count=20_000, arrivals="gamma", rate=8.0, cv=3.0)).summary
    assert summary.rate == pytest.approx(8.0, rel=0.1)
    assert summary.burstiness == pytest.approx(3.0, rel=0.1)


def test_generate_uniform_has_equal_gaps() -> None:
    assert seconds(generate(Recipe(count=4, arrivals="uniform", rate=4.0))) == [0, 0.25, 0.5, 0.75]


def test_generate_burst_sends_groups_at_the_mean_rate() -> None:
    found = generate(Recipe(count=6, arrivals="burst", rate=4.0, burst_size=2))
    assert seconds(found) == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]


def test_generate_closed_loop_sends_the_next_after_the_estimated_answer() -> None:
    recipe = Recipe(count=5, arrivals="closed_loop", clients=2, think_s=0.5,
                    prompt=Lengths("fixed", 100), output=Lengths("fixed", 10))
    found = generate(recipe, Options(prefill_s_per_token=0.001, decode_s_per_token=0.1))
    by_id = {row.request_id: row.arrival_s for row in found.rows}
    # a call lasts 100 * 0.001 + 10 * 0.1 = 1.1 s, and then 0.5 s of thought
    assert by_id == pytest.approx({"u1.1": 0, "u2.1": 0, "u1.2": 1.6, "u2.2": 1.6, "u1.3": 3.2})
    assert note(found, "closed_loop") == (3, 0.1)


def test_generate_conversation_grows_by_all_that_was_said() -> None:
    recipe = Recipe(count=6, turns=3, prompt=Lengths("fixed", 100), output=Lengths("fixed", 10))
    groups = conversations(generate(recipe))
    assert list(groups) == ["c1", "c2"]
    for rows in groups.values():
        assert [row.prompt_len for row in rows] == [100, 210, 320]
        assert [row.prefix_len for row in rows] == [100, 210, 320]
        assert len({row.prefix_id for row in rows}) == 1
        assert [row.after for row in rows] == [None, rows[0].request_id, rows[1].request_id]
    assert groups["c1"][0].prefix_id != groups["c2"][0].prefix_id


def test_generate_system_prompts_are_taken_in_turn() -> None:
    found = generate(Recipe(count=3, system_prompt_len=50, num_system_prompts=2,
                            prompt=Lengths("fixed", 10)))
    assert [(r.prefix_id, r.prefix_len, r.prompt_len) for r in found.rows] == [
        ("system1", 50, 60), ("system2", 50, 60), ("system1", 50, 60)]


def test_generate_conversations_behind_a_system_prompt_share_it_and_their_own_words() -> None:
    recipe = Recipe(count=4, turns=2, system_prompt_len=40, prompt=Lengths("fixed", 24),
                    output=Lengths("fixed", 8))
    (one, one_later), (two, _) = conversations(generate(recipe)).values()
    assert one.prompt_len == 64
    assert one_later.prompt_len == 64 + 8 + 24
    assert one.prefix_hash_block == 16
    assert one.prefix_hashes[:2] == two.prefix_hashes[:2]  # 32 of the 40 tokens, in blocks of 16
    assert not set(one.prefix_hashes[2:]) & set(two.prefix_hashes)
    assert one_later.prefix_hashes[:4] == one.prefix_hashes


def test_lengths_fixed_are_all_the_same() -> None:
    assert Lengths("fixed", 9).draw(generator(0), 3) == [9, 9, 9]


def test_lengths_uniform_reach_both_bounds() -> None:
    assert set(Lengths("uniform", low=3, high=5).draw(generator(0), 200)) == {3, 4, 5}


def test_lengths_lognormal_have_their_median_and_spread_and_stay_in_bounds() -> None:
    drawn = sorted(Lengths("lognormal", 200, 0.5, low=50, high=2000).draw(generator(0), 4000))
    assert drawn[2000] == pytest.approx(200, rel=0.05)
    assert drawn[int(4000 * 0.841)] == pytest.approx(200 * 2.718281828**0.5, rel=0.08)
    assert drawn[0] >= 50
    assert Lengths("lognormal", 200, 3.0, low=100, high=300).draw(generator(0), 50).count(300) > 5


@pytest.mark.parametrize("wrong", [
    {"count": 0}, {"rate": 0}, {"rate": float("inf")}, {"cv": -1}, {"clients": 0}, {"turns": 0},
    {"seed": -1}, {"think_s": -0.1}, {"count": 2_000_000}, {"system_prompt_len": 10**7},
])
def test_recipe_of_nonsense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ScenarioError):
        Recipe(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [
    {"low": 0}, {"low": 5, "high": 4}, {"typical": 0}, {"spread": -1}, {"high": 10**9},
])
def test_lengths_of_nonsense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ScenarioError):
        Lengths(**wrong)  # type: ignore[arg-type]
