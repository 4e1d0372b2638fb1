"""Greedy decoding of one completion on a KV session that follows the editor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from .kv_cache import Session
from .load import Model
from .prompt import Progress, Prompt
from .stop import cut

CHUNK = 128  # tokens of a prefill between two looks at `cancelled`


class Generator:
    """Completes prompts with one model. To be used on one thread.

    Invariant: the session's KV stands for the session's ids, whatever was cancelled in between.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._session = Session(model.llama.new_cache(min(model.window, 2048)))

    def stream(self, prompt: Prompt, *, max_new_tokens: int, cancelled: Callable[[], bool]) -> Iterator[Progress]:
        """Yield the completion after each token; the last is `done`. Returns early when `cancelled()` says so."""
        session, llama, tokenizer = self._session, self._model.llama, self._model.tokenizer
        started = time.perf_counter()
        room = session.cache.capacity - max_new_tokens
        ids = tokenizer.encode(prompt.prefix, add_special_tokens=False).ids[-room:] or [min(self._model.end_ids)]
        reused = session.resync(ids)
        logits = None
        for start in range(reused, len(ids), CHUNK):
            if cancelled():
                return
            part = ids[start : start + CHUNK]
            logits = llama.forward(part, session.cache)
            session.appended(part)
        assert logits is not None
        prefilled = time.perf_counter()
        new: list[int] = []
        while True:
            token = int(logits.argmax())
            ended = token in self._model.end_ids
            if not ended:
                new.append(token)
            text, stopped = cut(tokenizer.decode(new).removesuffix("\ufffd"), prompt.prefix)
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
            logits = llama.forward([token], session.cache)
            session.appended([token])
