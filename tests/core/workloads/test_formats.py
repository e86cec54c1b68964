"""Each format, read from a small file of it: what becomes of its rows, and what is said."""

from __future__ import annotations

import json

import pytest

from core.workloads import Options, formats, read, recognise
from core.workloads.sniffing import HEAD_BYTES
from tests.core.workloads.files import (
    FORMAT_OF,
    HERE,
    data,
    lengths,
    note,
    seconds,
    workload,
)


def test_format_of_every_file_is_tested() -> None:
    assert sorted(FORMAT_OF) == sorted(path.name for path in HERE.iterdir())
    assert set(FORMAT_OF.values()) == set(formats())


@pytest.mark.parametrize(("name", "expected"), FORMAT_OF.items())
def test_recognise_a_file_finds_exactly_its_format(name: str, expected: str) -> None:
    head = data(name)[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf")
    assert [key for key, each in formats().items() if each.sniff(head)] == [expected]
    assert recognise(data(name)) == expected


@pytest.mark.parametrize("name", FORMAT_OF)
def test_recognise_with_byte_order_mark_finds_the_same(name: str) -> None:
    assert recognise(b"\xef\xbb\xbf" + data(name).removeprefix(b"\xef\xbb\xbf")) == FORMAT_OF[name]


@pytest.mark.parametrize("name", sorted(formats()))
def test_format_has_a_title_and_a_docstring(name: str) -> None:
    module = formats()[name]
    assert module.TITLE
    assert len(module.__doc__ or "") > 100


def test_azure_2023_keeps_ticks_of_100_ns_across_midnight_with_crlf_and_no_last_newline() -> None:
    found = workload("azure_2023.csv")
    assert lengths(found) == [(374, 44), (396, 109), (879, 55), (91, 16)]
    assert seconds(found) == [0.0, 0.4999999, 1.7499999, 1.75]
    assert [row.request_id for row in found.rows] == ["r1", "r2", "r3", "r4"]
    assert note(found, "rebased") == (4, None)


def test_azure_2024_reads_zones_and_missing_fractions_and_sorts() -> None:
    found = workload("azure_2024.csv")
    # row 3 is 00:00:02.5 in UTC, though its clock shows 02:00
    assert seconds(found) == [0.0, 0.99007, 1.49007, 1.99007]
    assert lengths(found) == [(243, 68), (5434, 338), (832, 145), (10, 1)]
    assert note(found, "sorted") is None


def test_azure_out_of_order_is_sorted_and_ids_tell_the_rows_of_the_file() -> None:
    header, *rows = data("azure_2024.csv").splitlines()
    found = read(b"\n".join([header, rows[3], *rows[:3]]))
    assert seconds(found) == [0.0, 0.99007, 1.49007, 1.99007]
    assert [row.request_id for row in found.rows] == ["r2", "r3", "r4", "r1"]
    assert note(found, "sorted") == (1, None)


def test_azure_2025_reads_lengths_beside_images() -> None:
    assert lengths(workload("azure_2025_images.csv")) == [(900, 7)]


def test_burstgpt_v1_drops_failed_requests_and_counts_from_the_first() -> None:
    found = workload("burstgpt_v1.csv")
    assert lengths(found) == [(472, 18), (1087, 230), (417, 276)]
    assert seconds(found) == [0.0, 40.0, 113.0]
    assert note(found, "zero_output") == (1, None)


def test_burstgpt_zero_outputs_kept_get_one_token() -> None:
    found = workload("burstgpt_v1.csv", Options(zero_outputs="one"))
    assert lengths(found)[2] == (33, 1)
    assert note(found, "zero_output_to_one") == (1, None)
    assert note(found, "zero_output") is None


def test_burstgpt_v2_reads_the_same_columns_at_other_places() -> None:
    found = workload("burstgpt_v2.csv")
    assert lengths(found) == [(622, 13), (207, 76)]
    assert seconds(found) == [0.0, 6.0]


def test_mooncake_reads_milliseconds_and_block_ids() -> None:
    found = workload("mooncake.jsonl")
    assert seconds(found) == [0.0, 0.0, 3.0, 3.001]
    assert [row.prefix_hashes for row in found.rows] == [(0, 1, 2), (0, 1, 3), (0,), (4, 5)]
    assert {row.prefix_hash_block for row in found.rows} == {512}
    # of 3 + 3 + 1 + 2 blocks, 6 are different
    assert found.summary.shared == pytest.approx(3 / 9)


def test_vidur_with_arrivals_reads_seconds_to_the_nanosecond() -> None:
    found = workload("vidur_arrivals.csv")
    assert seconds(found) == [0.0, 4.314579, 5.892655]
    assert found.time_unit == "s"


def test_vidur_without_arrivals_says_so() -> None:
    found = workload("vidur_lengths.csv")
    assert lengths(found) == [(3772, 54), (2015, 156)]
    assert found.time_unit is None
    assert note(found, "no_arrivals") == (2, None)


def test_llmservingsim_session_is_laid_out_behind_the_estimated_end_of_its_call() -> None:
    found = workload("llmservingsim.jsonl",
                     Options(prefill_s_per_token=0.001, decode_s_per_token=0.1))
    by_id = {row.request_id: row for row in found.rows}
    assert list(by_id) == ["r2", "r1", "r4", "r3"]  # by arrival
    # call 1 at 0.25 s lasts 100 * 0.001 + 10 * 0.1 = 1.1 s, the tool 2 s
    assert by_id["r3"].arrival_s == pytest.approx(0.25 + 1.1 + 2)
    assert (by_id["r3"].after, by_id["r3"].delay_s) == ("r2", 2.0)
    assert by_id["r2"].after is None
    assert note(found, "session_arrivals") == (1, 0.1)


def test_llmservingsim_sessions_alone_are_named_after_the_session() -> None:
    session = data("llmservingsim.jsonl").splitlines()[1]
    assert [row.request_id for row in read(session).rows] == ["agent.1", "agent.2"]


def test_llmservingsim_tokens_give_shared_blocks_of_16() -> None:
    by_id = {row.request_id: row for row in workload("llmservingsim.jsonl").rows}
    assert by_id["r1"].prefix_hashes[0] == by_id["r4"].prefix_hashes[0]
    assert len(set(by_id["r1"].prefix_hashes + by_id["r4"].prefix_hashes)) == 4
    assert by_id["r4"].prefix_hash_block == 16
    assert by_id["r2"].prefix_hashes == ()


def test_llmservingsim_measured_counts_unix_times_from_the_first() -> None:
    found = workload("llmservingsim_measured.jsonl")
    assert seconds(found) == [0.0, 0.5]
    assert [row.request_id for row in found.rows] == ["bench-0", "bench-1"]


def test_bailian_reads_seconds_and_chains_its_block_ids() -> None:
    found = workload("bailian.jsonl")
    assert seconds(found) == [61.114, 61.5]
    assert [row.prefix_hashes for row in found.rows] == [(0, 1, 2), (0, 1)]
    assert {row.prefix_hash_block for row in found.rows} == {16}
    assert note(found, "hashes_cover_less") == (1, None)  # 48 tokens, 2 ids


def test_ids_that_are_not_chained_are_numbered_anew() -> None:
    """Ids that name a block's content: 8 after 7 is another prefix than 8 at the start."""
    lines = [json.dumps({"request_id": i, "type": "text", "input_length": 32, "hash_ids": ids,
                         "img_ids": []}) for i, ids in enumerate([[7, 8], [8, 7], [7, 9]])]
    found = read("\n".join(lines).encode())
    assert [row.prefix_hashes for row in found.rows] == [(0, 1), (2, 3), (0, 4)]


def test_servegen_offline_has_lengths_and_no_arrivals() -> None:
    found = workload("servegen_offline.jsonl")
    assert lengths(found) == [(61, 2370), (54, 2031)]
    assert [row.request_id for row in found.rows] == ["0", "1"]
    assert found.time_unit is None


def test_servegen_offline_without_outputs_guesses_them_and_says_so() -> None:
    found = workload("servegen_offline_hashes.jsonl", Options(missing_output_len=77))
    assert lengths(found) == [(40, 77), (33, 77)]
    assert [row.prefix_hashes for row in found.rows] == [(0, 1, 2), (0, 1, 3)]
    assert note(found, "output_len") == (2, 77)


def test_sharegpt_takes_the_first_exchange_and_guesses_tokens_from_characters() -> None:
    found = workload("sharegpt.json", Options(chars_per_token=4))
    assert lengths(found) == [(11, 2), (2, 1)]  # 41 and 8 characters; häufig and ja
    assert [row.request_id for row in found.rows] == ["a_0", "a_1"]
    assert note(found, "no_exchange") == (1, None)
    assert note(found, "zero_output") == (1, None)
    assert note(found, "chars_per_token") == (3, 4)


def test_vllm_bench_reads_lists_start_times_and_leaves_failures_out() -> None:
    found = workload("vllm_bench.json")
    assert lengths(found) == [(10, 5), (20, 7)]
    assert seconds(found) == [0.0, 0.5]
    assert found.rate_hint == 4.0


def test_vllm_bench_without_start_times_has_no_arrivals() -> None:
    found = workload("vllm_bench_no_times.json")
    assert lengths(found) == [(10, 5), (20, 7)]
    assert found.time_unit is None
    assert found.rate_hint is None  # "inf" names no rate


def test_plain_csv_keeps_every_column_of_a_request() -> None:
    first, second = workload("plain.csv").rows
    assert (first.request_id, first.arrival_step, first.priority) == ("a", 0, 0)
    assert (first.prefix_id, first.prefix_len) == (None, 0)
    assert (second.arrival_step, second.priority) == (2, -1)
    assert (second.prefix_id, second.prefix_len) == ("system", 16)


def test_plain_csv_with_semicolons_and_seconds_passes_over_other_columns() -> None:
    found = workload("plain_seconds.csv")
    assert seconds(found) == [0.5, 0.75]
    assert [row.request_id for row in found.rows] == ["r1", "r2"]
    assert note(found, "columns") == (1, "note")


def test_plain_csv_keeps_the_order_of_rows() -> None:
    found = read(b"request_id,arrival_step,prompt_len,output_len\nb,9,1,1\na,3,1,1\n")
    assert [row.request_id for row in found.rows] == ["b", "a"]


def test_plain_csv_reads_block_ids() -> None:
    found = read(b"prompt_len,output_len,prefix_hashes,prefix_hash_block\n40,1,0 7 9,16\n9,1,,\n")
    assert [(r.prefix_hashes, r.prefix_hash_block) for r in found.rows] == [
        ((0, 7, 9), 16), ((), None)]


def test_scenario_json_gives_its_requests() -> None:
    first, second = workload("scenario.json").rows
    assert (first.request_id, first.arrival_step, first.prompt_len) == ("a", 0, 10)
    assert (second.arrival_step, second.prompt_len, second.priority) == (2, 5, -1)
    assert note(workload("scenario.json"), "knobs") is not None


def test_recorded_trace_gives_the_requests_of_its_scenario() -> None:
    (row,) = workload("recorded.json").rows
    assert (row.request_id, row.arrival_step, row.prefix_id, row.prefix_len) == ("a", 1, "p", 4)
