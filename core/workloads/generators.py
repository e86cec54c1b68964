"""Seeded workloads: a Recipe says what they are like, and the same Recipe gives the same rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from core.faults import Fault, ScenarioError
from core.workloads import arrivals
from core.workloads.assemble import chained
from core.workloads.lengths import Lengths
from core.workloads.options import Options, refuse_below
from core.workloads.sessions import lay_out_sessions
from core.workloads.workload import MAX_TOKENS, Workload, WorkloadRow

HASH_BLOCK = 16
"""Tokens per block where conversations begin with a common system prompt."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the requests are like."""

    count: int = 100
    """Requests in all."""
    seed: int = 0
    arrivals: Literal["poisson", "gamma", "burst", "uniform", "closed_loop"] = "poisson"
    """closed_loop: each of ``clients`` sends its next request when it has its answer. Since
    arrivals are fixed before a run, the answers' times are estimates."""
    rate: float = 5.0
    """Requests per second; with several turns, conversations per second."""
    cv: float = 2.0
    """gamma: coefficient of variation of the gaps."""
    burst_size: int = 10
    """burst: requests at one moment."""
    clients: int = 8
    """closed_loop: how many there are."""
    think_s: float = 1.0
    """Seconds between an answer and the next request of the same client or conversation."""
    prompt: Lengths = field(default_factory=lambda: Lengths(typical=256))
    """What a request adds to what was said before."""
    output: Lengths = field(default_factory=lambda: Lengths(typical=128))
    system_prompt_len: int = 0
    """Tokens that stand before everything else and are the same for many requests."""
    num_system_prompts: int = 1
    """How many different ones there are, taken in turn."""
    turns: int = 1
    """Requests of a conversation. Each one's prompt is all that was said before, and more."""

    def __post_init__(self) -> None:
        refuse_below(self, 0, above=("count", "rate", "cv", "burst_size", "clients",
                                     "num_system_prompts", "turns"),
                     at_least=("seed", "think_s", "system_prompt_len"))
        for name, most in (("count", 1_000_000), ("system_prompt_len", MAX_TOKENS // 2)):
            if getattr(self, name) > most:
                rule = f"must be at most {most:,}"
                raise ScenarioError([Fault(name, getattr(self, name), rule)])


class _Place(NamedTuple):
    """Where a request stands."""

    name: str
    conversation: int
    turn: int
    before: int | None
    """Position of the request that must be answered first."""


def generate(recipe: Recipe, options: Options | None = None) -> Workload:
    """The rows of a recipe, by arrival.

    Args:
        options: Its durations per token estimate when an answer is there.
    """
    places = [_place(recipe, i) for i in range(recipe.count)]
    starts = _starts(recipe)
    asked = recipe.prompt.draw(arrivals.generator(recipe.seed, 1), recipe.count)
    answered = recipe.output.draw(arrivals.generator(recipe.seed, 2), recipe.count)
    prompts = _prompt_lens(recipe, places, asked, answered)
    prefixes = _prefixes(recipe, places, prompts)
    rows = tuple(
        WorkloadRow(
            place.name, prompts[i], answered[i],
            arrival_s=float(starts[place.conversation]) if place.before is None else None,
            prefix_id=prefixes[i].id, prefix_len=prefixes[i].length,
            prefix_hashes=prefixes[i].hashes,
            prefix_hash_block=HASH_BLOCK if prefixes[i].hashes else None,
            after=None if place.before is None else places[place.before].name,
            delay_s=0.0 if place.before is None else recipe.think_s,
        )
        for i, place in enumerate(places)
    )
    key = "closed_loop" if recipe.arrivals == "closed_loop" else "session_arrivals"
    return lay_out_sessions(Workload("generated", "Generated", rows), options or Options(), key)


def _place(recipe: Recipe, i: int) -> _Place:
    if recipe.arrivals == "closed_loop":
        number, client = divmod(i, recipe.clients)
        nth, turn = divmod(number, recipe.turns)
        return _Place(f"u{client + 1}.{number + 1}", nth * recipe.clients + client, turn,
                      i - recipe.clients if number else None)
    conversation, turn = divmod(i, recipe.turns)
    name = f"r{i + 1}" if recipe.turns == 1 else f"c{conversation + 1}.{turn + 1}"
    return _Place(name, conversation, turn, i - 1 if turn else None)


def _starts(recipe: Recipe) -> arrivals.Seconds:
    """When each conversation begins; in a closed loop, all clients' first ones at once."""
    rng = arrivals.generator(recipe.seed, 0)
    count = -(-recipe.count // recipe.turns)
    if recipe.arrivals == "poisson":
        return arrivals.poisson(rng, count, recipe.rate)
    if recipe.arrivals == "gamma":
        return arrivals.gamma(rng, count, recipe.rate, recipe.cv)
    if recipe.arrivals == "burst":
        return arrivals.burst(count, recipe.rate, recipe.burst_size)
    if recipe.arrivals == "uniform":
        return arrivals.uniform(count, recipe.rate)
    return arrivals.at_once(recipe.clients)


def _prompt_lens(recipe: Recipe, places: list[_Place], asked: list[int],
                 answered: list[int]) -> list[int]:
    """A prompt is the system prompt, all that was said in the conversation, and the question."""
    said: dict[int, int] = {}
    prompts = []
    for place, question, answer in zip(places, asked, answered, strict=True):
        before = said.get(place.conversation, recipe.system_prompt_len)
        prompts.append(min(MAX_TOKENS, before + question))
        said[place.conversation] = before + question + answer
    return prompts


class _Prefix(NamedTuple):
    """What a prompt shares: a common beginning by name, or blocks."""

    id: str | None = None
    length: int = 0
    hashes: tuple[int, ...] = ()


def _prefixes(recipe: Recipe, places: list[_Place], prompts: list[int]) -> list[_Prefix]:
    """Who shares what with whom."""
    system = recipe.system_prompt_len
    if recipe.turns == 1:
        group = recipe.num_system_prompts
        return [_Prefix(f"system{place.conversation % group + 1}", system) if system
                else _Prefix() for place in places]
    if not system:
        return [_Prefix(f"conversation{place.conversation + 1}", prompt)
                for place, prompt in zip(places, prompts, strict=True)]
    return [_Prefix(hashes=chain) for chain in chained([
        tuple(_label(recipe, place.conversation, i) for i in range(-(-prompt // HASH_BLOCK)))
        for place, prompt in zip(places, prompts, strict=True)
    ])]


def _label(recipe: Recipe, conversation: int, i: int) -> tuple[str, int]:
    """What block ``i`` of a prompt belongs to: a system prompt, or the conversation."""
    if (i + 1) * HASH_BLOCK <= recipe.system_prompt_len:
        return ("system", conversation % recipe.num_system_prompts)
    return ("conversation", conversation)
