"""The small interface that every model has: a cache of its own kind, and a forward pass that appends to it."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor


class Cache(Protocol):
    """Keys and values of a sequence. `length` is how many tokens it holds; a smaller one may be assigned: it crops."""

    length: int
    capacity: int


class Forward(Protocol):
    """A causal language model on one sequence."""

    def new_cache(self, capacity: int) -> Any:
        """Return an empty cache for `capacity` tokens."""
        ...

    def forward(self, ids: list[int], cache: Any, last: int = 1) -> Tensor:
        """Append `ids` (T) to the cache and return the logits (last × V) that follow the last of them."""
        ...


class TransformersCache:
    """A DynamicCache of transformers behind `Cache`.

    Invariant: `length` is what every layer of the DynamicCache holds.
    """

    def __init__(self, capacity: int) -> None:
        from transformers import DynamicCache

        self.inner = DynamicCache()
        self.capacity = capacity

    @property
    def length(self) -> int:
        """How many tokens it holds."""
        return int(self.inner.get_seq_length())

    @length.setter
    def length(self, wanted: int) -> None:
        too_many = self.length - wanted
        if too_many < 0:
            raise ValueError(f"a cache of {self.length} tokens cannot be cropped to {wanted}")
        if too_many:
            self.inner.crop(-too_many)


class TransformersModel:
    """Any causal language model of transformers, through its own module, with our loop and our sessions."""

    def __init__(self, module: Any) -> None:
        self._module = module.eval()

    def new_cache(self, capacity: int) -> TransformersCache:
        """Return an empty cache for `capacity` tokens."""
        return TransformersCache(capacity)

    @torch.inference_mode()
    def forward(self, ids: list[int], cache: TransformersCache, last: int = 1) -> Tensor:
        """Append `ids` (T) to the cache and return the logits (last × V) that follow the last of them."""
        inputs = torch.tensor([ids], device=self._module.device)
        out = self._module(input_ids=inputs, cache=cache.inner, use_cache=True, logits_to_keep=last)
        logits: Tensor = out.logits[0, -last:]
        return logits.float()
