"""What the first bytes of a file show: the columns of a table, or the keys of its JSON.

A file is recognised by its content and never by its name. The head may end in the middle of a
line, so that it is looked at and not parsed.
"""

from __future__ import annotations

import re

from core.workloads.texts import delimiter_of

HEAD_BYTES = 64 * 1024
"""So much of a file is looked at."""

_KEY = re.compile(rb'"([A-Za-z_]\w{0,60})"\s*:')


def columns(head: bytes) -> frozenset[str]:
    """The column names in the first line of a table."""
    line = head.partition(b"\n")[0].decode(errors="replace").strip()
    return frozenset(name.strip().strip('"') for name in line.split(delimiter_of(line)))


def line_keys(head: bytes) -> frozenset[str]:
    """The keys in the first line of a file of JSON objects; empty if it does not start as one."""
    text = head.lstrip()
    return _keys(text.partition(b"\n")[0]) if text.startswith(b"{") else frozenset()


def object_keys(head: bytes) -> frozenset[str]:
    """The keys at the start of a JSON object of any layout."""
    text = head.lstrip()
    return _keys(text) if text.startswith(b"{") else frozenset()


def list_keys(head: bytes) -> frozenset[str]:
    """The keys at the start of a JSON list."""
    text = head.lstrip()
    return _keys(text) if text.startswith(b"[") else frozenset()


def _keys(text: bytes) -> frozenset[str]:
    return frozenset(key.decode() for key in _KEY.findall(text))
