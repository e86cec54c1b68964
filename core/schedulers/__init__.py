"""The schedulers: every file here with a class ``Scheduler`` is one, under the file's name.

Adding a scheduler is adding one file. Nothing else changes: the page lists it, and every
invariant test runs over it.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from core.engine import Engine


@cache
def schedulers() -> dict[str, type[Engine]]:
    """All schedulers by name, in alphabetical order."""
    found: dict[str, type[Engine]] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        scheduler = getattr(import_module(f"{__name__}.{module.name}"), "Scheduler", None)
        if scheduler is not None:
            found[module.name] = scheduler
    return found
