"""The prompt: what of the document is handed to the model."""

from __future__ import annotations

import msgspec

CHARACTERS_PER_TOKEN = 3.2  # of Python source, measured on the standard library with the default model's tokenizer


class PromptText(msgspec.Struct, frozen=True):
    """What the model reads (`prefix`, ending at the cursor) and what follows the cursor (`suffix`). LF only."""

    prefix: str
    suffix: str


def build(before: str, after: str, budget: int) -> PromptText:
    """Return the whole lines before the cursor that fit `budget` tokens, and as much of what follows it.

    Line endings become LF, so that a file gives the same tokens however its lines end.
    """
    before = before.replace("\r\n", "\n").replace("\r", "\n")
    after = after.replace("\r\n", "\n").replace("\r", "\n")
    room = int(budget * CHARACTERS_PER_TOKEN)
    if len(before) > room:
        start = before.find("\n", len(before) - room) + 1
        before = before[start or len(before) - room :]
    return PromptText(before, after[:room])
