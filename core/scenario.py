"""The input of a run: a Scenario is a scheduler's name, the engine's knobs and the requests.

All three models are frozen and validated. Knobs carry vLLM's own names; lengths are in tokens,
memory in blocks, times in steps or, with the clock in seconds, in seconds. JSON in and out is the
identity.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from core.checked import Checked, Count, Rule, json_data
from core.cost.machine import Machine
from core.faults import ScenarioError, faults_of


class Request(Checked):
    """What a client asks for. It never changes during a run."""

    request_id: str = Field(min_length=1, max_length=64)
    arrival_step: Count = Field(0, ge=0, le=10_000_000)
    """Step at whose beginning the request joins the waiting queue."""
    arrival_s: float | None = Field(None, ge=0, le=10_000_000)
    """In place of arrival_step: it joins at the first step that begins then or later. With the
    clock in steps, a step counts as a second."""
    prompt_len: Count = Field(ge=1, le=10_000_000)
    """Tokens of the prompt. Left out, it is counted from ``prompt``."""
    output_len: Count = Field(ge=1, le=10_000_000)
    """Tokens after which the request ends. Known to the simulator, never to a scheduler."""
    priority: Count = Field(0, ge=-1_000_000, le=1_000_000)
    """Smaller is more urgent."""
    prefix_id: str | None = Field(None, max_length=64)
    """Requests with the same prefix_id share the first ``prefix_len`` tokens of their prompts."""
    prefix_len: Count = Field(0, ge=0, le=10_000_000)
    prefix_hashes: tuple[Annotated[Count, Field(ge=0)], ...] = Field((), max_length=1_000_000)
    """Ids of the prompt's first blocks, as traces hold them: requests with an equal id have equal
    prompts up to the end of its block."""
    prefix_hash_block: Count | None = Field(None, ge=1, le=10_000_000)
    """Tokens that each of prefix_hashes stands for."""
    prompt: str | None = Field(None, max_length=10_000)
    """The prompt as text, one token per character; for small demonstrations."""

    @model_validator(mode="before")
    @classmethod
    def _count_prompt(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("prompt"), str):
            return {"prompt_len": len(data["prompt"]), **data}
        return data

    @classmethod
    def rules(cls) -> tuple[Rule, ...]:
        return (
            (("prompt_len", "prompt"), lambda n, text: text is None or n == len(text),
             "must equal the number of characters of prompt (one token per character)"),
            (("arrival_s", "arrival_step"), lambda at, step: at is None or not step,
             "give either arrival_s or arrival_step"),
            (("prefix_hashes", "prefix_hash_block", "prompt_len"), _hashes_fit,
             "needs prefix_hash_block, and at most one id for each block of the prompt"),
            (("prefix_hashes", "prefix_id"), lambda ids, prefix: not ids or prefix is None,
             "must be empty where there is a prefix_id: a prompt has one or the other"),
        )


class EngineConfig(Checked):
    """The knobs of the engine, under vLLM's own names. A scheduler reads those it has."""

    block_size: Count = Field(16, ge=1, le=4096)
    """Tokens per KV block."""
    num_gpu_blocks: Count = Field(64, ge=1, le=1_000_000)
    """Physical KV blocks on the GPU."""
    num_cpu_blocks: Count = Field(32, ge=0, le=1_000_000)
    """Blocks of swap space in the host's memory."""
    max_num_batched_tokens: Count = Field(4096, ge=1, le=10_000_000)
    """The token budget of a step."""
    max_num_seqs: Count = Field(32, ge=1, le=100_000)
    """The sequence budget of a step."""
    max_model_len: Count = Field(2048, ge=1, le=10_000_000)
    """Longest sequence in tokens. The article's schedulers read it as the longest prompt."""
    preemption_mode: Literal["swap", "recompute"] | None = None
    """What happens to a victim's blocks; None leaves it to the engine (recompute)."""
    policy: Literal["fcfs", "priority", "length"] = "fcfs"
    """Order of the waiting queue. ``length`` (shortest prompt first) is the article's only."""
    enable_chunked_prefill: bool = False
    enable_prefix_caching: bool = False
    watermark: float = Field(0.0, ge=0, lt=1)
    """Share of the GPU blocks that an admission must leave free."""
    delay_factor: float = Field(0.0, ge=0, le=1000)
    """V0: wait this many times the last prompt latency before looking at the waiting queue."""
    bypass_config_checks: bool = False
    """V0: skip the engine's own check of the knobs, as some recordings do."""
    max_num_scheduled_tokens: Count | None = Field(None, ge=1, le=10_000_000)
    """V1: the scheduler's own token budget, if smaller than max_num_batched_tokens."""
    max_num_active_seqs: Count | None = Field(None, ge=1, le=100_000)
    """V1: seats, if not max_num_seqs."""
    long_prefill_token_threshold: Count = Field(0, ge=0, le=10_000_000)
    """V1: most tokens that one request gets in a step; 0 is no limit."""
    long_prefill_token_threshold_adaptive: bool = False
    scheduler_reserve_full_isl: bool = True
    """V1: admit a request only if the blocks for all of its tokens are free."""
    prefill_schedule_interval: Count = Field(1, ge=1, le=10_000)
    """V1: prefill only every so many steps."""
    batch_group_size: Count = Field(4, ge=1, le=10_000)
    """Article, 5.2: with policy ``length``, requests are admitted in groups of this size."""
    compress_swapped: bool = False
    """Article, section 5.3: compress swapped-out requests."""
    compression_ratio: float = Field(2.0, gt=1, le=100)
    """Blocks before / blocks after the compression."""
    compression_min_blocks: Count = Field(10, ge=0, le=1_000_000)
    """Only requests that hold more blocks than this are compressed."""


class Scenario(Checked):
    """Everything that a run depends on. The same Scenario gives the same Trace for ever."""

    name: str = Field("scenario", min_length=1, max_length=120)
    scheduler: str = Field("article", min_length=1, max_length=64)
    """Name of a file in core/schedulers."""
    config: EngineConfig = EngineConfig()
    requests: tuple[Request, ...] = Field((), max_length=1_000_000)
    max_steps: Count = Field(20_000, ge=1, le=100_000_000)
    """The run is cut off after so many steps."""
    clock: Literal["step", "seconds"] = "step"
    """A step lasts one unit, or as long as the machine takes for it."""
    machine: Machine | None = None
    """What the clock in seconds runs on."""

    @classmethod
    def rules(cls) -> tuple[Rule, ...]:
        return (
            (("requests",), lambda given: not _repeated_ids(given),
             lambda given: f"ids must differ; repeated: {', '.join(_repeated_ids(given))}"),
            (("requests",), _one_unit,
             "arrivals must be all in steps or all in seconds (whoever comes at 0 fits both)"),
            (("machine", "clock"), lambda machine, clock: clock == "step" or machine is not None,
             "the clock in seconds needs a machine"),
        )

    @property
    def arrives_in_seconds(self) -> bool:
        """Whether the requests' arrivals are given in seconds."""
        return any(request.arrival_s is not None for request in self.requests)

    @classmethod
    def parse(cls, data: object) -> Scenario:
        """A Scenario from plain data (what ``json.loads`` gives).

        Raises:
            ScenarioError: with every fault of the input.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ScenarioError(faults_of(error)) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Scenario:
        """A Scenario from its JSON text; raises ScenarioError as ``parse`` does."""
        return cls.parse(json_data(text))

    def to_json(self) -> str:
        """The JSON text that ``from_json`` reads back; values at their default are left out."""
        return json.dumps(self.model_dump(exclude_defaults=True), indent=1, ensure_ascii=False)

    def with_knobs(self, **knobs: Any) -> Scenario:
        """The same scenario with some knobs of the engine set to other values, validated."""
        data = self.model_dump(exclude_defaults=True)
        return Scenario.parse({**data, "config": {**data.get("config", {}), **knobs}})


def _hashes_fit(hashes: Any, block: int | None, prompt_len: int) -> bool:
    """Whether there is a block size if there are ids, and no more ids than begun blocks."""
    if not hashes or block is None:
        return not hashes and block is None
    return len(hashes) <= -(-prompt_len // block)


def _repeated_ids(requests: Any) -> list[str]:
    """Ids that more than one request has, of Requests or of what is to become some."""
    ids = [r.get("request_id") if isinstance(r, dict) else getattr(r, "request_id", None)
           for r in requests]
    counts = Counter(each for each in ids if isinstance(each, str))
    return [repr(each) for each, count in counts.items() if count > 1]


def _one_unit(requests: Any) -> bool:
    """Whether no arrival is in steps, or none in seconds. A request with both is its own fault."""
    asked = [vars(r) if isinstance(r, Request) else r for r in requests
             if isinstance(r, (dict, Request))]
    told = [(bool(r.get("arrival_step")), r.get("arrival_s") is not None) for r in asked]
    return not ((True, False) in told and (False, True) in told)
