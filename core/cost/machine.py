"""What a model runs on: GPU, model, tensor parallelism, and the parameters that were fitted.

Two parameters of each GPU are fitted (compute and memory efficiency). Fitted to a measured run,
the model is within a few percent of it; without such a run expect errors of 15 to 25 %.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from core.checked import Checked, Rule
from core.cost.codecs import CODECS
from core.cost.gpus import GPUS, Gpu
from core.cost.models import MODELS, ModelShape


class Machine(Checked):
    """Everything that the seconds of a step depend on, besides the step. None takes the GPU's."""

    gpu: str = "A100-80G"
    """Name of an entry of GPUS."""
    model: str = "Llama-2-7B"
    """Name of an entry of MODELS."""
    tensor_parallel: Literal[1, 2, 4, 8] = 1
    """GPUs that share every layer."""
    compute_efficiency: float | None = Field(None, gt=0, le=1)
    """Share of the peak operations that the linear layers reach."""
    memory_efficiency: float | None = Field(None, gt=0, le=1)
    """Share of the peak bandwidth that reading weights and KV reaches."""
    attention_efficiency: float = Field(0.6, gt=0, le=1)
    """Rate of prefill attention as a share of that of the linear layers. Fitted once, to all."""
    step_overhead_s: float = Field(0.001, ge=0, le=10)
    """Seconds per step outside the GPU. 1 to 2 ms for V1; 5 to 8 ms for V0, as in DistServe's
    fit of vLLM on an A100."""
    seq_overhead_s: float = Field(20e-6, ge=0, le=1)
    """Seconds per step and sequence outside the GPU; for V0 60 µs (DistServe's fit)."""
    host_link_gb_s: float | None = Field(None, gt=0, le=10_000)
    """Rate of swapping, one way, per GPU, 10^9 bytes a second."""
    copy_overhead_s: float = Field(5e-6, ge=0, le=1)
    """Seconds per copy when swapping: V0 copies K and V of each block and layer on their own. A
    small cudaMemcpyAsync takes 5 to 7 µs to submit (DualPath, arXiv 2602.21548, section 5.2)."""
    compress_gb_s: float | None = Field(None, gt=0, le=100_000)
    """Rate of compressing, in uncompressed bytes; None takes that of int8 (codecs.py)."""
    decompress_gb_s: float | None = Field(None, gt=0, le=100_000)
    """Rate of decompressing, in uncompressed bytes; None takes that of int8 (codecs.py)."""
    all_reduce_s: float = Field(10e-6, ge=0, le=1)
    """Seconds that an all-reduce takes besides its bytes. An assumption, not measured."""

    @classmethod
    def rules(cls) -> tuple[Rule, ...]:
        return (
            (("gpu",), GPUS.__contains__, f"must be one of {', '.join(GPUS)}"),
            (("model",), MODELS.__contains__, f"must be one of {', '.join(MODELS)}"),
            (("tensor_parallel", "model"), _heads_divide,
             "must divide the model's number of attention heads"),
        )

    @property
    def hardware(self) -> Gpu:
        """The GPU's figures."""
        return GPUS[self.gpu]

    @property
    def shape(self) -> ModelShape:
        """The model's shape."""
        return MODELS[self.model]

    def kv_bytes_per_token(self) -> int:
        """Bytes of K and V of a token on each GPU. Heads that are too few are on several GPUs."""
        shape = self.shape
        heads = max(1, shape.num_kv_heads // self.tensor_parallel)
        return shape.kv_bytes_per_token // shape.num_kv_heads * heads

    def rates(self) -> Rates:
        """What each of the GPUs does in a second."""
        gpu, int8 = self.hardware, CODECS["int8"]
        bandwidth = gpu.bandwidth_gb_s * 1e9
        host_link = self.host_link_gb_s or gpu.host_link_gb_s
        return Rates(
            flops=(self.compute_efficiency or gpu.compute_efficiency) * gpu.tflops * 1e12,
            memory=(self.memory_efficiency or gpu.memory_efficiency) * bandwidth,
            host_link=host_link * 1e9,
            peer_link=PEER_EFFICIENCY * gpu.peer_link_gb_s * 1e9,
            compress=(self.compress_gb_s or int8.compress_share * bandwidth / 1e9) * 1e9,
            decompress=(self.decompress_gb_s or int8.decompress_share * bandwidth / 1e9) * 1e9,
        )


PEER_EFFICIENCY = 0.77
"""Share of a peer link that an all-reduce reaches: 366 of 450 GB/s and less on four H100
(codcompass.com, "Where tensor-parallel inference hits the NVLink wall")."""


class Rates(NamedTuple):
    """What one GPU does in a second: operations, or bytes."""

    flops: float
    memory: float
    host_link: float
    peer_link: float
    compress: float
    """Uncompressed bytes."""
    decompress: float
    """Uncompressed bytes."""


def _heads_divide(tensor_parallel: int, model: str) -> bool:
    return model not in MODELS or MODELS[model].num_heads % tensor_parallel == 0
