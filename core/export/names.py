"""Names for files that are downloaded: safe on every system, and still readable."""

from __future__ import annotations

import re

from core.scenario import Scenario

MAX_BYTES = 120
"""Length of a name without its suffix, in UTF-8; file systems allow 255 with it."""

_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])", re.IGNORECASE)
"""Names that Windows keeps for devices."""


def file_name(scenario: Scenario, suffix: str) -> str:
    """The scenario's name as a file name: letters and digits of any script, ``-`` and ``_``.

    Args:
        suffix: such as ``.zip``.
    """
    words = re.sub(r"[^\w-]+", "_", scenario.name).strip("_-")
    short = words.encode()[:MAX_BYTES].decode(errors="ignore")
    if not short or _RESERVED.fullmatch(short):
        short = f"scenario_{short}".rstrip("_")
    return short + suffix
