"""Requests that share prefixes by block ids: validation, block keys, and hits in vLLM's V1."""

from __future__ import annotations

from typing import Any

import pytest

from core import Request, Scenario, ScenarioError, simulate
from core.sequence import Sequence
from core.trace import Kind
from core.workloads import Slice, apply, read, to_requests
from tests.core.workloads.files import SHARED, needs_shared


def sequence(index: int, prompt_len: int, ids: list[int], block: int = 8) -> Sequence:
    """A request whose prompt has these block ids."""
    return Sequence(index, Request(request_id=str(index), prompt_len=prompt_len, output_len=5,
                                   prefix_hashes=tuple(ids), prefix_hash_block=block))


def test_block_key_is_equal_up_to_where_the_ids_are_equal() -> None:
    one, two = sequence(0, 24, [0, 1, 2]), sequence(1, 24, [0, 1, 3])
    for end in (4, 8, 12, 16):
        assert one.block_key(end) == two.block_key(end)
    for end in (20, 24):
        assert one.block_key(end) != two.block_key(end)


def test_block_key_of_the_same_id_differs_from_end_to_end() -> None:
    one = sequence(0, 16, [7, 8])
    assert len({one.block_key(end) for end in (2, 4, 6, 8, 16)}) == 5


def test_block_key_of_a_block_over_several_ids_is_that_of_its_last() -> None:
    """A block of 16 over ids of 8 tokens: equal only if the second id is."""
    assert sequence(0, 16, [0, 1]).block_key(16) != sequence(1, 16, [0, 2]).block_key(16)
    assert sequence(0, 16, [0, 1]).block_key(16) == sequence(1, 16, [0, 1]).block_key(16)


def test_block_key_of_generated_tokens_is_the_requests_own() -> None:
    one, two = sequence(0, 12, [0, 1]), sequence(1, 12, [0, 1])
    assert one.block_key(12) == two.block_key(12)
    assert one.block_key(16) != two.block_key(16)  # the second id's block is not full of prompt


def test_block_key_behind_the_last_id_is_the_requests_own() -> None:
    one, two = sequence(0, 24, [0]), sequence(1, 24, [0])
    assert one.block_key(8) == two.block_key(8)
    assert one.block_key(16) != two.block_key(16)


def test_block_key_by_ids_is_no_other_requests_key() -> None:
    by_ids = {sequence(0, 80, list(range(10))).block_key(end) for end in range(8, 81, 8)}
    plain = {Sequence(i, Request(request_id="x", prompt_len=80, output_len=1)).block_key(end)
             for i in range(10) for end in range(8, 81, 8)}
    assert not by_ids & plain


@pytest.mark.parametrize(("fields", "field"), [
    ({"prefix_hashes": [1]}, "prefix_hashes"),
    ({"prefix_hash_block": 4}, "prefix_hashes"),
    ({"prefix_hashes": [1, 2, 3], "prefix_hash_block": 4}, "prefix_hashes"),
    ({"prefix_hashes": [1], "prefix_hash_block": 4, "prefix_id": "p"}, "prefix_hashes"),
    ({"prefix_hashes": [-1], "prefix_hash_block": 4}, "prefix_hashes.0"),
    ({"prefix_hashes": [1.5], "prefix_hash_block": 4}, "prefix_hashes.0"),
    ({"prefix_hashes": [1], "prefix_hash_block": 0}, "prefix_hash_block"),
])
def test_request_with_block_ids_that_do_not_fit_is_refused(fields: dict[str, Any],
                                                           field: str) -> None:
    asked = {"request_id": "a", "prompt_len": 8, "output_len": 1, **fields}
    with pytest.raises(ScenarioError) as refused:
        Scenario.parse({"requests": [asked]})
    assert [fault.field for fault in refused.value.faults] == [f"requests.0.{field}"]


def hits(scenario: Scenario) -> dict[str, int]:
    """Tokens found in the prefix cache by each request at its first admission."""
    trace = simulate(scenario)
    found: dict[str, int] = {}
    for event in trace.event_rows:
        if event.kind is Kind.PREFILLED:
            found.setdefault(trace.request_id(event.request) or "", event.num_cached_tokens)
    return found


def one_after_another(rows: list[tuple[int, list[int]]], hash_block: int,
                      block_size: int) -> Scenario:
    """Requests of these prompt lengths and ids, each alone in the engine, in a large memory."""
    return Scenario.parse({
        "scheduler": "vllm_v1",
        "config": {"block_size": block_size, "num_gpu_blocks": 20_000, "max_num_seqs": 4,
                   "max_num_batched_tokens": 200_000, "max_model_len": 200_000,
                   "enable_chunked_prefill": True, "enable_prefix_caching": True},
        "requests": [
            {"request_id": str(i), "arrival_step": 4 * i, "prompt_len": prompt_len,
             "output_len": 1, "prefix_hashes": ids, "prefix_hash_block": hash_block}
            for i, (prompt_len, ids) in enumerate(rows)],
    })


@pytest.mark.parametrize("block_size", [8, 16, 32, 64])
def test_v1_hits_at_any_block_size_are_what_the_ids_say(block_size: int) -> None:
    rows = [(200, [0, 1, 2, 3]), (200, [0, 1, 2, 4]), (128, [0, 1]), (130, [5, 6, 7]),
            (64, [0])]
    found = hits(one_after_another(rows, 64, block_size))
    # the last token is always computed: of a prompt that is known as a whole, one block less
    assert found == {"0": 0, "1": 192, "2": 128 - block_size, "3": 0, "4": 64 - block_size}


def expected_hits(rows: list[tuple[int, list[int]]], hash_block: int,
                  block_size: int) -> dict[str, int]:
    """From the ids alone: full blocks that end within ids seen before, len - 1 tokens at most."""
    seen: set[tuple[int, int]] = set()
    found = {}
    for number, (prompt_len, ids) in enumerate(rows):
        ends = range(block_size, prompt_len + 1, block_size)
        keys = [(ids[(end - 1) // hash_block], end) for end in ends]
        known = 0
        while known < (prompt_len - 1) // block_size and keys[known] in seen:
            known += 1
        seen.update(keys)
        found[str(number)] = known * block_size
    return found


@needs_shared
@pytest.mark.parametrize("name", ["conversation_trace.first2000.jsonl", "synthetic_trace.jsonl"])
def test_v1_hits_in_mooncake_traces_at_block_size_16_are_what_the_ids_say(name: str) -> None:
    workload = apply(read((SHARED / "mooncake" / name).read_bytes()),
                     Slice(first=120, max_prompt_len=2500))
    rows = [(row.prompt_len, list(row.prefix_hashes)) for row in workload.rows]
    found = hits(one_after_another(rows, 512, 16))
    assert found == expected_hits(rows, 512, 16)
    assert sum(found.values()) > 10_000
    assert len(to_requests(workload)) == 120
