"""Scenarios in a URL: out and in again, the limit, and texts that are no such thing."""

from __future__ import annotations

import base64
import re
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Scenario, ScenarioError
from core.cost.machine import Machine
from core.export.permalink import MAX_CHARS, MAX_JSON_BYTES, TooLong, from_permalink, to_permalink
from tests.conftest import make_requests, make_scenario
from tests.strategies import scenarios


def packed(content: bytes) -> str:
    """A text with any content."""
    return "1." + base64.urlsafe_b64encode(zlib.compress(content, 9)).decode().rstrip("=")


def refusal(text: str) -> str:
    """The rule for which a text is refused."""
    with pytest.raises(ScenarioError) as refused:
        from_permalink(text)
    return refused.value.faults[0].rule


@settings(max_examples=60, deadline=None)
@given(scenarios())
def test_permalink_out_and_in_gives_the_same_scenario(scenario: Scenario) -> None:
    text = to_permalink(scenario)
    assert isinstance(text, str)
    assert from_permalink(text) == scenario
    assert re.fullmatch(r"1\.[A-Za-z0-9_-]+", text)


def test_permalink_keeps_names_of_any_script_machines_and_seconds() -> None:
    asked = make_requests(2, arrival_s=[0.0, 0.125])
    scenario = make_scenario(asked, name="Überlast 调度").model_copy(
        update={"clock": "seconds", "machine": Machine(model="Llama-3-8B")})
    assert from_permalink(str(to_permalink(scenario))) == scenario


def test_permalink_of_a_large_scenario_says_that_it_is_too_long() -> None:
    lengths = [(i * 7919) % 4093 + 1 for i in range(3000)]
    found = to_permalink(make_scenario(make_requests(3000, prompt_len=lengths)))
    assert isinstance(found, TooLong)
    assert found.num_chars > found.max_chars == MAX_CHARS
    assert found.num_requests == 3000


def test_permalink_of_forty_different_requests_fits() -> None:
    lengths = [(i * 7919) % 4093 + 1 for i in range(40)]
    assert isinstance(to_permalink(make_scenario(make_requests(40, prompt_len=lengths))), str)


@pytest.mark.parametrize("text", ["", "1", "1.", "2.abc", "hello", "1.ab cd", "1.ab/cd", "1.ü",
                                  "1.abc\n"])
def test_permalink_of_another_form_is_refused(text: str) -> None:
    assert "must be a link that this program made" in refusal(text)


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.99])
def test_permalink_cut_short_is_refused_as_damaged(keep: float) -> None:
    text = str(to_permalink(make_scenario(make_requests(9))))
    assert "damaged" in refusal(text[: int(len(text) * keep)])


def test_permalink_too_long_is_refused_before_it_is_unpacked() -> None:
    assert refusal("1." + "A" * MAX_CHARS) == "must have at most 6,000 characters"


def test_permalink_that_unpacks_to_too_much_is_refused() -> None:
    bomb = packed(b" " * (MAX_JSON_BYTES + 1))
    assert len(bomb) < MAX_CHARS
    assert refusal(bomb) == "must not unpack to more than 2,000,000 bytes"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"9" * 10_000])
def test_permalink_without_json_is_refused(content: bytes) -> None:
    assert refusal(packed(content))


def test_permalink_with_a_wrong_scenario_shows_its_faults() -> None:
    with pytest.raises(ScenarioError) as refused:
        from_permalink(packed(b'{"config": {"block_size": 0}, "requests": [{"prompt_len": 1}]}'))
    assert [f.field for f in refused.value.faults] == [
        "config.block_size", "requests.0.request_id", "requests.0.output_len"]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_permalink_of_any_bytes_is_refused_or_a_scenario(content: bytes) -> None:
    text = "1." + base64.urlsafe_b64encode(content).decode().rstrip("=")
    with pytest.raises(ScenarioError):
        from_permalink(text)
