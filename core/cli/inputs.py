"""Arguments that several commands share: knobs, a machine, and a workload file with its slice."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.cost.machine import Machine
from core.faults import Fault, ScenarioError, faults_of
from core.scenario import Scenario
from core.workloads.options import Options
from core.workloads.reading import read
from core.workloads.scenarios import to_scenario
from core.workloads.slices import Slice, apply
from core.workloads.workload import Workload

SLICE_HELP = {
    "rate": "without arrivals: draw them, Poisson, so many requests per second",
    "start": "beginning of the time to take, in seconds (or steps) of the workload",
    "end": "end of the time to take",
    "first": "take so many requests",
    "rate_factor": "2 lets the same requests arrive twice as fast",
    "prompt_factor": "multiply the lengths of the prompts",
    "output_factor": "multiply the lengths of the outputs",
    "max_prompt_len": "cut longer prompts, tokens",
    "max_output_len": "cut longer outputs, tokens",
}
OPTION_HELP = {
    "seed": "for arrivals that are drawn and for formats that are distributions",
    "zero_outputs": "rows without output tokens: drop them, or give them one",
    "missing_output_len": "tokens of output where a format has none",
    "chars_per_token": "for files that hold text",
    "max_rows": "rows beyond these are not read",
    "from_s": "distributions: start of the time to draw, seconds",
    "duration_s": "distributions: seconds to draw",
}
TYPES = {"first": int, "max_prompt_len": int, "max_output_len": int, "seed": int,
         "missing_output_len": int, "max_rows": int}
"""Of arguments that are whole numbers; the others are floats."""


def add_workload_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, how to read them, what to take of them, and the engine to run it on."""
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+",
                        help="a trace in any known format; two files for a ServeGen client")
    for name, text in {**SLICE_HELP, **OPTION_HELP}.items():
        flag = f"--{name.replace('_', '-')}"
        if name == "zero_outputs":
            parser.add_argument(flag, choices=("drop", "one"), help=text)
        else:
            parser.add_argument(flag, type=TYPES.get(name, float), metavar="N", help=text)
    parser.add_argument("--seconds-per-step", type=float, metavar="S",
                        help="run in steps of this length instead of a machine's seconds")
    parser.add_argument("--scheduler", default="vllm_v1", metavar="NAME",
                        help="a scheduler's name (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE", dest="knobs",
                        help="a knob of the engine; may be given several times")
    for name in ("gpu", "model", "tensor_parallel"):
        default = Machine.model_fields[name].default
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), metavar="NAME",
                            help=f"of the machine (default: {default})")


def workload_from(given: argparse.Namespace) -> Workload:
    """The workload in the files, sliced as the arguments say.

    Raises:
        ScenarioError: if a file or an argument is refused.
    """
    if len(given.files) > 2:
        raise ScenarioError([Fault("FILE", len(given.files), "must be one file, or two")])
    data, *companion = (file_bytes(path) for path in given.files)
    options = Options(companion=b"".join(companion), **_chosen(given, OPTION_HELP))
    chosen = Slice(seed=options.seed, **_chosen(given, SLICE_HELP))
    return apply(read(data, options), chosen)


def scenario_from(given: argparse.Namespace, workload: Workload) -> Scenario:
    """The workload with the engine that the arguments name, as a Scenario.

    Raises:
        ScenarioError: if a knob, the machine or the workload is refused.
    """
    return to_scenario(workload, given.files[0].stem[:120] or "imported", given.scheduler,
                       knobs_from(given.knobs), given.seconds_per_step, machine_from(given))


def machine_from(given: argparse.Namespace) -> Machine:
    """The machine that the arguments name."""
    try:
        return Machine.model_validate(_chosen(given, ("gpu", "model", "tensor_parallel")))
    except ValidationError as error:
        raise ScenarioError(faults_of(error)) from None


def knobs_from(words: Sequence[str]) -> dict[str, Any]:
    """Knobs of ``KNOB=VALUE`` words; a value is read as JSON, and as text if it is none.

    Raises:
        ScenarioError: if a word has no ``=``.
    """
    wrong = [Fault("--set", word, "must be KNOB=VALUE") for word in words if "=" not in word]
    if wrong:
        raise ScenarioError(wrong)
    return {knob: _value(text) for knob, _, text in (word.partition("=") for word in words)}


def file_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises:
        ScenarioError: if it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ScenarioError([Fault("FILE", str(path), error.strerror or str(error))]) from None


def write_file(path: Path, content: bytes) -> None:
    """Write a file that was asked for with --out, and say so.

    Raises:
        ScenarioError: if it cannot be written.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ScenarioError([Fault("--out", str(path), error.strerror or str(error))]) from None
    print(f"wrote {path}")


def _chosen(given: argparse.Namespace, names: Sequence[str] | dict[str, str]) -> dict[str, Any]:
    values = {name: getattr(given, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {"True": True, "False": False, "None": None}.get(text, text)
