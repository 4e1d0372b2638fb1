"""Greedy decoding of one completion on a KV session that follows the editor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from .fim import encode_fim
from .kv_cache import Session
from .load import Model
from .prompt import Progress, Prompt
from .stop import cut
from .tokenize import TextTokens

CHUNK = 64  # tokens of a prefill between two looks at `cancelled`


class Generator:
    """Completes prompts with one model. To be used on one thread.

    Invariant: the session's KV stands for the session's ids, whatever was cancelled in between.
    """

    def __init__(self, model: Model, capacity: int = 2048) -> None:
        self._model = model
        self.tokens = TextTokens(model.tokenizer)
        self._session = Session(model.forward.new_cache(min(model.window, capacity)))

    @property
    def fills(self) -> bool:
        """Whether the model can be told what follows the cursor."""
        return self._model.fim is not None

    def stream(self, prompt: Prompt, *, max_new_tokens: int, cancelled: Callable[[], bool]) -> Iterator[Progress]:
        """Yield the completion after each token; the last is `done`. Returns early when `cancelled()` says so."""
        session, model, vocabulary = self._session, self._model.forward, self._model.vocabulary
        started = time.perf_counter()
        ids, rest = self._encode(prompt, session.cache.capacity - max_new_tokens)
        said_again = rest
        reused = session.resync(ids)
        logits = None
        for start in range(reused, len(ids), CHUNK):
            if cancelled():
                return
            part = ids[start : start + CHUNK]
            logits = model.forward(part, session.cache)
            session.appended(part)
        assert logits is not None
        prefilled = time.perf_counter()
        new: list[int] = []
        while True:
            token = vocabulary.choose(logits[-1], rest) if vocabulary is not None else int(logits[-1].argmax())
            if vocabulary is not None:
                rest = vocabulary.left(rest, token)
            ended = token in self._model.end_ids
            if not ended:
                new.append(token)
            text, stopped = cut(self._text(new, said_again), prompt.prefix)
            done = ended or stopped or len(new) >= max_new_tokens
            now = time.perf_counter()
            yield Progress(
                text,
                done,
                len(ids),
                reused,
                len(new),
                (prefilled - started) * 1000,
                (now - prefilled) * 1000,
            )
            if done or cancelled():
                return
            logits = model.forward([token], session.cache)
            session.appended([token])

    def _encode(self, prompt: Prompt, room: int) -> tuple[list[int], bytes]:
        """Return the prompt's ids, at most `room`, and the bytes that were taken back to be said again."""
        tokenizer, vocabulary, fim = self._model.tokenizer, self._model.vocabulary, self._model.fim
        if prompt.order and fim is not None:
            return encode_fim(tokenizer, fim, prompt.order, prompt.prefix, prompt.suffix, room), b""
        ids = tokenizer.encode(prompt.prefix, add_special_tokens=False).ids[-room:] or [min(self._model.end_ids)]
        if vocabulary is None or len(ids) == 1:
            return ids, b""
        return ids[:-1], vocabulary.text(ids[-1])

    def _text(self, new: list[int], said_again: bytes) -> str:
        """Return the text of new tokens, without what they say again of the prompt and without half a character."""
        vocabulary = self._model.vocabulary
        if vocabulary is None:
            text: str = self._model.tokenizer.decode(new)
            return text.rstrip("\ufffd")
        raw = b"".join(vocabulary.text(token) for token in new)
        return raw[len(said_again) :].decode("utf-8", "ignore")
