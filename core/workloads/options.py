"""What a user may decide about the reading of a file. One frozen object for all formats."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.faults import Fault, ScenarioError


@dataclass(frozen=True, slots=True)
class Options:
    """Limits, and the guesses to use where a file leaves something open."""

    max_bytes: int = 256 * 1024 * 1024
    """Larger files are refused."""
    max_rows: int = 1_000_000
    """Rows beyond these are not read, and the summary says so."""
    zero_outputs: Literal["drop", "one"] = "drop"
    """Rows without any output (mostly failed requests): leave them out, or give them one token."""
    missing_output_len: int = 128
    """Tokens of output where a format has none."""
    chars_per_token: float = 4.0
    """For files that hold text: characters taken for one token. About four in English text with
    the tokenizers of today; less in code and in other languages."""
    prefill_s_per_token: float = 1e-4
    """Estimated duration of a call in a session, per token of its prompt. 10,000 tokens/s, as
    LLMServingSim measured for Llama-3.1-8B on one RTX 4090 (vLLM 0.19)."""
    decode_s_per_token: float = 0.03
    """The same, per token of its output (the same measurement: mean TPOT 32 ms)."""
    companion: bytes = b""
    """The second file, for a format that consists of two."""
    seed: int = 0
    """For formats that are distributions and not requests."""
    from_s: float | None = None
    """Distributions only: start of the time to draw; None takes the first with traffic."""
    duration_s: float = 600.0
    """Distributions only: seconds to draw."""

    def __post_init__(self) -> None:
        refuse_below(self, 0, above=("max_bytes", "max_rows", "missing_output_len",
                                     "chars_per_token", "duration_s"),
                     at_least=("prefill_s_per_token", "decode_s_per_token", "seed", "from_s"))


def refuse_below(given: object, bound: float, above: Iterable[str],
                 at_least: Iterable[str] = ()) -> None:
    """Check fields that must be finite numbers above the bound, or at least it. None is passed.

    Raises:
        ScenarioError: with a fault for each field that is not.
    """
    checks = [(name, "above", operator.gt) for name in above]
    checks += [(name, "at least", operator.ge) for name in at_least]
    faults = []
    for name, relation, holds in checks:
        value = getattr(given, name)
        if value is not None and not (holds(value, bound) and value < math.inf):
            faults.append(Fault(name, value, f"must be {relation} {bound:g}, and finite"))
    if faults:
        raise ScenarioError(faults)
