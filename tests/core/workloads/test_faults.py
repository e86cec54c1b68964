"""Files that are refused: where the fault is and what was expected; and the limits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.faults import ScenarioError
from core.workloads import Options, WorkloadError, read, to_requests
from tests.core.workloads.files import FORMAT_OF, data, faults_in, note

AZURE = data("azure_2024.csv")
MOONCAKE = data("mooncake.jsonl")


def test_workload_error_is_a_scenario_error() -> None:
    assert issubclass(WorkloadError, ScenarioError)


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xef\xbb\xbf"])
def test_read_empty_file_is_refused(content: bytes) -> None:
    assert faults_in(content) == [("file", "must have at least one row of data")]


@pytest.mark.parametrize("content", [
    b"hello", b"\x89PNG\r\n\x1a\n\x00\x00", b"a,b,c\n1,2,3\n", b'{"model": "x"}', b"[1, 2, 3]",
    b"PK\x03\x04", b"\x00" * 100,
])
def test_read_unknown_file_names_the_known_formats(content: bytes) -> None:
    ((field, rule),) = faults_in(content)
    assert field == "file"
    assert "BurstGPT" in rule
    assert "Mooncake" in rule


def test_read_header_only_is_refused() -> None:
    assert faults_in(AZURE.splitlines()[0]) == [("file", "must have at least one row of data")]


def test_read_too_many_bytes_is_refused() -> None:
    ((field, rule),) = faults_in(AZURE, Options(max_bytes=100))
    assert (field, rule) == ("file size", "must have at most 100 bytes; cut it by whole lines")


def test_read_rows_beyond_the_limit_are_counted_and_not_read() -> None:
    found = read(AZURE, Options(max_rows=3))
    assert len(found.rows) == 3
    assert note(found, "beyond_max_rows") == (1, 3)


@pytest.mark.parametrize(("old", "new", "place", "rule"), [
    (b"5434", b"x", "line 3, column 2 (ContextTokens)", "whole number from 0 to 10000000"),
    (b"5434", b"5434.5", "line 3, column 2 (ContextTokens)", "whole number"),
    (b"5434", b"-1", "line 3, column 2 (ContextTokens)", "whole number"),
    (b"5434", b"99999999999", "line 3, column 2 (ContextTokens)", "whole number"),
    (b"5434", b"9" * 5000, "line 3, column 2 (ContextTokens)", "whole number"),
    (b"5434", b"1_000", "line 3, column 2 (ContextTokens)", "whole number"),
    (b"338", b"", "line 3, column 3 (GeneratedTokens)", "whole number"),
    (b"338", b"nan", "line 3, column 3 (GeneratedTokens)", "whole number"),
    (b"2024-05-10 00:00:02+", b"10.5.2024 00:00+", "line 3, column 1 (TIMESTAMP)", "a time such"),
    (b"02.5+02:00", b"02.+02:00", "line 4, column 1 (TIMESTAMP)", "a time such"),
    (b",5434,338", b",5434", "line 3", "must have 3 cells, as line 1 has"),
    (b",5434,338", b",5434,338,1", "line 3", "must have 3 cells, as line 1 has"),
    (b"5434", b"\xff\xfe", "line 3, column 27", "text in UTF-8"),
])
def test_read_bad_cell_tells_line_and_column(old: bytes, new: bytes, place: str,
                                             rule: str) -> None:
    assert old in AZURE
    ((found_place, found_rule),) = faults_in(AZURE.replace(old, new))
    assert found_place == place
    assert rule in found_rule


def test_read_whole_numbers_written_as_floats_are_taken() -> None:
    assert read(AZURE.replace(b"5434", b"5434.0")).rows[1].prompt_len == 5434


def test_read_several_faults_are_told_at_once_but_no_more_than_five() -> None:
    rows = b"".join(b"2024-05-10 00:00:0%d,x,1\n" % i for i in range(9))
    places = [place for place, _ in faults_in(AZURE + rows)]
    assert places == [f"line {line}, column 2 (ContextTokens)" for line in range(6, 11)]


@pytest.mark.parametrize(("line", "place", "rule"), [
    ('{"timestamp": 0,', "line 2, column 17", "must be JSON"),
    ("[1]", "line 2, column 1", "must be a JSON object"),
    ('{"timestamp": "x", "input_length": 1, "output_length": 1}', 'line 2, "timestamp"',
     "must be a number from 0"),
    ('{"timestamp": NaN, "input_length": 1, "output_length": 1}', 'line 2, "timestamp"',
     "must be a number from 0"),
    ('{"timestamp": 0, "input_length": true, "output_length": 1}', 'line 2, "input_length"',
     "must be a whole number"),
    ('{"timestamp": 0, "output_length": 1}', 'line 2, "input_length"', "must be a whole number"),
    ('{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [1, 2]}',
     'line 2, "hash_ids"', "at most 1 entries"),
    ('{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": ["a"]}',
     'line 2, "hash_ids"', "list of whole numbers"),
    ("[" * 100_000, "line 2", "ordinary JSON"),
    ('{"timestamp": %s}' % ("9" * 5000), "line 2", "ordinary JSON"),
])
def test_read_bad_json_line_tells_where(line: str, place: str, rule: str) -> None:
    first, *_ = MOONCAKE.splitlines()
    ((found_place, found_rule),) = faults_in(first + b"\n" + line.encode() + b"\n")
    assert found_place == place
    assert rule in found_rule


def test_read_rows_without_tokens_are_left_out_and_counted() -> None:
    rows = b"2024-05-10 00:00:05,0,5\n2024-05-10 00:00:06,5,0\n"
    found = read(AZURE + rows)
    assert len(found.rows) == 4
    assert note(found, "zero_prompt") == (1, None)
    assert note(found, "zero_output") == (1, None)


def test_read_only_rows_without_tokens_is_refused() -> None:
    header = AZURE.splitlines()[0]
    ((place, rule),) = faults_in(header + b"\n2024-05-10 00:00:05,5,0\n")
    assert (place, rule) == ("file", "at least one row must have a prompt and an output")


def test_read_ids_that_repeat_are_replaced_and_it_is_said() -> None:
    lines = data("servegen_offline.jsonl").replace(b'"request_id": 1', b'"request_id": 0')
    found = read(lines)
    assert [row.request_id for row in found.rows] == ["r1", "r2"]
    assert note(found, "renamed") == (2, None)


def test_plain_csv_repeated_ids_are_refused() -> None:
    content = b"request_id,prompt_len,output_len\na,1,1\nb,1,1\na,1,1\n"
    assert faults_in(content) == [("request_id", "must differ from row to row")]


def test_plain_csv_steps_and_seconds_in_one_table_are_refused() -> None:
    content = b"prompt_len,output_len,arrival_step,arrival_s\n1,1,3,\n1,1,,0.5\n"
    assert faults_in(content) == [
        ("arrival_s", "must be empty where other rows have an arrival_step")]


def test_plain_csv_repeated_column_is_refused() -> None:
    ((place, rule),) = faults_in(b"prompt_len,output_len,output_len\n1,1,1\n")
    assert place == "line 1"
    assert "each once" in rule


def test_plain_csv_bad_block_ids_are_refused() -> None:
    content = b"prompt_len,output_len,prefix_hashes,prefix_hash_block\n9,1,a b,4\n"
    ((place, _),) = faults_in(content)
    assert place == "line 2, column 3 (prefix_hashes)"


def test_vllm_bench_without_details_is_told_how_to_get_them() -> None:
    content = json.dumps({"total_input_tokens": 3, "request_throughput": 1.0}).encode()
    ((place, rule),) = faults_in(content)
    assert place == "input_lens"
    assert "--save-detailed" in rule


def test_vllm_bench_lists_of_different_length_are_refused() -> None:
    content = json.dumps({"input_lens": [3, 4], "output_lens": [1]}).encode()
    assert faults_in(content) == [
        ('line 2, "output_lens"', "must be a whole number from 0 to 10000000")]


def test_scenario_json_with_faults_shows_the_fields() -> None:
    content = data("scenario.json").replace(b'"prompt_len": 10', b'"prompt_len": 0')
    with pytest.raises(ScenarioError) as refused:
        read(content)
    assert [fault.field for fault in refused.value.faults] == ["requests.0.prompt_len"]


def test_session_with_a_call_without_tokens_is_refused() -> None:
    content = data("llmservingsim.jsonl").replace(b'"output_toks": 10', b'"output_toks": 0')
    ((place, _),) = faults_in(content)
    assert place == 'line 2, "output_toks"'


@pytest.mark.parametrize("calls", ["[]", "[3]", "7", "null"])
def test_session_without_calls_is_refused(calls: str) -> None:
    content = '{"session_id": 1, "arrival_time_ns": 0, "sub_requests": %s}' % calls  # noqa: UP031
    ((place, _),) = faults_in(content.encode())
    assert place == 'line 1, "sub_requests"'


@pytest.mark.parametrize("name", sorted(set(FORMAT_OF) - {
    "servegen_trace.csv", "servegen_dataset.json", "servegen_multimodal_dataset.json"}))
def test_read_file_cut_anywhere_is_read_or_refused_and_never_fails(name: str) -> None:
    content = data(name)
    for length in range(0, len(content), max(1, len(content) // 40)):
        try:
            assert read(content[:length]).rows
        except ScenarioError as error:
            assert error.faults


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FORMAT_OF)), st.data())
def test_read_file_with_changed_bytes_is_read_or_refused_and_never_fails(
        name: str, drawn: st.DataObject) -> None:
    content = bytearray(data(name))
    for _ in range(drawn.draw(st.integers(1, 4))):
        at = drawn.draw(st.integers(0, len(content) - 1))
        piece = drawn.draw(st.sampled_from([b"", b"0", b"-", b"9" * 30, b"e9", b'"', b",", b"\n",
                                            b"null", b"[]", b"{}", b"1e400", b"\x00", b"\xff"]))
        content[at : at + drawn.draw(st.integers(0, 3))] = piece
    try:
        found = read(bytes(content), Options(companion=data("servegen_dataset.json")))
        assert found.summary.num_requests == len(found.rows) > 0
        assert len(to_requests(found)) == len(found.rows)
    except ScenarioError as error:
        assert error.faults


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_read_any_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ScenarioError):
        read(content)
