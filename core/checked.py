"""Models of input: frozen, and checked once, where they enter, with every fault at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from core.faults import Fault, ScenarioError

Rule = tuple[tuple[str, ...], Callable[..., bool], str | Callable[..., str]]
"""Fields, a predicate over their values, and what to say where it does not hold: text, or a
function of them that gives one. The first field is the one to change. A field of which only a part
is wrong is handed over as it was given."""

Count = Annotated[int, Field(strict=True)]


class Checked(BaseModel):
    """A frozen model whose rules between fields are checked along with the fields themselves."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def rules(cls) -> tuple[Rule, ...]:
        return ()

    @model_validator(mode="wrap")
    @classmethod
    def _check_all(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Report faults of single fields and broken rules together."""
        problems: list[InitErrorDetails] = []
        made: Self | None = None
        try:
            made = handler(data)
            values: dict[str, Any] = {name: getattr(made, name) for name in cls.model_fields}
        except ValidationError as error:
            if not isinstance(data, dict):
                raise
            problems = [_again(item) for item in error.errors(include_url=False)]
            defaults = {name: field.default for name, field in cls.model_fields.items()}
            values = {**defaults, **data}
            for item in error.errors(include_url=False):
                if len(item["loc"]) == 1:
                    values.pop(str(item["loc"][0]), None)
        for fields, holds, text in cls.rules():
            given = [values[name] for name in fields if name in values]
            if len(given) == len(fields) and not holds(*given):
                says = text if isinstance(text, str) else text(*given)
                told = {"field": fields[0], "value": given[0], "rule": says}
                rule = PydanticCustomError("rule", "{rule}", told)
                problems.append(InitErrorDetails(type=rule, loc=(), input=values[fields[0]]))
        if problems:
            raise ValidationError.from_exception_data(cls.__name__, problems)
        assert made is not None, "no problem was found, so the model was made"
        return made


def json_data(text: str | bytes) -> Any:
    """What a JSON text holds, not checked yet.

    Raises:
        ScenarioError: if it is no JSON, or JSON that is nested too deep or has a number too long.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError([Fault("JSON", str(text[:40]), str(error))]) from None


def _again(item: Any) -> InitErrorDetails:
    """A fault that pydantic has reported, in the form in which it can be raised again."""
    context = {**item.get("ctx", {}), "rule": item["msg"]}
    kind = PydanticCustomError(item["type"], "{rule}", context)
    return InitErrorDetails(type=kind, loc=item["loc"], input=item["input"])
