"""What the model sees, told to the person: each part, where it is from, why it is there, and what was left out."""

from __future__ import annotations

import msgspec

from tiercel.index.workspace import Index

from .parts import LeftOut, Part, Tokens
from .prompt import Prompt


class Account(msgspec.Struct, frozen=True):
    """The prompt with its parts; `tokens` of it, `file_tokens` of the whole workspace files that it was drawn from."""

    prefix: str
    strategy: str
    tokens: int
    file_tokens: int
    parts: tuple[Part, ...]
    left_out: tuple[LeftOut, ...]
    fallback: str = ""

    def __str__(self) -> str:
        lines = [f"{self.tokens} tokens, the whole files have {self.file_tokens}; order: {self.strategy}"]
        if self.fallback:
            lines.append(f"fallback: {self.fallback}")
        for part in self.parts:
            lines.append(f"{part.tokens:>6}  {part.kind} {part.name}  ({part.path}:{part.line + 1}): {part.why}")
        lines += [f"     -  {one.name}  ({one.path}:{one.line + 1}): {one.why}" for one in self.left_out]
        return "\n".join([*lines, "", self.prefix])


def explain(index: Index, prompt: Prompt, tokens: Tokens) -> Account:
    """Return the account of a prompt."""
    files = dict.fromkeys(part.path for part in prompt.parts)
    whole = sum(tokens.count(text) for path in files if (text := index.text(path)) is not None)
    return Account(
        prompt.prefix,
        prompt.strategy,
        tokens.count(prompt.prefix),
        whole,
        prompt.parts,
        prompt.left_out,
        prompt.fallback,
    )
