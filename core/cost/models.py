"""Shapes of language models as data, and what follows from them: weights, KV bytes, operations.

All weights and all KV entries take two bytes (fp16 or bf16). Norms and biases are left out: they
are less than 0.1 % of the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

BYTES_PER_VALUE = 2
"""fp16 and bf16."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What the cost of a decoder-only transformer depends on."""

    name: str
    num_layers: int
    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    ffn_size: int
    """Inner size of the feed-forward part; of one expert, where there are several."""
    vocab_size: int
    source: str
    """Where the shape comes from."""
    gated_ffn: bool = True
    """Whether the feed-forward part has three matrices (gate, up, down) or two."""
    tied_embeddings: bool = False
    """Whether lm_head and the embedding are the same matrix."""
    num_experts: int = 1
    experts_per_token: int = 1

    @property
    def attention_params(self) -> int:
        """Weights of the q, k, v and o projections of all layers."""
        heads = 2 * self.num_heads + 2 * self.num_kv_heads
        return self.num_layers * self.hidden_size * self.head_dim * heads

    @property
    def expert_params(self) -> int:
        """Weights of one feed-forward expert in all layers."""
        matrices = 3 if self.gated_ffn else 2
        return self.num_layers * matrices * self.hidden_size * self.ffn_size

    @property
    def lm_head_params(self) -> int:
        """Weights of the projection to the vocabulary."""
        return self.vocab_size * self.hidden_size

    @property
    def num_params(self) -> int:
        """All weights."""
        embeddings = self.lm_head_params * (1 if self.tied_embeddings else 2)
        return self.attention_params + self.num_experts * self.expert_params + embeddings

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights."""
        return BYTES_PER_VALUE * self.num_params

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of K and V of one token in all layers."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim * BYTES_PER_VALUE

    @property
    def linear_flops_per_token(self) -> int:
        """Operations of the layers' matrices for one token; a weight is a multiply and an add."""
        active = self.attention_params + self.experts_per_token * self.expert_params
        return 2 * active

    def linear_bytes(self, num_tokens: int) -> float:
        """Bytes of the layers' matrices that a step with so many tokens reads.

        With experts it is what so many tokens touch, each choosing at random: few tokens leave
        most experts alone, some sixteen touch nearly all.
        """
        missed = (1 - self.experts_per_token / self.num_experts) ** num_tokens
        experts = self.num_experts * (1 - missed) if self.num_experts > 1 else 1
        return BYTES_PER_VALUE * (self.attention_params + experts * self.expert_params)

    @property
    def attention_flops_per_pair(self) -> int:
        """Operations of one query token on one key token, scores and values, in all layers."""
        return 4 * self.num_layers * self.num_heads * self.head_dim


_CONFIG = "the model's config.json"
_VIDUR = "Vidur's model configurations"

_ALL = (
    ModelShape("TinyLlama-1.1B", 22, 2048, 32, 4, 64, 5632, 32000, _CONFIG),
    ModelShape("Llama-2-7B", 32, 4096, 32, 32, 128, 11008, 32000, _VIDUR),
    ModelShape("Llama-2-13B", 40, 5120, 40, 40, 128, 13824, 32000, _CONFIG),
    ModelShape("Llama-2-70B", 80, 8192, 64, 8, 128, 28672, 32000, _VIDUR),
    ModelShape("Llama-3-8B", 32, 4096, 32, 8, 128, 14336, 128256, _VIDUR + "; LLMServingSim"),
    ModelShape("Llama-3-70B", 80, 8192, 64, 8, 128, 28672, 128256, _VIDUR),
    ModelShape("Mistral-7B", 32, 4096, 32, 8, 128, 14336, 32000, _CONFIG),
    ModelShape("Mixtral-8x7B", 32, 4096, 32, 8, 128, 14336, 32000, "LLMServingSim",
               num_experts=8, experts_per_token=2),
    ModelShape("Qwen2.5-7B", 28, 3584, 28, 4, 128, 18944, 152064, _CONFIG),
    ModelShape("Qwen2.5-32B", 64, 5120, 40, 8, 128, 27648, 152064, "the model's card"),
    ModelShape("OPT-13B", 40, 5120, 40, 40, 128, 20480, 50272, _CONFIG,
               gated_ffn=False, tied_embeddings=True),
)

MODELS: Mapping[str, ModelShape] = MappingProxyType({model.name: model for model in _ALL})
"""All model shapes by name."""
