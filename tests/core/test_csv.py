"""The tables as CSV and as one zip: what is in them, and that no cell is run as a formula."""

from __future__ import annotations

import csv
import io
import zipfile

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.export.csv import (
    TABLES,
    all_csv,
    metrics_csv,
    request_metrics_csv,
    table_csv,
    tables_csv,
    tables_zip,
)
from core.export.names import MAX_BYTES, file_name
from tests.conftest import make_requests, make_scenario, run, two_that_outgrow_their_blocks


def read(content: bytes) -> list[list[str]]:
    """The cells, as a CSV reader sees them."""
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def test_csv_of_steps_holds_each_step() -> None:
    trace = two_that_outgrow_their_blocks("article")
    header, *rows = read(table_csv(trace, "steps"))
    assert header == list(trace.steps.columns)
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "4", "5", "6"]
    step_4 = dict(zip(header, rows[4], strict=True))
    assert (step_4["refused_id"], step_4["refused_needed"], step_4["refused_available"]) == (
        "1", "1", "0")
    assert dict(zip(header, rows[0], strict=True))["refused_needed"] == ""


@pytest.mark.parametrize("table", TABLES)
def test_csv_read_back_is_the_table(table: str) -> None:
    trace = two_that_outgrow_their_blocks("article")
    frame = getattr(trace, table)
    again = pd.read_csv(io.BytesIO(table_csv(trace, table)), dtype=frame.dtypes.to_dict())
    same = [each.astype(object).where(each.notna(), None) for each in (again, frame)]
    pd.testing.assert_frame_equal(*same)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_a_spreadsheet_would_run_is_defused_in_every_table(start: str) -> None:
    evil = f'{start}HYPERLINK("http://x","y")'
    trace = run([{"request_id": evil, "prompt_len": 4, "output_len": 5, "priority": -1,
                  "prefix_id": evil, "prefix_len": 2}])
    for name, content in tables_csv(trace).items():
        cells = [cell for row in read(content) for cell in row]
        assert evil not in cells
        assert (f"'{evil}" in cells) == (name != "steps.csv")
    assert "-1" in [cell for row in read(table_csv(trace, "requests")) for cell in row]


def test_text_with_commas_quotes_and_line_ends_stays_one_cell() -> None:
    name = 'a,"b"\nc 请求'
    trace = run([{"request_id": name, "prompt_len": 4, "output_len": 1}])
    assert read(table_csv(trace, "requests"))[1][0] == name


def test_csv_of_a_refused_request_defuses_whose_it_is() -> None:
    """The ids of steps.csv and of the column "other" of events.csv are text as well."""
    trace = run(make_requests(2, prompt_len=9), num_gpu_blocks=2)
    evil = run([{**request, "request_id": "=" + request["request_id"]}
                for request in make_requests(2, prompt_len=9)], num_gpu_blocks=2)
    plain_ids = [row[trace.steps.columns.get_loc("refused_id")]
                 for row in read(table_csv(trace, "steps"))[1:]]
    evil_ids = [row[trace.steps.columns.get_loc("refused_id")]
                for row in read(table_csv(evil, "steps"))[1:]]
    assert evil_ids == [f"'={each}" for each in plain_ids]


def test_zip_holds_each_table_and_no_time() -> None:
    trace = two_that_outgrow_their_blocks("article")
    with zipfile.ZipFile(io.BytesIO(tables_zip(trace))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [*(f"{table}.csv" for table in TABLES), "metrics.csv",
                                      "request_metrics.csv"]
        assert archive.read("metrics.csv") == all_csv(trace)["metrics.csv"]
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.read("leases.csv") == table_csv(trace, "leases")


def test_zip_of_two_equal_runs_is_the_same_bytes() -> None:
    one, other = (tables_zip(two_that_outgrow_their_blocks("article")) for _ in range(2))
    assert one == other
    assert one != tables_zip(two_that_outgrow_their_blocks("article_repaired"))


@pytest.mark.parametrize(("name", "expected"), [
    ("The article's demo", "The_article_s_demo.zip"),
    ("../../etc/passwd", "etc_passwd.zip"),
    ("调度器 演示", "调度器_演示.zip"),
    ("a/b\\c:d*e?f\"g<h>i|j", "a_b_c_d_e_f_g_h_i_j.zip"),
    (".hidden", "hidden.zip"),
    ("...", "scenario.zip"),
    ("CON", "scenario_CON.zip"),
    ("lpt1", "scenario_lpt1.zip"),
    ("console", "console.zip"),
])
def test_file_name_is_safe_and_readable(name: str, expected: str) -> None:
    assert file_name(make_scenario(name=name), ".zip") == expected


@given(st.text(min_size=1, max_size=120).filter(lambda text: text.isprintable()))
def test_file_name_of_any_scenario_is_a_plain_short_name(name: str) -> None:
    found = file_name(make_scenario(name=name), ".zip")
    stem = found.removesuffix(".zip")
    assert stem
    assert stem.replace("_", "x").replace("-", "x").isalnum()
    assert len(found.encode()) <= MAX_BYTES + len("scenario_") + 4


def test_csv_of_metrics_has_every_statistic_with_its_unit() -> None:
    """Two requests of 5 tokens; the one that stays gets them in steps 0 to 4 and ends after 5."""
    rows = {(row[0], row[2]): (row[1], row[3]) for row in
            read(metrics_csv(two_that_outgrow_their_blocks("article_repaired")))[1:]}
    assert rows["ttft_s", "mean"] == ("steps", "1.0")
    assert rows["completed", "total"] == ("", "2.0")
    assert rows["total_output_tokens", "total"] == ("tokens", "10.0")
    assert rows["swapped_bytes", "total"][1] == ""


def test_csv_of_request_metrics_has_a_row_per_request() -> None:
    header, *rows = read(request_metrics_csv(two_that_outgrow_their_blocks("article_repaired")))
    told = [dict(zip(header, row, strict=True)) for row in rows]
    assert [each["request_id"] for each in told] == ["1", "2"]
    assert told[0]["e2el_s"] == "5.0" and told[0]["time_unit"] == "steps"
