"""The summary: figures by hand, and a sentence for every note."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.workloads import Note, Workload, WorkloadRow, sentences
from core.workloads.summary import SENTENCES, Lengths
from tests.core.workloads.files import workload

CORE = Path(__file__).resolve().parents[3] / "core" / "workloads"


def rows(*times: float | None, prompts: list[int] | None = None) -> Workload:
    """A workload of requests at these seconds."""
    prompts = prompts or [1] * len(times)
    return Workload("test", "Test", tuple(
        WorkloadRow(f"r{i}", prompt, 1, time)
        for i, (time, prompt) in enumerate(zip(times, prompts, strict=True))))


def test_summary_of_even_arrivals_has_no_burstiness() -> None:
    summary = rows(1.0, 2.0, 3.0, 4.0).summary
    assert (summary.num_requests, summary.span, summary.burstiness) == (4, 3.0, 0.0)
    assert summary.rate == pytest.approx(4 / 3)


def test_summary_burstiness_is_deviation_over_mean_of_the_gaps() -> None:
    # gaps 0, 0, 6: mean 2, deviation sqrt((4 + 4 + 16) / 3)
    assert rows(0.0, 0.0, 0.0, 6.0).summary.burstiness == pytest.approx(8**0.5 / 2)


def test_summary_percentiles_are_the_values_at_their_rank() -> None:
    prompts = list(range(100, 0, -1))
    summary = rows(*map(float, range(100)), prompts=prompts).summary
    assert summary.prompt == Lengths(median=51, p95=96, max=100, total=5050)


@pytest.mark.parametrize("times", [(0.0,), (2.0, 2.0)])
def test_summary_without_a_span_has_no_rate(times: tuple[float, ...]) -> None:
    summary = rows(*times).summary
    assert (summary.span, summary.rate, summary.burstiness) == (0.0, None, None)


def test_summary_without_arrivals_has_no_unit() -> None:
    summary = rows(None, None).summary
    assert (summary.time_unit, summary.span, summary.rate) == (None, None, None)


def test_summary_of_steps_counts_in_steps() -> None:
    summary = workload("plain.csv").summary
    assert (summary.time_unit, summary.span) == ("step", 2.0)


def test_summary_counts_calls_that_wait_for_others() -> None:
    assert workload("llmservingsim.jsonl").summary.num_waiting_for_others == 1


def test_sentences_tell_requests_span_rate_lengths_and_notes() -> None:
    text = sentences(workload("burstgpt_v1.csv").summary)
    assert text[0] == ("BurstGPT: 3 requests in 113.0 s, 0.0265 per s; burstiness (CV of the gaps)"
                       " 0.29, where 1 is Poisson.")
    assert text[1] == "Prompts: median 472, 95% up to 1,087, longest 1,087; 1,976 tokens in all."
    assert text[3] == "Rows without output tokens (failed requests) left out: 1."


def test_sentences_of_shared_prefixes_tell_the_share() -> None:
    text = sentences(workload("mooncake.jsonl").summary)
    assert any(line.startswith("33.3% of the prompts' blocks were seen before") for line in text)


def test_sentences_without_arrivals_say_so() -> None:
    text = sentences(workload("vidur_lengths.csv").summary)
    assert text[0] == "Vidur / Sarathi processed trace: 2 requests without arrival times."


@pytest.mark.parametrize("key", SENTENCES)
def test_sentence_of_a_note_can_be_made_from_its_figures(key: str) -> None:
    value = 5 if "{value:," in SENTENCES[key] else 0.5 if "{value:g}" in SENTENCES[key] else "five"
    made = Workload("test", "Test", rows(0.0).rows, (Note("changed", key, 1234, value),))
    assert "{" not in sentences(made.summary)[-1]


def test_every_note_in_the_code_has_its_sentence_and_every_sentence_its_note() -> None:
    code = "\n".join(path.read_text() for path in CORE.rglob("*.py"))
    told = set(re.findall(r'Note\("\w+", "(\w+)"', code))
    told |= {"session_arrivals", "closed_loop"}  # handed over as an argument
    assert told == set(SENTENCES)
