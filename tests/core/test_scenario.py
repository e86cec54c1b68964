"""Scenario, EngineConfig and Request: bounds, all faults at once, JSON in and out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from core import EngineConfig, Request, Scenario, ScenarioError
from core.runnable import runnable
from tests.conftest import make_requests, make_scenario
from tests.strategies import scenarios

MINIMAL = {"request_id": "a", "prompt_len": 1, "output_len": 1}


def faults(data: object) -> list[tuple[str, Any, str]]:
    """What is wrong with the data of a scenario: field, value, rule."""
    with pytest.raises(ScenarioError) as refusal:
        Scenario.parse(data)
    return [tuple(fault) for fault in refusal.value.faults]  # type: ignore[misc]


# -- bounds ---------------------------------------------------------------------------------------


def bounds(model: type[BaseModel]) -> list[tuple[str, float, float]]:
    """Every number of a model with its least and greatest value, read from its JSON schema."""
    found = []
    for name, schema in model.model_json_schema()["properties"].items():
        for part in schema.get("anyOf", [schema]):
            if part.get("type") in ("integer", "number"):
                low = part.get("minimum", part.get("exclusiveMinimum"))
                found.append((name, low, part.get("maximum", part.get("exclusiveMaximum"))))
    return found


@pytest.mark.parametrize("model", [Scenario, EngineConfig, Request])
def test_every_number_of_a_model_has_both_bounds(model: type[BaseModel]) -> None:
    assert bounds(model)
    assert [name for name, low, high in bounds(model) if low is None or high is None] == []


@pytest.mark.parametrize(("name", "low", "high"), bounds(EngineConfig))
def test_knob_outside_its_bounds_is_refused_with_its_name(
        name: str, low: float, high: float) -> None:
    for value in (low - 1, high + 1):
        ((field, given_value, rule),) = faults({"config": {name: value}})
        assert (field, given_value) == (f"config.{name}", value)
        assert "than" in rule


@pytest.mark.parametrize(("name", "low", "high"), bounds(Request))
def test_request_number_outside_its_bounds_is_refused_and_on_them_taken(
        name: str, low: int, high: int) -> None:
    for value in (low - 1, high + 1):
        ((field, given_value, _),) = faults({"requests": [{**MINIMAL, name: value}]})
        assert (field, given_value) == (f"requests.0.{name}", value)
    given = {**MINIMAL, "prefix_hashes": [7]} if name == "prefix_hash_block" else MINIMAL
    for value in (low, high):
        assert getattr(Request(**{**given, name: value}), name) == value


@pytest.mark.parametrize(("name", "value"), [
    ("block_size", 1), ("block_size", 4096), ("num_gpu_blocks", 1), ("num_cpu_blocks", 0),
    ("watermark", 0.0), ("watermark", 0.999), ("compression_ratio", 1.001), ("max_num_seqs", 1)])
def test_knob_on_its_bound_is_taken(name: str, value: float) -> None:
    assert getattr(EngineConfig(**{name: value}), name) == value


@pytest.mark.parametrize(("name", "value"), [("watermark", 1.0), ("compression_ratio", 1.0)])
def test_knob_on_an_open_bound_is_refused(name: str, value: float) -> None:
    ((field, _, _),) = faults({"config": {name: value}})
    assert field == f"config.{name}"


@pytest.mark.parametrize("value", [True, 2.0, "2", None, float("nan"), float("inf")])
def test_count_that_is_not_a_whole_number_is_refused(value: object) -> None:
    ((field, _, rule),) = faults({"requests": [{**MINIMAL, "prompt_len": value}]})
    assert field == "requests.0.prompt_len"
    assert "integer" in rule or "finite" in rule


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_fraction_that_is_not_finite_is_refused(value: float) -> None:
    ((field, _, rule),) = faults({"config": {"watermark": value}})
    assert (field, rule) == ("config.watermark", "input should be a finite number")


def test_defaults_are_the_articles() -> None:
    """Section 3: token_budget=4096, seq_budget=32, max_prompt_len = 2048."""
    config = EngineConfig()
    assert (config.max_num_batched_tokens, config.max_num_seqs, config.max_model_len) == (
        4096, 32, 2048)
    assert (config.batch_group_size, config.compression_min_blocks) == (4, 10)


# -- all faults at once ---------------------------------------------------------------------------


def test_input_with_many_faults_reports_each_with_field_value_and_rule() -> None:
    found = faults({
        "max_steps": 0,
        "config": {"block_size": 0, "policy": "lifo", "watermark": 1.0, "num_slots": 3},
        "requests": [MINIMAL, {**MINIMAL, "prompt_len": 0}, "no request"],
    })
    assert [(field, value) for field, value, _ in found[:-1]] == [
        ("config.block_size", 0), ("config.policy", "lifo"), ("config.watermark", 1.0),
        ("config.num_slots", 3), ("requests.1.prompt_len", 0), ("requests.2", "no request"),
        ("max_steps", 0)]
    assert [rule for _, _, rule in found[:2]] == [
        "input should be greater than or equal to 1",
        "input should be 'fcfs', 'priority' or 'length'"]
    field, _, rule = found[-1]
    assert (field, rule) == ("requests", "ids must differ; repeated: 'a'")


def test_repeated_ids_are_named() -> None:
    requests = [{**MINIMAL, "request_id": each} for each in "abcba"]
    ((field, _, rule),) = faults({"requests": requests})
    assert (field, rule) == ("requests", "ids must differ; repeated: 'a', 'b'")
    with pytest.raises(ValidationError, match="ids must differ"):
        Scenario(requests=(Request(**MINIMAL), Request(**MINIMAL)))


def test_error_text_has_a_line_for_each_fault() -> None:
    with pytest.raises(ScenarioError) as refusal:
        Scenario.parse({"max_steps": 0, "name": ""})
    assert str(refusal.value).splitlines() == [
        "name = '': string should have at least 1 character",
        "max_steps = 0: input should be greater than or equal to 1"]


@pytest.mark.parametrize("data", [None, [], "x", 3])
def test_data_that_is_no_object_is_refused(data: object) -> None:
    ((field, value, _),) = faults(data)
    assert (field, value) == ("scenario", data)


@pytest.mark.parametrize("data", [{"requests": None}, {"requests": "x"}, {"requests": {}},
                                  {"config": None}, {"config": [1]}])
def test_part_of_the_wrong_kind_is_refused_with_its_name(data: dict[str, object]) -> None:
    ((field, _, _),) = faults(data)
    assert field == next(iter(data))


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", b"\xff", "9" * 5_000, "[" * 100_000])
def test_text_that_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_json(text)
    assert refusal.value.faults[0].field == "JSON"


# -- prompts as text ------------------------------------------------------------------------------


def test_prompt_text_gives_the_prompt_length() -> None:
    assert Request(request_id="a", output_len=1, prompt="你好, vLLM").prompt_len == 8


def test_prompt_text_of_another_length_than_stated_is_refused() -> None:
    ((field, value, rule),) = faults({"requests": [{**MINIMAL, "prompt": "Hello"}]})
    assert (field, value) == ("requests.0.prompt_len", 1)
    assert "one token per character" in rule


def test_empty_prompt_text_is_refused() -> None:
    ((field, value, _),) = faults({"requests": [{"request_id": "a", "output_len": 1,
                                                 "prompt": ""}]})
    assert (field, value) == ("requests.0.prompt_len", 0)


# -- frozen, JSON, knobs --------------------------------------------------------------------------


def test_scenario_cannot_be_changed() -> None:
    scenario = make_scenario()
    for model, name in ((scenario, "name"), (scenario.config, "block_size"),
                        (scenario.requests[0], "prompt_len")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(model, name, 3)


@given(scenarios())
def test_json_in_and_out_is_the_identity(scenario: Scenario) -> None:
    text = scenario.to_json()
    assert Scenario.from_json(text) == scenario
    assert Scenario.from_json(text.encode()) == scenario
    assert Scenario.from_json(text).to_json() == text


@given(st.text(min_size=1, max_size=64).filter(lambda t: t.isprintable()))
def test_request_id_of_any_script_survives_json(request_id: str) -> None:
    scenario = make_scenario([{**MINIMAL, "request_id": request_id}])
    assert Scenario.from_json(scenario.to_json()).requests[0].request_id == request_id


def test_json_of_a_scenario_leaves_defaults_out() -> None:
    scenario = Scenario.parse({"config": {"block_size": 16, "num_gpu_blocks": 8},
                               "requests": [MINIMAL]})
    assert json.loads(scenario.to_json()) == {
        "config": {"num_gpu_blocks": 8}, "requests": [MINIMAL]}


def test_with_knobs_changes_only_the_knobs_and_checks_them() -> None:
    scenario = make_scenario(make_requests(2), max_num_seqs=3)
    changed = scenario.with_knobs(num_gpu_blocks=99)
    assert changed.config.num_gpu_blocks == 99
    assert changed.with_knobs(num_gpu_blocks=scenario.config.num_gpu_blocks) == scenario
    with pytest.raises(ScenarioError, match=r"config\.num_gpu_blocks = 0"):
        scenario.with_knobs(num_gpu_blocks=0)


def test_runnable_tells_faults_of_the_input_and_of_the_scheduler_at_once() -> None:
    data = {"scheduler": "vllm_v0", "config": {"max_num_batched_tokens": 100, "max_model_len": 200,
                                               "max_num_seqs": 4},
            "requests": [{"request_id": "1", "arrival_step": 0, "prompt_len": 0,
                          "output_len": 1}]}
    with pytest.raises(ScenarioError) as caught:
        runnable(data)
    assert [fault.field for fault in caught.value.faults] == [
        "requests.0.prompt_len", "config.max_num_batched_tokens"]


def test_runnable_tells_an_unknown_scheduler_with_the_other_faults() -> None:
    with pytest.raises(ScenarioError) as caught:
        runnable({"scheduler": "none", "requests": 5})
    assert [fault.field for fault in caught.value.faults] == ["requests", "scheduler"]


@pytest.mark.parametrize("data", [None, 5, [], {"scheduler": 7}, {"config": {"block_size": 0}},
                                  {"config": 3}])
def test_runnable_of_what_is_no_scenario_tells_each_fault_once(data: object) -> None:
    with pytest.raises(ScenarioError) as caught:
        runnable(data)
    fields = [fault.field for fault in caught.value.faults]
    assert len(fields) == len(set(fields))
