"""ServeGen clients: two files, from which requests are drawn by a seed."""

from __future__ import annotations

import pytest

from core.workloads import Options, Workload, read
from core.workloads.servegen_files import read_client
from tests.core.workloads.files import data, faults_in, lengths, note, seconds

TRACE, DATASET = data("servegen_trace.csv"), data("servegen_dataset.json")


def draw(**options: object) -> Workload:
    """The requests of the client in tests/data."""
    return read(TRACE, Options(companion=DATASET, **options))  # type: ignore[arg-type]


def test_servegen_draws_from_the_first_window_with_traffic() -> None:
    found = draw(seed=3)
    times = seconds(found)
    assert all(0 <= time < 600 for time in times if time is not None)
    assert times == sorted(times)  # type: ignore[type-var]
    assert len(times) == pytest.approx(1200, rel=0.1)  # 2 per second for 600 s
    assert {prompt for prompt, _ in lengths(found)} == {60, 61}
    assert {output for _, output in lengths(found)} == {4, 5, 9}
    assert note(found, "drawn") == (len(times), 3)


def test_servegen_lengths_are_drawn_as_often_as_the_file_says() -> None:
    found = draw(duration_s=1200.0)
    share = sum(prompt == 61 for prompt, _ in lengths(found)) / len(found.rows)
    assert share == pytest.approx(0.75, abs=0.04)


def test_servegen_gaps_have_the_rate_and_burstiness_of_the_window() -> None:
    """Gamma of shape 0.64 has a CV of 1.25; Weibull of shape 1.26 has one of 0.80."""
    gamma = draw(seed=1).summary
    weibull = draw(seed=1, from_s=1200.0).summary
    assert gamma.burstiness == pytest.approx(1.25, rel=0.1)
    assert weibull.burstiness == pytest.approx(0.80, rel=0.1)
    assert weibull.rate == pytest.approx(0.5, rel=0.15)


def test_servegen_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    assert draw(seed=5).rows == draw(seed=5).rows
    assert draw(seed=5).rows != draw(seed=6).rows


def test_servegen_either_file_may_come_first() -> None:
    assert read(DATASET, Options(companion=TRACE)).rows == draw().rows


def test_servegen_part_of_a_window_begins_at_its_start() -> None:
    found = draw(from_s=900.0, duration_s=100.0)
    assert len(found.rows) == pytest.approx(200, rel=0.25)
    assert max(time for time in seconds(found) if time is not None) < 100


def test_servegen_multimodal_prompt_is_the_sum_of_its_parts() -> None:
    found = read(TRACE, Options(companion=data("servegen_multimodal_dataset.json")))
    assert set(lengths(found)) == {(90 + 1196, 6)}


def test_servegen_without_its_other_file_asks_for_it() -> None:
    ((_, rule),) = faults_in(TRACE)
    assert "chunk-N-dataset.json" in rule
    ((_, rule),) = faults_in(DATASET)
    assert "chunk-N-trace.csv" in rule


def test_servegen_time_without_traffic_is_refused_and_says_where_there_is_some() -> None:
    ((field, rule),) = faults_in(TRACE, Options(companion=DATASET, from_s=1800.0))
    assert field == "from_s"
    assert "600 s" in rule


def test_servegen_row_limit_bounds_what_is_drawn() -> None:
    assert len(draw(max_rows=10).rows) == 10


def test_servegen_lengths_come_from_the_last_data_before_the_time() -> None:
    client = read_client(TRACE, DATASET)
    (prompts, output) = client.lengths_at(0.0)  # none before: the first there are
    assert list(prompts[0].values) == [60, 61]
    assert list(output.values) == [4, 5, 9]


@pytest.mark.parametrize("text", [
    "__import__('os').system('true')", "{1: 2", "{1: [2]}", "{'a': 1}", "{1: -1.0}", "{1: 0.0}",
    "{1}", "{1: 1e999999}",
])
def test_servegen_distribution_that_is_no_dict_of_numbers_is_refused(text: str) -> None:
    dataset = DATASET.replace(b"{60: 0.25, 61: 0.75}", text.encode())
    ((field, _),) = faults_in(TRACE, Options(companion=dataset))
    assert field == "21600.input_tokens"


def test_servegen_bad_cell_is_named_by_line_and_column() -> None:
    trace = TRACE.replace(b"600,2.0", b"600,two")
    assert faults_in(DATASET, Options(companion=trace)) == [
        ("line 2, column 2 (rate)", "must be a number from 0 to 1e+06")]
