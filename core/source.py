"""The line of a scheduler's source that gives decodes: they leave no event that would bring it."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

from core.engine import Engine


def source_file(scheduler: type[Engine]) -> Path:
    """The file that the scheduler is in."""
    return Path(inspect.getfile(scheduler))


def decode_line(scheduler: type[Engine]) -> int | None:
    """The line of its file on which the scheduler gives a running request its next token.

    ``Engine.decode_call`` names the call. None if it names nothing that is in the file.
    """
    return _line_of_call(source_file(scheduler), scheduler.decode_call)


@cache
def _line_of_call(path: Path, call: str) -> int | None:
    method, _, called = call.partition(".")
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(function, ast.FunctionDef) and function.name == method:
            return next((node.lineno for node in ast.walk(function)
                         if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                         and node.func.attr == called), None)
    return None
