"""What one step computes and moves: the figures that its seconds are made of."""

from __future__ import annotations

from typing import NamedTuple


class StepWork(NamedTuple):
    """The work of one step. A block is K and V of its tokens in all layers."""

    num_tokens: int = 0
    """Tokens that go through the layers, prompts and decodes together."""
    num_sequences: int = 0
    """Sequences in the batch."""
    num_sampled: int = 0
    """Sequences that get their next token: only these go through lm_head."""
    prefill_pairs: float = 0.0
    """Query-key pairs of the prompts, see ``prefill_pairs``."""
    decode_context: int = 0
    """Tokens whose K and V the decodes read."""
    blocks_moved: int = 0
    """Blocks that cross the host link, either way, as small as they are then."""
    blocks_compressed: int = 0
    """Blocks that are compressed, counted before."""
    blocks_decompressed: int = 0
    """Blocks that are decompressed, counted after."""


def prefill_pairs(num_tokens: int, context: int = 0) -> float:
    """Query-key pairs of so many tokens behind ``context`` computed ones.

    Each sees the whole context and, on average, half of its own chunk: n·c + n²/2.
    """
    return num_tokens * (context + 0.5 * num_tokens)
