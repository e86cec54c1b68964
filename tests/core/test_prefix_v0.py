"""Prefix caching in vLLM's classic scheduler: hits, sharing, parking and eviction.

Numbers in the docstrings are sections of golden/v0, "surprise" its part 4. Blocks hold 4 tokens.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from core import simulate
from core.prefix_v0 import NEVER, PrefixPool
from core.recorded import scenario_from_recorded
from core.trace import Cause, Kind, Limit
from tests.conftest import blocks_held, column, ids_of, make_requests
from tests.core.v0_runs import causes, run_v0

GOLDEN = Path(__file__).parents[1] / "golden" / "v0"


def test_hit_is_counted_at_the_first_look_and_kept() -> None:
    """Surprise 12 (micro: prefix-sticky): 2 is looked at before anything is computed, 3 after."""
    trace = run_v0(make_requests(3, prompt_len=40, prefix_id="a", prefix_len=32),
                   num_gpu_blocks=40, enable_prefix_caching=True)
    cached = {trace.request_id(e.request): (e.step, e.num_tokens, e.num_cached_tokens)
              for e in trace.event_rows if e.kind is Kind.PREFILLED}
    assert cached == {"1": (0, 40, 0), "2": (1, 40, 0), "3": (1, 40, 32)}
    assert blocks_held(trace, "gpu", 1)["2"][:8] == blocks_held(trace, "gpu", 1)["1"][:8]
    assert column(trace, "steps", "num_batched_tokens")[1] == 80
    assert column(trace, "steps", "num_prefill_tokens")[1] == 48


def test_prompt_found_whole_in_the_cache_computes_its_last_token_all_the_same() -> None:
    """2.4: 8 tokens in two full blocks, registered in step 0."""
    trace = run_v0(make_requests(2, arrival_step=[0, 1], prompt_len=8, prefix_id="a",
                                 prefix_len=8), enable_prefix_caching=True)
    assert [(e.num_tokens, e.num_cached_tokens) for e in trace.event_rows
            if e.kind is Kind.PREFILLED] == [(8, 0), (8, 7)]


def test_eviction_takes_the_longest_unused_and_of_those_the_longest_prefix() -> None:
    """2.10: 1 parks 0 1 with time 1, 2 parks 3 4 with time 3; the free list is 5 2 by then.

    Each has 8 shared tokens, 2 of its own, and one generated. 3 needs 5 blocks: 5, 2, then of 1's
    the second block before the first, then 2's second.
    """
    trace = run_v0(make_requests(3, arrival_step=[0, 2, 4], prompt_len=[10, 10, 19],
                                 output_len=[2, 2, 1], prefix_id=["a", "b", None],
                                 prefix_len=[8, 8, 0]),
                   num_gpu_blocks=6, enable_prefix_caching=True)
    assert blocks_held(trace, "gpu", 0) == {"1": [0, 1, 2]}
    assert blocks_held(trace, "gpu", 2) == {"2": [2, 3, 4]}
    assert blocks_held(trace, "gpu", 4) == {"3": [4, 5, 1, 0, 3]}
    assert [e.block_id for e in trace.event_rows if e.kind is Kind.EVICTED] == [1, 0, 3]


def test_rest_of_the_budget_counts_in_whole_blocks_with_caching_and_chunks() -> None:
    """Surprise 15: one decode leaves 3 of 4 tokens, which is no whole block."""
    trace = run_v0(make_requests(2, arrival_step=[0, 1], prompt_len=1, output_len=3),
                   max_num_batched_tokens=4, max_num_seqs=4, enable_chunked_prefill=True,
                   enable_prefix_caching=True)
    assert causes(trace, Kind.REFUSED) == [
        (1, "2", Cause(Limit.TOKEN_BUDGET, 4, 3)), (2, "2", Cause(Limit.TOKEN_BUDGET, 4, 3))]
    assert ids_of(trace, Kind.ADMITTED, step=3) == ["2"]


# -- the pool ------------------------------------------------------------------------------------

def registered(pool: PrefixPool, *ends: int) -> list[int]:
    """A table of full blocks that end at these tokens, registered in step 0."""
    table = []
    for end in ends:
        table.append(pool.take())
        pool.register(table[-1], ("a", end), 0)
    return table


def test_block_given_back_by_one_of_two_holders_is_not_parked() -> None:
    pool = PrefixPool(0, 2)
    table = registered(pool, 4)
    assert pool.share(("a", 4)) == table[0]
    pool.give_back(table)
    assert (pool.is_held(("a", 4)), pool.num_free) == (True, 1)
    pool.give_back(table)
    assert (pool.is_held(("a", 4)), pool.num_free) == (False, 2)


def test_parked_block_is_found_until_it_is_evicted() -> None:
    pool = PrefixPool(0, 1)
    pool.give_back(registered(pool, 4))
    assert pool.is_computed(("a", 4), step=1)
    assert not pool.is_computed(("a", 4), step=0)
    assert pool.must_evict
    assert pool.take() == 0
    assert not pool.is_computed(("a", 4), step=1)
    assert pool.share(("a", 4)) is None


def test_block_fetched_from_parking_forgets_its_access_and_is_evicted_first() -> None:
    """2.10: parked by a swap-out, which sets no access time."""
    pool = PrefixPool(0, 2)
    table = registered(pool, 4, 8)
    pool.touch(table, 5)
    pool.give_back(table)
    assert pool.share(("a", 4)) == 0
    pool.give_back([0])
    assert [pool.take(), pool.take()] == [0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_eviction_takes_what_a_look_at_every_parked_block_would_take(seed: int) -> None:
    """Blocks are taken, shared, touched and given back at random; the rule is applied plainly."""
    rng = random.Random(seed)
    pool, size = PrefixPool(0, 6), 6
    tables: list[list[int]] = []
    key: dict[int, tuple[str, int]] = {}
    accessed: dict[int, int] = {}
    evictions = 0
    for step in range(300):
        held = {block for table in tables for block in table}
        parked = [block for block in key if block not in held]
        assert pool.num_free == size - len(held)
        if tables and (rng.random() < 0.5 or len(held) == size):
            table = tables.pop(rng.randrange(len(tables)))
            if rng.random() < 0.7:
                pool.touch(table, step)
                accessed.update((block, step) for block in table)
            pool.give_back(table)
        elif parked and rng.random() < 0.5:
            block = rng.choice(parked)
            assert pool.share(key[block]) == block
            accessed[block] = NEVER
            tables.append([block])
        else:
            expected = min(parked, key=lambda b: (accessed[b], -key[b][1], b), default=None)
            evicts = pool.must_evict
            block = pool.take()
            assert not evicts or block == expected
            evictions += evicts
            key[block], accessed[block] = (f"{step}", 4 * rng.randint(1, 3)), NEVER
            pool.register(block, key[block], step)
            tables.append([block])
    assert evictions > 10


def test_hit_counted_early_and_evicted_since_is_flagged_as_uncomputed() -> None:
    """Surprise 12, golden v0-micro-prefix-recompute, step 32: r2 counts 16 cached tokens, and gets
    blocks that hold nothing of them."""
    content = json.loads(gzip.decompress((GOLDEN / "micro.json.gz").read_bytes()))
    recorded = next(t for t in content["traces"]
                    if t["scenario"]["name"] == "v0-micro-prefix-recompute")
    trace = simulate(scenario_from_recorded(recorded["scenario"], "v0"))
    flagged = [(e.step, trace.request_id(e.request)) for e in trace.event_rows
               if e.kind is Kind.UNCOMPUTED_HIT]
    assert (32, "r2") in flagged
