"""The Llama family's forward pass, by hand: fused projections, grouped-query attention, KV written in place.

One sequence, no batch. Shapes: T new tokens, E hidden, H query heads, G key/value heads, D head size, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .kv_cache import KVCache

FAMILY = ("llama", "mistral", "qwen2")


def fits(config: dict[str, Any]) -> bool:
    """Say whether a model is one that this file computes; all others go through transformers' own modules."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return (
        config.get("model_type") in FAMILY
        and config.get("hidden_act") == "silu"
        and rope.get("rope_type", rope.get("type", "default")) == "default"
        and not config.get("attention_bias")
        and not config.get("mlp_bias")
        and (config.get("sliding_window") is None or config.get("use_sliding_window") is False)
    )


@dataclass(frozen=True)
class Layer:
    """One block's weights: `qkv` (H+2G)·D × E, `gate_up` 2I × E."""

    input_norm: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    out: Tensor
    mlp_norm: Tensor
    gate_up: Tensor
    down: Tensor


class Llama:
    """A model of the Llama family in float32."""

    def __init__(self, config: dict[str, Any], weights: dict[str, Tensor]) -> None:
        self.heads = int(config["num_attention_heads"])
        self.kv_heads = int(config.get("num_key_value_heads") or self.heads)
        self.head_dim = int(config.get("head_dim") or config["hidden_size"] // self.heads)
        self.eps = float(config["rms_norm_eps"])
        self.layers = [self._layer(weights, f"model.layers.{n}.") for n in range(config["num_hidden_layers"])]
        self.embedding = weights["model.embed_tokens.weight"].float()
        self.norm = weights["model.norm.weight"].float()
        head = weights.get("lm_head.weight")
        self.head = self.embedding if head is None else head.float()
        theta = config.get("rope_theta") or config["rope_parameters"].get("rope_theta", 10_000.0)
        self.inverse_frequencies = 1.0 / theta ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim)

    @staticmethod
    def _layer(weights: dict[str, Tensor], name: str) -> Layer:
        def joined(*parts: str, kind: str = "weight") -> Tensor:
            return torch.cat([weights[f"{name}{part}_proj.{kind}"].float() for part in parts])

        attention = ("self_attn.q", "self_attn.k", "self_attn.v")
        biased = f"{name}self_attn.q_proj.bias" in weights
        return Layer(
            weights[f"{name}input_layernorm.weight"].float(),
            joined(*attention),
            joined(*attention, kind="bias") if biased else None,
            joined("self_attn.o"),
            weights[f"{name}post_attention_layernorm.weight"].float(),
            joined("mlp.gate", "mlp.up"),
            joined("mlp.down"),
        )

    def new_cache(self, capacity: int) -> KVCache:
        """Return an empty cache for `capacity` tokens."""
        return KVCache(len(self.layers), self.kv_heads, self.head_dim, capacity)

    @torch.inference_mode()
    def forward(self, ids: list[int], cache: KVCache, last: int = 1) -> Tensor:
        """Append `ids` (T) to the cache and return the logits (last × V) that follow the last of them."""
        start, count = cache.length, len(ids)
        x = self.embedding[torch.tensor(ids)]
        angles = torch.outer(torch.arange(start, start + count).float(), self.inverse_frequencies)
        cos, sin = torch.cat([angles, angles], 1).cos(), torch.cat([angles, angles], 1).sin()
        mask = None
        if count > 1:
            mask = torch.arange(start + count)[None] <= torch.arange(start, start + count)[:, None]
        for number, layer in enumerate(self.layers):
            x = x + self._attention(self._rms(x, layer.input_norm), layer, cache, number, cos, sin, mask)
            gate, up = F.linear(self._rms(x, layer.mlp_norm), layer.gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, layer.down)
        cache.length = start + count
        return F.linear(self._rms(x[-last:], self.norm), self.head)

    def _rms(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self.eps)

    def _attention(
        self, x: Tensor, layer: Layer, cache: KVCache, number: int, cos: Tensor, sin: Tensor, mask: Tensor | None
    ) -> Tensor:
        count, heads, groups = x.shape[0], self.heads, self.kv_heads
        qkv = F.linear(x, layer.qkv, layer.qkv_bias).view(count, heads + 2 * groups, self.head_dim).transpose(0, 1)
        qk, v = qkv[: heads + groups], qkv[heads + groups :]
        first, second = qk.chunk(2, -1)
        qk = qk * cos + torch.cat([-second, first], -1) * sin
        keys, values = cache.write(number, qk[heads:], v)
        y = F.scaled_dot_product_attention(qk[None, :heads], keys[None], values[None], attn_mask=mask, enable_gqa=True)
        return F.linear(y[0].transpose(0, 1).reshape(count, heads * self.head_dim), layer.out)
