"""Fill in the middle: models that were taught to read what follows the cursor, by special tokens of their own."""

from __future__ import annotations

from typing import Literal

import msgspec
from tokenizers import Tokenizer

Order = Literal["psm", "spm"]

# Prefix, suffix, middle, as the tokenizers of these families name them.
TOKENS = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),  # Qwen2.5-Coder
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),  # StarCoder, StarCoder2
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),  # SantaCoder
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),  # CodeLlama
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),  # DeepSeek-Coder
)


class Fim(msgspec.Struct, frozen=True):
    """The ids of a tokenizer's fill-in-the-middle tokens."""

    prefix: int
    suffix: int
    middle: int


def find_fim(tokenizer: Tokenizer) -> Fim | None:
    """Return the tokenizer's fill-in-the-middle tokens; None if it has none."""
    for names in TOKENS:
        ids = [tokenizer.token_to_id(name) for name in names]
        if None not in ids:
            return Fim(*ids)
    return None


def encode_fim(tokenizer: Tokenizer, fim: Fim, order: Order, prefix: str, suffix: str, room: int) -> list[int]:
    """Return the ids of a prompt with a hole, at most `room`: of the suffix at most a quarter, of the prefix its end.

    `psm` puts the prefix first, `spm` the suffix, as Bavarian et al. (2022) name the two.
    """
    before = tokenizer.encode(prefix, add_special_tokens=False).ids
    after = tokenizer.encode(suffix, add_special_tokens=False).ids[: room // 4]
    before = before[-max(1, room - len(after) - 3) :]
    if order == "psm":
        return [fim.prefix, *before, fim.suffix, *after, fim.middle]
    return [fim.prefix, fim.suffix, *after, fim.middle, *before]
