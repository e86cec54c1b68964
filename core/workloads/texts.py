"""Bytes of a file as lines, tables and JSON, with a clear fault where they are something else.

Nothing here writes to a disk or executes what it reads.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from core.faults import Fault
from core.workloads.records import Record, WorkloadError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DELIMITERS = ",;\t"


def text_of(data: bytes, first_line: int = 1) -> str:
    """The file as text.

    Raises:
        WorkloadError: if it is not UTF-8, with the place of the first byte that is not.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + first_line
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise WorkloadError([Fault(f"line {line}, column {column}", data[error.start :][:8],
                                   "the file must be text in UTF-8")]) from None


def delimiter_of(line: str) -> str:
    """What separates the columns of a table: the candidate that its first line has most of."""
    return max(DELIMITERS, key=line.count)


def table(data: bytes, columns: Sequence[str]) -> Iterator[Record]:
    """The rows of a table whose first line names its columns, at least these.

    Raises:
        WorkloadError: if a column is missing, or a row has too few or too many cells.
    """
    text = text_of(data)
    rows = csv.reader(io.StringIO(text, newline=""),
                      delimiter=delimiter_of(text.partition("\n")[0]))
    try:
        header = [name.strip() for name in next(rows, [])]
        if not set(columns) <= set(header) or len(set(header)) != len(header):
            rule = f"must name the columns {', '.join(columns)}, each once"
            raise WorkloadError([Fault("line 1", ",".join(header), rule)])
        for number, cells in enumerate(filter(None, rows), start=1):
            if len(cells) != len(header):
                raise WorkloadError([Fault(f"line {rows.line_num}", ",".join(cells),
                                           f"must have {len(header)} cells, as line 1 has")])
            values = dict(zip(header, cells, strict=True))
            yield Record(number, rows.line_num, values, header)
    except csv.Error as error:
        raise WorkloadError([Fault(f"line {rows.line_num}", "CSV", str(error))]) from None


def json_lines(data: bytes) -> Iterator[Record]:
    """The lines of a file that has one JSON object on each; empty lines are passed over.

    Raises:
        WorkloadError: at the first line that is something else.
    """
    number = 0
    for line_number, line in enumerate(io.BytesIO(data), start=1):
        if line.isspace():
            continue
        number += 1
        values = json_value(line.rstrip(), line_number)
        if not isinstance(values, dict):
            shown = line[:40].decode(errors="replace").strip()
            raise WorkloadError([Fault(f"line {line_number}, column 1", shown,
                                       "must be a JSON object: {...}")])
        yield Record(number, line_number, values)


def json_value(data: bytes, first_line: int = 1) -> Any:
    """All of ``data`` as one JSON value.

    Raises:
        WorkloadError: with line and column, if it is none.
    """
    text = text_of(data, first_line)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = error.lineno + first_line - 1
        raise WorkloadError([Fault(f"line {line}, column {error.colno}",
                                   text[error.pos : error.pos + 30],
                                   f"must be JSON: {error.msg}")]) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deep nesting
        raise WorkloadError([Fault(f"line {first_line}", text[:30],
                                   f"must be ordinary JSON: {error}")]) from None
