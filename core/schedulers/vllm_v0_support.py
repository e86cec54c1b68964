"""What the passes of vllm_v0.py stand on: the knobs and their check, the cost of a candidate in
tokens, the delay factor. Section numbers are those of golden/v0."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor
from typing import ClassVar

from core.blocks_v0 import V0Blocks
from core.engine import Engine, EngineDied, SchedulingBudget
from core.faults import Fault
from core.prefix_v0 import PrefixV0Blocks
from core.recorder import Recorder
from core.scenario import EngineConfig
from core.sequence import Sequence
from core.trace import Cause, Limit, State


class V0Engine(Engine):
    """The classic engine without its passes."""

    models = "vllm 0.6.6.post1 (V0)"
    evidence = "158 recorded workloads, 8,805 steps: every field of every step equal"
    decode_call = "schedule_running.compute"
    knobs = (
        "max_num_batched_tokens", "max_num_seqs", "max_model_len", "num_gpu_blocks",
        "num_cpu_blocks", "block_size", "preemption_mode", "policy", "enable_chunked_prefill",
        "enable_prefix_caching", "watermark", "delay_factor", "bypass_config_checks",
    )
    breaks: ClassVar[dict[str, str]] = {
        "tokens_within_budget": "decodes are never held back by the token budget; only the check"
        " at the start, if it is not skipped, keeps it above the number of sequences",
    }
    blocks: V0Blocks

    def __init__(self, config: EngineConfig, record: Recorder) -> None:
        super().__init__(config, record)
        self.length_cap = config.max_model_len + 1
        self.chunked = config.enable_chunked_prefill
        self.caching = config.enable_prefix_caching
        self.delay = PromptDelay(config.delay_factor)
        self.max_prompt_len = config.max_model_len
        if not self.chunked:
            self.max_prompt_len = min(config.max_model_len, config.max_num_batched_tokens)
        self.cached_tokens = 0

    def make_blocks(self) -> V0Blocks:
        """With or without prefix caching."""
        blocks = PrefixV0Blocks if self.config.enable_prefix_caching else V0Blocks
        return blocks(self.config, self.record)

    @classmethod
    def victim_rule(cls, config: EngineConfig) -> str:
        """The last of running; with priorities that is sorted by urgency before (2.12)."""
        by_urgency = config.policy == "priority" and not config.enable_chunked_prefill
        return "least_urgent" if by_urgency else "last"

    @classmethod
    def config_faults(cls, config: EngineConfig) -> list[Fault]:
        """What the engine refuses at its start. Some recordings bypass its check of the budget."""
        faults = []
        if config.policy == "length":
            faults.append(Fault("policy", "length", "must be fcfs or priority in this engine"))
        if config.bypass_config_checks:
            return faults
        budget, chunked = config.max_num_batched_tokens, config.enable_chunked_prefill
        name = "max_num_batched_tokens"
        if budget < config.max_num_seqs:
            faults.append(Fault(name, budget, f"must be at least max_num_seqs"
                                f" ({config.max_num_seqs})"))
        if budget < config.max_model_len and not chunked:
            faults.append(Fault(name, budget, f"must be at least max_model_len"
                                f" ({config.max_model_len}), since prompts are computed whole:"
                                f" raise it, or set enable_chunked_prefill"))
        if chunked and config.enable_prefix_caching and budget % config.block_size:
            faults.append(Fault(name, budget, f"must be a multiple of block_size"
                                f" ({config.block_size}) with prefix caching and chunked prefill"))
        return faults

    # -- tokens --------------------------------------------------------------------------------

    def new_budget(self) -> None:
        """The budget of one step."""
        self.budget = SchedulingBudget(*self.budgets(self.config))
        self.cached_tokens = 0

    def cost(self, seq: Sequence, cut: bool = True) -> tuple[int, int]:
        """Tokens of the request's next step: charged to the budget, and cached (2.4).

        With chunked prefill the charge is cut to what is left of the budget: 0 if nothing is.
        """
        charged, cached = seq.num_tokens - seq.num_computed_tokens, 0
        if self.caching:
            cached = max(0, self.blocks.hit_len(seq) - seq.num_computed_tokens)
            if cached == charged:
                cached -= 1  # the model needs one token to work on
            charged -= cached
        if self.chunked and cut:
            charged = min(charged, self._room_for_chunk(seq))
        return charged, cached

    def cost_of_return(self, seq: Sequence) -> int:
        """Tokens charged for coming back from swap: never cut, so all the rest of a prompt."""
        half_done = seq.num_slots == seq.num_tokens
        if self.caching and half_done and seq.num_computed_tokens > self.blocks.hit_len(seq):
            raise EngineDied("AssertionError: fewer tokens are cached than computed",  # surprise 9
                             Cause(Limit.INTERNAL_ERROR), seq)
        return self.cost(seq, cut=False)[0]

    def _room_for_chunk(self, seq: Sequence) -> int:
        """What is left of the token budget; with prefix caching only whole blocks of it."""
        left = self.budget.token_budget - self.budget.used_tokens
        if not self.caching:
            return left
        size = self.config.block_size
        if remainder := self.budget.token_budget % size:
            raise EngineDied("ValueError: the token budget is no multiple of the block size",
                             Cause(Limit.INTERNAL_ERROR, size, remainder), seq)
        return left - left % size  # surprise 15: a decode may cost a whole block

    def no_budget(self, charged: int) -> Cause | None:
        """None if the candidate fits the budgets (2.3)."""
        return self.budget.refusal(charged, 1) if charged else self.nothing_left()

    def nothing_left(self) -> Cause:
        """The rest of the token budget does not even give a chunk."""
        left = self.budget.token_budget - self.budget.used_tokens
        return Cause(Limit.TOKEN_BUDGET, self.config.block_size if self.caching else 1, left)

    def too_long(self, num_tokens: int) -> Cause | None:
        """The limit for a prompt; with chunked prefill it is held against the chunk (2.7.3,
        surprise 8)."""
        limit = self.max_prompt_len
        if num_tokens <= limit:
            return None
        knob = Limit.MODEL_LEN if limit == self.config.max_model_len else Limit.TOKEN_BUDGET
        return Cause(knob, num_tokens, limit)

    # -- moves ---------------------------------------------------------------------------------

    def compute(self, seq: Sequence, charged: int, cached: int) -> None:
        """The request gets its token, or its prompt or chunk of it, in this step."""
        self.budget.used_tokens += charged
        self.cached_tokens += cached
        seq.last_step = self.record.step
        if seq.state is State.DECODE:
            seq.num_scheduled_tokens = 1
        else:
            self.prefill(seq, charged + cached, cached)

    def throw_out(self, victim: Sequence, cause: Cause) -> None:
        """Swap if told to. None, the engine's own choice, is recompute (surprise 17)."""
        if self.config.preemption_mode != "swap":
            self.preempt(victim, cause)
            return
        cpu = self.blocks.cpu
        if (needed := self.blocks.needed_to_swap(victim, cpu)) > cpu.num_free:  # surprise 4
            raise EngineDied("RuntimeError: too little CPU swap space",
                             Cause(Limit.CPU_BLOCKS, needed, cpu.num_free, cause.other), victim)
        self.swap_out(victim, cause, needed)

    def requeue(self, victims: Iterable[Sequence]) -> None:
        """The recomputed go to the front, the last victim first; the swapped to the end (2.5,
        surprise 2)."""
        if self.config.preemption_mode == "swap":
            self.swapped.extend(victims)
        else:
            self.waiting.extendleft(victims)


class PromptDelay:
    """delay_factor: let prompts gather in the waiting queue before it is looked at (2.13)."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self._last_look: float = 0
        self._prompts_followed = False
        """Prompts were admitted after the last look."""
        self._latency: float = 0

    def look(self, now: float, waiting: Iterable[Sequence], others_run: bool) -> Cause | None:
        """None if the head may be looked at; else how long the eldest would have to have waited,
        in steps. With the clock in seconds there are no whole numbers to tell."""
        if not self.factor:
            return None
        if self._prompts_followed:
            self._latency = now - self._last_look
        self._last_look, self._prompts_followed = now, False
        delay = self.factor * self._latency
        if not others_run or any(now - seq.arrival_time > delay for seq in waiting):
            return None
        if isinstance(now, float):
            return Cause(Limit.DELAY_FACTOR)
        waited = max((now - int(seq.arrival_time) for seq in waiting), default=0)
        return Cause(Limit.DELAY_FACTOR, floor(delay) + 1, waited)

    def admitted(self) -> None:
        """An admission phase has let somebody in."""
        self._prompts_followed = True
