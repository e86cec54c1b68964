"""A Machine: what it refuses, what it takes from its GPU, and what tensor parallelism divides."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from core.cost.gpus import GPUS
from core.cost.machine import Machine
from core.faults import faults_of


def fields_refused(**fields: object) -> list[tuple[str, object]]:
    with pytest.raises(ValidationError) as caught:
        Machine(**fields)  # type: ignore[arg-type]
    return [(fault.field, fault.value) for fault in faults_of(caught.value)]


def test_machine_with_unknown_names_reports_both() -> None:
    assert fields_refused(gpu="B200", model="GPT-4") == [("gpu", "B200"), ("model", "GPT-4")]


def test_machine_whose_heads_cannot_be_divided_is_refused() -> None:
    # Qwen2.5-7B has 28 heads
    assert fields_refused(model="Qwen2.5-7B", tensor_parallel=8) == [("tensor_parallel", 8)]
    assert Machine(model="Qwen2.5-7B", tensor_parallel=4).tensor_parallel == 4


@pytest.mark.parametrize("number", [0, 3, 16])
def test_machine_with_another_number_of_gpus_is_refused(number: int) -> None:
    ((field, value),) = fields_refused(tensor_parallel=number)
    assert (field, value) == ("tensor_parallel", number)


@pytest.mark.parametrize("share", [0, 1.01])
def test_machine_with_impossible_efficiency_is_refused(share: float) -> None:
    assert fields_refused(compute_efficiency=share) == [("compute_efficiency", share)]


def test_machine_takes_from_its_gpu_what_is_not_given() -> None:
    gpu, rates = GPUS["RTX 4090"], Machine(gpu="RTX 4090").rates()
    assert rates.flops == pytest.approx(0.87 * 165.2e12)
    assert rates.memory == pytest.approx(0.87 * 1008e9)
    assert rates.host_link == gpu.host_link_gb_s * 1e9
    own = Machine(gpu="RTX 4090", compute_efficiency=0.5, memory_efficiency=0.25,
                  host_link_gb_s=10, compress_gb_s=3, decompress_gb_s=4).rates()
    assert own[:3] == pytest.approx((0.5 * 165.2e12, 0.25 * 1008e9, 10e9))
    assert own[4:] == pytest.approx((3e9, 4e9))


def test_machine_splits_kv_heads_and_repeats_them_where_they_are_too_few() -> None:
    per_gpu = [Machine(model="Llama-3-8B", tensor_parallel=n).kv_bytes_per_token()
               for n in (1, 2, 4, 8)]
    assert per_gpu == [131072, 65536, 32768, 16384]
    # TinyLlama has 4 KV heads: on 8 GPUs each of them stands on two
    assert Machine(model="TinyLlama-1.1B", tensor_parallel=8).kv_bytes_per_token() == 22528 // 4


def test_machine_json_is_the_identity() -> None:
    machine = Machine(gpu="T4", model="TinyLlama-1.1B", step_overhead_s=0.005)
    assert Machine.model_validate_json(machine.model_dump_json(exclude_defaults=True)) == machine
