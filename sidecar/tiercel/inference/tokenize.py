"""Text to token ids and back, on the tokenizers backend itself."""

from __future__ import annotations

from functools import lru_cache

from tokenizers import Tokenizer


class TextTokens:
    """A tokenizer as the context room wants it: counts, and cuts at token boundaries."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # Interfaces are counted at every keystroke and seldom change.
        self.count = lru_cache(maxsize=4096)(self._count)

    def _count(self, text: str) -> int:
        """Return how many tokens a text has."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def head(self, text: str, tokens: int) -> str:
        """Return the start of a text that has about so many tokens, whole characters."""
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return text if len(offsets) <= tokens else text[: offsets[tokens][0]]

    def tail(self, text: str, tokens: int) -> str:
        """Return the end of a text that has about so many tokens, whole characters."""
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        if tokens <= 0:
            return ""
        return text if len(offsets) <= tokens else text[offsets[len(offsets) - tokens][0] :]
