"""Token healing: the prompt's last token is taken back and said again, together with what follows it.

A prompt that ends inside a word, after an indentation or at a bracket ends in a token that the model has seldom seen
there: it knows `get` and `()`, not `ge` and `(` followed by `)`. So the last token goes, and the first tokens decoded
are held to its text. The idea is from the `guidance` project.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

import torch
from tokenizers import Tokenizer
from torch import Tensor


class Vocabulary:
    """The tokens of a byte-level BPE tokenizer by their bytes.

    Invariant: `_texts` is sorted and `_ids[i]` is the id of `_texts[i]`; special tokens are in neither.
    """

    def __init__(self, tokenizer: Tokenizer, special: frozenset[int]) -> None:
        by_character = {character: byte for byte, character in _byte_characters().items()}
        texts = []
        for token, number in tokenizer.get_vocab(with_added_tokens=True).items():
            if number not in special and all(character in by_character for character in token):
                texts.append((bytes(by_character[character] for character in token), number))
        texts.sort()
        self._texts = [text for text, _ in texts]
        self._ids = [number for _, number in texts]
        self._bytes: dict[int, bytes] = dict(zip(self._ids, self._texts, strict=True))
        self.allowed = lru_cache(maxsize=512)(self._allowed)

    def text(self, token: int) -> bytes:
        """Return a token's bytes, none for a special one."""
        return self._bytes.get(token, b"")

    def _allowed(self, rest: bytes) -> Tensor:
        """Return the ids of the tokens that agree with `rest`: they begin with it, or it begins with them."""
        start, end = bisect_left(self._texts, rest), bisect_left(self._texts, _after(rest))
        found = self._ids[start:end]
        for length in range(1, len(rest)):
            at = bisect_left(self._texts, rest[:length])
            if at < len(self._texts) and self._texts[at] == rest[:length]:
                found.append(self._ids[at])
        return torch.tensor(sorted(found))

    def choose(self, logits: Tensor, rest: bytes) -> int:
        """Return the likeliest token (logits: V) that agrees with what is still to be said again."""
        if not rest:
            return int(logits.argmax())
        allowed = self.allowed(rest)
        return int(allowed[logits[allowed].argmax()])

    def left(self, rest: bytes, token: int) -> bytes:
        """Return what is still to be said again after a token."""
        return rest[len(self.text(token)) :]


def _after(text: bytes) -> bytes:
    """Return the least bytes that are greater than all that begin with `text`."""
    stripped = text.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else b"\xff" * 64


def _byte_characters() -> dict[int, str]:
    """Return GPT-2's characters for bytes: printable ones stand for themselves, the others for those from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(0x100 + n) for n, byte in enumerate(others)}
