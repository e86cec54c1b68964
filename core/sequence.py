"""The run-time state of one request (the article's SequenceGroup, with one sequence)."""

from __future__ import annotations

from core.scenario import Request
from core.trace import State


class Sequence:
    """What the engine knows of a request while it runs: all but its true output length."""

    __slots__ = (
        "index", "request_id", "priority", "arrival_time", "prompt_len", "prefix_id", "prefix_len",
        "prefix_hashes", "prefix_hash_block",
        "num_tokens", "num_output_tokens", "num_computed_tokens", "num_scheduled_tokens",
        "num_slots", "hit_len", "block_table", "block_since", "cpu_blocks", "cpu_since",
        "num_swapped_blocks", "last_step",
        "arrived", "state", "state_since", "attempt", "span_tokens", "outputs_before",
        "first_scheduled_step", "first_token_step", "end_step",
        "num_preemptions", "num_swaps", "total_computed", "total_cached",
    )

    def __init__(self, index: int, request: Request) -> None:
        self.index = index
        """Position in the scenario's list."""
        self.request_id = request.request_id
        self.priority = request.priority
        self.arrival_time = request.arrival_step + 1e-6 * index
        """In the unit of the arrivals; unique, and increasing with the list within a step."""
        self.prompt_len = request.prompt_len
        self.prefix_id = request.prefix_id
        self.prefix_len = min(request.prefix_len, request.prompt_len) if request.prefix_id else 0
        self.prefix_hashes = request.prefix_hashes
        self.prefix_hash_block = request.prefix_hash_block or 1

        self.num_tokens = request.prompt_len
        """Prompt and generated tokens."""
        self.num_output_tokens = 0
        self.num_computed_tokens = 0
        """Tokens that went through the model and are in the cache."""
        self.num_scheduled_tokens = 0
        """Tokens given in this step."""
        self.num_slots = 0
        """V0: tokens that the block table has been told of."""
        self.hit_len: int | None = None
        """V0: tokens found in the prefix cache when first looked up."""

        self.block_table: list[int] = []
        """GPU blocks in order of position."""
        self.block_since: list[int] = []
        """For each block of the table the step in which it joined."""
        self.cpu_blocks: list[int] = []
        self.cpu_since: list[int] = []
        self.num_swapped_blocks: int | None = None
        """Swapped out and compressed: blocks that it held before."""
        self.last_step = -1
        """Step in which it was last scheduled."""

        self.arrived = False
        """Whether it has joined the waiting queue yet."""
        self.state = State.WAITING
        self.state_since = request.arrival_step
        self.attempt = 0
        self.span_tokens = 0
        """Prefill tokens given during the stay in the present state."""
        self.outputs_before = 0
        """Tokens that had been generated when the stay began."""
        self.first_scheduled_step: int | None = None
        self.first_token_step: int | None = None
        self.end_step: int | None = None
        self.num_preemptions = 0
        self.num_swaps = 0
        self.total_computed = 0
        self.total_cached = 0

    def __repr__(self) -> str:
        return f"<{self.request_id} {self.state} {self.num_computed_tokens}/{self.num_tokens}>"

    def block_key(self, end: int) -> tuple[str | int, int]:
        """What a full block that ends at token ``end`` holds: equal keys, equal tokens.

        Two prompts agree on their shared prefix and nowhere else; generated tokens are unique.
        """
        if self.prefix_hashes and end <= self.prompt_len:
            position = (end - 1) // self.prefix_hash_block
            if position < len(self.prefix_hashes):
                return (~self.prefix_hashes[position], end)  # below 0, where no index is
        shared = self.prefix_id is not None and end <= self.prefix_len
        return (self.prefix_id, end) if shared else (self.index, end)  # type: ignore[return-value]
