"""What goes into the inference room and what comes out of it. Knows nothing of torch."""

from __future__ import annotations

from typing import Literal

import msgspec


class Prompt(msgspec.Struct, frozen=True):
    """What the model reads, up to the cursor, and what follows the cursor. LF only.

    `order` says how a model with fill-in-the-middle tokens is told of the suffix; "" leaves the suffix out.
    """

    prefix: str
    suffix: str = ""
    order: Literal["", "psm", "spm"] = ""


class Progress(msgspec.Struct):
    """A completion so far: its text, counts of tokens, and milliseconds by phase."""

    text: str
    done: bool
    prompt_tokens: int
    reused_tokens: int
    new_tokens: int
    prefill_ms: float
    decode_ms: float
