"""A table with the project's own columns, and the project's own requests.csv.

Needed: ``prompt_len``, ``output_len`` (tokens). Read if there: ``request_id``, ``arrival_step`` or
``arrival_s`` (seconds), ``priority``, ``prefix_id``, ``prefix_len``, ``prefix_hashes`` (numbers
with spaces between), ``prefix_hash_block``. Other columns, such as the outcomes in an exported
requests.csv, are passed over. Commas, semicolons or tabs. The order of the rows is kept, so that
an exported table read again is the same workload; for the same reason the apostrophe is taken off
that the export puts before text which a spreadsheet would run (``=``, ``+``, ``-``, ``@``).
"""

from __future__ import annotations

from collections import Counter

from core.faults import Fault
from core.workloads import sniffing
from core.workloads.options import Options
from core.workloads.records import Record, WorkloadError, collect
from core.workloads.texts import table
from core.workloads.workload import Note, Workload, WorkloadRow

TITLE = "Table of requests (CSV)"
COLUMNS = ("prompt_len", "output_len")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
KNOWN = {*COLUMNS, "request_id", "arrival_step", "arrival_s", "priority", "prefix_id",
         "prefix_len", "prefix_hashes", "prefix_hash_block"}


def sniff(head: bytes) -> bool:
    """Whether the table's columns are these."""
    return sniffing.columns(head) >= set(COLUMNS)


def parse(data: bytes, options: Options) -> Workload:
    """Rows become requests as they are."""
    rows, notes = collect(table(data, COLUMNS), _row, options)
    often, count = Counter(row.request_id for row in rows).most_common(1)[0]
    if count > 1:
        raise WorkloadError([Fault("request_id", often, "must differ from row to row")])
    if any(row.arrival_step for row in rows) and any(row.arrival_s is not None for row in rows):
        rule = "must be empty where other rows have an arrival_step"
        raise WorkloadError([Fault("arrival_s", "given", rule)])
    unread = sniffing.columns(data[: sniffing.HEAD_BYTES]) - KNOWN
    if unread:
        notes += (Note("skipped", "columns", len(unread), ", ".join(sorted(unread))),)
    return Workload("plain_csv", TITLE, tuple(rows), notes)


def _row(row: Record) -> WorkloadRow:
    by_step = row.has("arrival_step")
    hashes = _hashes(row)
    return WorkloadRow(
        _plain(row.text("request_id", 65)) or f"r{row.number}",
        row.whole("prompt_len", 1), row.whole("output_len", 1),
        None if by_step or not row.has("arrival_s") else row.decimal("arrival_s"),
        row.whole("arrival_step") if by_step else None,
        row.whole("priority", -1_000_000, 1_000_000, default=0),
        _plain(row.text("prefix_id", 65)), row.whole("prefix_len", default=0),
        hashes, row.whole("prefix_hash_block", 1) if hashes else None,
    )


def _plain(text: str | None) -> str | None:
    """Text without the apostrophe that core/export/csv.py puts before a formula's sign."""
    guarded = text is not None and text[:1] == "'" and text[1:2] in FORMULA_STARTS
    return text[1:] if text is not None and guarded else text


def _hashes(row: Record) -> tuple[int, ...]:
    words = str(row.values.get("prefix_hashes") or "").split()
    if not all(word.isascii() and word.isdigit() for word in words):
        raise row.wrong("prefix_hashes", "must be whole numbers with spaces between them")
    return tuple(map(int, words))
