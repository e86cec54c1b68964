"""GPUs as data. Each figure stands with its source.

Peak rates are dense 16-bit tensor rates with 32-bit accumulation; datasheets also print sparse
rates, which are twice as large and never reached by an LLM. A host link's rate is one way; the
datasheets' figure is both ways together. Efficiencies are the share of a peak that real kernels
reach; where a GPU has been measured end to end, they were fitted to that run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Gpu:
    """One kind of GPU."""

    name: str
    tflops: float
    """Peak 10^12 floating point operations a second."""
    bandwidth_gb_s: float
    """Peak of its own memory, 10^9 bytes a second."""
    memory_mib: int
    """Memory as the driver reports it, 2^20 bytes."""
    host_link_gb_s: float
    """Usable rate of large copies to or from the host, one way, 10^9 bytes a second."""
    peer_link_gb_s: float
    """Peak rate to other GPUs of the same machine, one way, 10^9 bytes a second."""
    compute_efficiency: float
    memory_efficiency: float
    sources: Mapping[str, str]
    """For each figure (by its field's name) where it comes from."""


_NVML = "as nvidia-smi reports it (table at thundergolfer.com/blog/nvidia-gpu-memory-capacity)"
_PCIE = {
    12.0: "PCIe 3 x16 is 16 GB/s one way; about 80 % of it is usable (rule of thumb)",
    25.0: "PCIe 4 x16 is 32 GB/s one way; about 80 % of it is usable (rule of thumb)",
    50.0: "PCIe 5 x16 is 64 GB/s one way; about 80 % of it is usable (rule of thumb)",
}
_NO_NVLINK = "no NVLink: peers are reached over PCIe, at the host link's rate"
_VIDUR = ("share of the datasheet roofline that Vidur's kernel profiles (A100, H100, A40) reach:"
          " 0.63-0.73 of compute, 0.68-0.82 of bandwidth")
_ALIKE = "not measured: taken as for the data-centre cards in Vidur's kernel profiles"


def _gpu(name: str, tflops: tuple[float, str], bandwidth: tuple[float, str],
         memory: tuple[int, str], host_link_gb_s: float, peer: tuple[float, str] | None,
         efficiency: tuple[float, float, str]) -> Gpu:
    """A Gpu from pairs of figure and source."""
    peer = peer or (host_link_gb_s, _NO_NVLINK)
    return Gpu(name, tflops[0], bandwidth[0], memory[0], host_link_gb_s, peer[0], *efficiency[:2],
               MappingProxyType({
                   "tflops": tflops[1], "bandwidth_gb_s": bandwidth[1], "memory_mib": memory[1],
                   "host_link_gb_s": _PCIE[host_link_gb_s], "peer_link_gb_s": peer[1],
                   "compute_efficiency": efficiency[2], "memory_efficiency": efficiency[2],
               }))


_ALL = (
    _gpu("A100-80G", (312, "NVIDIA A100 datasheet"), (2039, "NVIDIA A100 datasheet, SXM"),
         (81920, _NVML), 25.0, (300, "NVIDIA A100 datasheet: NVLink 600 GB/s both ways"),
         (0.65, 0.72, _VIDUR)),
    _gpu("H100", (989, "NVIDIA H100 datasheet, SXM, half of the sparse figure"),
         (3350, "NVIDIA H100 datasheet, SXM"), (81559, _NVML), 50.0,
         (450, "NVIDIA H100 datasheet: NVLink 900 GB/s both ways"), (0.65, 0.72, _VIDUR)),
    _gpu("H200", (989, "NVIDIA H200 datasheet, half of the sparse figure"),
         (4800, "NVIDIA H200 datasheet"), (143771, _NVML), 50.0,
         (450, "NVIDIA H200 datasheet: NVLink 900 GB/s both ways"), (0.65, 0.72, _ALIKE)),
    _gpu("L4", (121, "NVIDIA L4 datasheet, half of the sparse 242; some tables print 125"),
         (300, "NVIDIA L4 datasheet"), (23034, _NVML), 25.0, None, (0.65, 0.72, _ALIKE)),
    _gpu("A10", (125, "NVIDIA A10 datasheet (the A10G of AWS has 70)"),
         (600, "NVIDIA A10 datasheet"), (23028, _NVML), 25.0, None, (0.65, 0.72, _ALIKE)),
    _gpu("RTX 4090", (165.2, "waredb.com: with 32-bit accumulation; 330.3 is with 16-bit"),
         (1008, "waredb.com"),
         (24080, "25,250,627,584 bytes, as its measured vLLM 0.19 run reports (LLMServingSim)"),
         25.0, None,
         (0.87, 0.87, "fitted to a measured vLLM 0.19 run of Llama-3.1-8B (LLMServingSim)")),
    _gpu("T4", (65, "NVIDIA T4 datasheet; fp16 only, it has no bf16"),
         (320, "NVIDIA T4 datasheet"), (15360, _NVML), 12.0, None, (0.65, 0.72, _ALIKE)),
    _gpu("A40", (149.7, "NVIDIA A40 datasheet"), (696, "NVIDIA A40 datasheet"),
         (46068, "as for the L40S, also 48 GB with ECC: " + _NVML), 25.0,
         (56.25, "NVIDIA A40 datasheet: NVLink 112.5 GB/s both ways, between two cards"),
         (0.65, 0.72, _VIDUR)),
    _gpu("RTX PRO 6000", (503.8, "hmc-tech.com: fp16 and bf16 tensor, dense"),
         (1792, "hmc-tech.com, gpu.name"),
         (96 * 1024, "96 GB of the datasheet taken as GiB; what the driver keeps is not known"),
         50.0, None,
         (0.72, 0.72, "fitted to a measured vLLM 0.19 run of Llama-3.1-8B (LLMServingSim)")),
)

GPUS: Mapping[str, Gpu] = MappingProxyType({gpu.name: gpu for gpu in _ALL})
"""All GPUs by name."""
