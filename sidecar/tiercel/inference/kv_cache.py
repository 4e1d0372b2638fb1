"""The KV cache: keys and values of every layer, written in place, and the session that says what they stand for."""

from __future__ import annotations

import logging

import torch
from torch import Tensor

from .forward import Cache

log = logging.getLogger("tiercel.inference")


class KVCache:
    """Keys and values of all layers: L × G × capacity × D each.

    Invariant: positions below `length` hold the keys and values of that many tokens, in every layer.
    """

    def __init__(self, layers: int, heads: int, head_dim: int, capacity: int) -> None:
        self.keys = torch.zeros(layers, heads, capacity, head_dim)
        self.values = torch.zeros(layers, heads, capacity, head_dim)
        self.capacity = capacity
        self.length = 0

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store the keys and values (G × T × D) of new tokens and return those of all tokens so far."""
        end = self.length + keys.shape[1]
        self.keys[layer, :, self.length : end] = keys
        self.values[layer, :, self.length : end] = values
        return self.keys[layer, :, :end], self.values[layer, :, :end]


class Session:
    """A KV cache and the ids that it stands for.

    Invariant: `cache.length == len(ids)`, and the cache equals a fresh prefill of `ids`.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.ids: list[int] = []

    def resync(self, ids: list[int]) -> int:
        """Drop what `ids` does not share and return how many of `ids` need no prefill.

        At least the last id is always left to compute, since its logits are wanted.
        """
        if self.cache.length != len(self.ids):
            # Never seen, and never to be used: a completion from another text's keys would look right and be wrong.
            log.error("the KV cache holds %d tokens for %d ids; it is rebuilt", self.cache.length, len(self.ids))
            self.ids = []
        shared = 0
        for old, new in zip(self.ids, ids[:-1], strict=False):
            if old != new:
                break
            shared += 1
        self.ids = self.ids[:shared]
        self.cache.length = shared
        return shared

    def appended(self, ids: list[int]) -> None:
        """Note ids whose KV a forward pass has just written. Raises RuntimeError if the lengths disagree."""
        self.ids += ids
        if self.cache.length != len(self.ids):
            raise RuntimeError(f"the KV cache holds {self.cache.length} tokens for {len(self.ids)} ids")
