"""A whole scenario as a short text for a URL, when it is small; and back.

The text is ``1.`` and the base64url of the deflated JSON: letters, digits, ``-``, ``_`` and one
point, so that it needs no escaping in a query.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from typing import NamedTuple

from core.checked import json_data
from core.faults import Fault, ScenarioError
from core.runnable import runnable
from core.scenario import Scenario

MAX_CHARS = 6_000
"""Longest text. Servers take request lines of 8,190 (Apache) or 8,192 (nginx) bytes; some are left
for the address before it."""
MAX_JSON_BYTES = 2_000_000
"""A text that unpacks to more is refused before it is unpacked further."""
VERSION = "1"


class TooLong(NamedTuple):
    """The scenario does not fit into a link; save it as a file."""

    num_chars: int
    max_chars: int
    num_requests: int


def to_permalink(scenario: Scenario) -> str | TooLong:
    """The scenario as text for a URL, or that it does not fit."""
    data = scenario.model_dump(exclude_defaults=True)
    packed = zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9)
    text = f"{VERSION}.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"
    if len(text) > MAX_CHARS:
        return TooLong(len(text), MAX_CHARS, len(scenario.requests))
    return text


def from_permalink(text: str) -> Scenario:
    """The scenario in such a text.

    Raises:
        ScenarioError: if the text is damaged, or too large, or holds no valid scenario.
    """
    if len(text) > MAX_CHARS:
        raise _refusal(text, f"must have at most {MAX_CHARS:,} characters")
    version, _, body = text.partition(".")
    if version != VERSION or not re.fullmatch(r"[A-Za-z0-9_-]+", body):
        raise _refusal(text, "must be a link that this program made; a part of it may be missing")
    return runnable(json_data(_unpacked(text, body)))


def _unpacked(text: str, body: str) -> bytes:
    damaged = _refusal(text, "is damaged: a part of it may be missing")
    try:
        packed = base64.b64decode(body + "=" * (-len(body) % 4), b"-_", validate=True)
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, MAX_JSON_BYTES)
    except (binascii.Error, zlib.error):
        raise damaged from None
    if unpacker.unconsumed_tail:
        raise _refusal(text, f"must not unpack to more than {MAX_JSON_BYTES:,} bytes")
    if not unpacker.eof:
        raise damaged
    return content


def _refusal(text: str, rule: str) -> ScenarioError:
    return ScenarioError([Fault("link", text, rule)])
