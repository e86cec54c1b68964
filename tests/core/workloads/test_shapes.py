"""The three workloads of the speed measurement."""

from __future__ import annotations

import pytest

from core.workloads.shapes import RATE, SHAPES, burst, light, pressure


@pytest.mark.parametrize("shape", SHAPES)
def test_shape_with_the_same_seed_is_the_same(shape: str) -> None:
    requests = SHAPES[shape].requests
    assert requests(50) == requests(50)
    assert len(requests(50)) == 50


def test_shape_with_another_seed_is_another() -> None:
    assert light(50, seed=1) != light(50, seed=2)


def test_light_has_the_lengths_and_the_rate_it_should() -> None:
    requests = light(2_000)
    assert {min(r.prompt_len for r in requests), max(r.prompt_len for r in requests)} == {32, 512}
    assert {min(r.output_len for r in requests), max(r.output_len for r in requests)} == {16, 256}
    arrivals = [r.arrival_step for r in requests]
    assert arrivals == sorted(arrivals)
    assert arrivals[-1] == pytest.approx(2_000 / RATE, rel=0.1)


def test_burst_is_light_all_at_once() -> None:
    assert {r.arrival_step for r in burst(100)} == {0}
    assert [(r.prompt_len, r.output_len) for r in burst(100)] == [
        (r.prompt_len, r.output_len) for r in light(100)]


def test_pressure_has_longer_requests_at_the_same_times() -> None:
    requests = pressure(4_000)
    prompts, outputs = ({getattr(r, name) for r in requests} for name in
                        ("prompt_len", "output_len"))
    assert (min(prompts), max(prompts), min(outputs), max(outputs)) == (256, 1024, 128, 512)
    assert [r.arrival_step for r in pressure(50)] == [r.arrival_step for r in light(50)]
    assert SHAPES["pressure"].config.num_gpu_blocks == 512
