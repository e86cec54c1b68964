"""Lines of a file as records that know where they stand, and the collecting of their faults."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from core.faults import Fault, ScenarioError
from core.workloads.options import Options
from core.workloads.workload import MAX_TOKENS, Note

MAX_FAULTS = 5
"""Reading stops after so many faults: who mends them finds the others in the next try."""

T = TypeVar("T")


class WorkloadError(ScenarioError):
    """A file was refused. ``faults`` says where (line and column) and what was expected."""


class WrongValue(Exception):
    """A record holds something else than was expected."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Record:
    """One line of a file: its values by name, and where it stands."""

    __slots__ = ("number", "line", "values", "header")

    def __init__(self, number: int, line: int, values: dict[str, Any],
                 header: list[str] | None = None) -> None:
        self.number = number
        """Which record of the file it is, from 1."""
        self.line = line
        self.values = values
        self.header = header
        """The names of a table's columns; None if the record is a JSON object."""

    def wrong(self, name: str, rule: str) -> WrongValue:
        """The fault to raise for a value of this record."""
        column = f'"{name}"'
        if self.header is not None and name in self.header:  # counted as a spreadsheet does
            column = f"column {self.header.index(name) + 1} ({name})"
        return WrongValue(Fault(f"line {self.line}, {column}", self.values.get(name), rule))

    def has(self, name: str) -> bool:
        """Whether there is a value of this name."""
        return self.values.get(name) not in (None, "")

    def whole(self, name: str, least: int = 0, most: int = MAX_TOKENS,
              default: int | None = None) -> int:
        """A whole number (``12``, ``"12"``, ``12.0``); ``default`` stands for a missing one."""
        if default is not None and not self.has(name):
            return default
        number = _as_whole(self.values.get(name))
        if number is None or not least <= number <= most:
            raise self.wrong(name, f"must be a whole number from {least} to {most}")
        return number

    def decimal(self, name: str, least: float = 0.0, most: float = 1e15,
               default: float | None = None) -> float:
        """A finite number; ``default`` stands for a missing one."""
        if default is not None and not self.has(name):
            return default
        number = _as_float(self.values.get(name))
        if number is None or not least <= number <= most:
            raise self.wrong(name, f"must be a number from {least:g} to {most:g}")
        return number

    def text(self, name: str, longest: int = 64) -> str | None:
        """A short text, or None if there is none. Numbers are taken as they are written."""
        if not self.has(name):
            return None
        value = self.values[name]
        if isinstance(value, bool | list | dict) or len(str(value)) > longest:
            raise self.wrong(name, f"must be a text of at most {longest} characters")
        return str(value)

    def whole_list(self, name: str, most_items: int) -> tuple[int, ...]:
        """A list of whole numbers; empty if there is none."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise self.wrong(name, "must be a list of whole numbers")
        if len(value) > most_items:
            raise self.wrong(name, f"must have at most {most_items} entries, one for each block")
        return tuple(value)


def collect(records: Iterable[Record], make: Callable[[Record], T],
            options: Options) -> tuple[list[T], tuple[Note, ...]]:
    """Make something of every record, up to the limit of rows.

    Raises:
        WorkloadError: with the first few faults, if there are any, or if there is no record.
    """
    made: list[T] = []
    faults: list[Fault] = []
    beyond = 0
    for record in records:
        if len(made) >= options.max_rows:
            beyond += 1
            continue
        try:
            made.append(make(record))
        except WrongValue as wrong:
            faults.append(wrong.fault)
            if len(faults) == MAX_FAULTS:
                break
    if faults:
        raise WorkloadError(faults)
    if not made:
        raise WorkloadError([Fault("file", "no rows", "must have at least one row of data")])
    return made, (Note("skipped", "beyond_max_rows", beyond, options.max_rows),) if beyond else ()


def _as_whole(value: Any) -> int | None:
    if type(value) is int:
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 30:
        return int(value)
    number = _as_float(value)
    return int(number) if number is not None and number.is_integer() else None


def _as_float(value: Any) -> float | None:
    if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        return None  # float() takes these
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
