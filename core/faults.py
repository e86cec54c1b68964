"""What is wrong with an input: every fault at once, each with its field, value and rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import ValidationError


class Fault(NamedTuple):
    """One thing that is wrong with an input."""

    field: str
    """Where: the field's path, such as ``config.block_size`` or ``requests.3.prompt_len``."""
    value: Any
    """What was given."""
    rule: str
    """What would have been right, in words."""

    def __str__(self) -> str:
        return f"{self.field} = {_shown(self.value)}: {self.rule}"


class ScenarioError(ValueError):
    """An input was refused. ``faults`` lists everything that is wrong with it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


def faults_of(error: ValidationError) -> list[Fault]:
    """The faults that pydantic found, in the order of the input."""
    found = []
    for item in error.errors(include_url=False):
        path = ".".join(map(str, item["loc"]))
        context = item.get("ctx", {})
        if "field" in context:  # a rule between several fields names the one to change
            path = ".".join(filter(None, (path, context["field"])))
        value = context.get("value", item["input"])
        rule = item["msg"].removeprefix("Value error, ")
        found.append(Fault(path or "scenario", value, rule[:1].lower() + rule[1:]))
    return found


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
