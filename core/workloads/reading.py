"""Which format a file is in, and the reading of it."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from core.faults import Fault
from core.workloads import formats as folder
from core.workloads.options import Options
from core.workloads.records import WorkloadError
from core.workloads.sniffing import HEAD_BYTES
from core.workloads.texts import BYTE_ORDER_MARK
from core.workloads.workload import Workload


class Format(Protocol):
    """A file in core/workloads/formats."""

    TITLE: str
    """How the format is called on screen."""

    def sniff(self, head: bytes) -> bool:
        """Whether a file that starts like this is of this format."""

    def parse(self, data: bytes, options: Options) -> Workload:
        """The workload in the file; raises WorkloadError."""


@cache
def formats() -> dict[str, Format]:
    """All formats by name, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(folder.__path__))
    return {name: cast(Format, import_module(f"{folder.__name__}.{name}")) for name in names}


def recognise(data: bytes) -> str:
    """The name of the file's format.

    Raises:
        WorkloadError: if it is none of them; the rule lists them all.
    """
    head = data[:HEAD_BYTES].removeprefix(BYTE_ORDER_MARK)
    for name, each in formats().items():
        if each.sniff(head):
            return name
    titles = "; ".join(each.TITLE for each in formats().values())
    start = head[:60].decode(errors="replace").strip()
    raise WorkloadError([Fault("file", start, f"must be one of the known formats: {titles}")])


def read(data: bytes, options: Options | None = None) -> Workload:
    """The workload in a file of any known format.

    Raises:
        WorkloadError: if the file is empty, too large, of no known format, or has faults.
    """
    options = options or Options()
    for size in (len(data), len(options.companion)):
        if size > options.max_bytes:
            rule = f"must have at most {options.max_bytes:,} bytes; cut it by whole lines"
            raise WorkloadError([Fault("file size", size, rule)])
    data = data.removeprefix(BYTE_ORDER_MARK)
    if not data.strip():
        raise WorkloadError([Fault("file", "empty", "must have at least one row of data")])
    return formats()[recognise(data)].parse(data, options)
