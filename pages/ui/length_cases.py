"""Ready distributions of lengths, for the pages that compare schedulers on the same requests."""

from __future__ import annotations

from typing import NamedTuple

from core.workloads import Lengths


class LengthCase(NamedTuple):
    """Lengths of prompts and outputs, in tokens."""

    title: str
    prompt: Lengths
    output: Lengths


CASES = {
    "chat": LengthCase("chat (like ShareGPT)", Lengths(typical=80, spread=1.25, high=1024),
                       Lengths(typical=250, spread=0.85, high=1024)),
    "short": LengthCase("short (like Alpaca)", Lengths(typical=16, spread=0.6, high=1024),
                        Lengths(typical=45, spread=0.75, high=1024)),
    "full": LengthCase("all near the longest", Lengths(typical=900, spread=0.05, high=1024),
                       Lengths(typical=1000, spread=0.05, high=1024)),
}
"""chat and short have about the means of the vLLM paper, section 6.1: 161 prompt and 338 output
tokens in ShareGPT, 19 and 58 in Alpaca."""


def title(case: str) -> str:
    """What a case is called."""
    return CASES[case].title
