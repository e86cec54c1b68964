"""The tables of a run as CSV: UTF-8, commas, a header, one row per line, empty where missing.

The same Trace gives the same bytes for ever.
"""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import Literal, get_args

import pandas as pd

from core.metric_names import DURATIONS, STATISTICS, TOTALS, time_unit
from core.metrics import metrics
from core.trace import Trace

Table = Literal["steps", "events", "spans", "leases", "requests"]

TABLES: tuple[Table, ...] = get_args(Table)
"""The tables of a Trace, in the order in which they are offered."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A cell of text that begins so is run as a formula by spreadsheets (OWASP, CSV injection)."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can hold."""


def table_csv(trace: Trace, table: Table) -> bytes:
    """One table as CSV. Text that a spreadsheet would run gets an apostrophe in front."""
    return _csv(getattr(trace, table))


def metrics_csv(trace: Trace) -> bytes:
    """The metrics of the whole run, one number per row; metric_names.py defines them."""
    found, time = metrics(trace), time_unit(trace)
    rows = [(m.key, m.unit.replace("time", time), name, found.summary.loc[m.key, name])
            for m in DURATIONS for name in STATISTICS]
    rows += [(m.key, m.unit.replace("time", time), "total", found.totals[m.key]) for m in TOTALS]
    return _csv(pd.DataFrame(rows, columns=["metric", "unit", "statistic", "value"]))


def request_metrics_csv(trace: Trace) -> bytes:
    """The metrics of each request; ``time_unit`` says what the columns ending in ``_s`` are in."""
    return _csv(metrics(trace).requests.assign(time_unit=time_unit(trace)))


def _csv(frame: pd.DataFrame) -> bytes:
    safe = frame.assign(**{
        str(name): column.map(_defused, na_action="ignore")
        for name, column in frame.items()
        if not pd.api.types.is_numeric_dtype(column.dtype)
    })
    text: str = safe.to_csv(index=False, lineterminator="\n")
    return text.encode()


def tables_csv(trace: Trace) -> dict[str, bytes]:
    """All tables, by file name."""
    return {f"{table}.csv": table_csv(trace, table) for table in TABLES}


def all_csv(trace: Trace) -> dict[str, bytes]:
    """The tables and the metrics, by file name."""
    return {**tables_csv(trace), "metrics.csv": metrics_csv(trace),
            "request_metrics.csv": request_metrics_csv(trace)}


def tables_zip(trace: Trace) -> bytes:
    """Tables and metrics in one zip file, whose bytes depend on nothing but the Trace."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in all_csv(trace).items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # else it would say on which system it was made
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def _defused(text: object) -> object:
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULA_STARTS) else text
