"""The prompt: from a cursor to the few hundred tokens that the model reads, and the account of how it came to be."""

from __future__ import annotations

import msgspec

from tiercel.index.workspace import Index

from .dependencies import find_dependencies
from .fit import fit
from .order import Slots, Strategy, lay_out
from .parts import LeftOut, Part, Scope, Tokens
from .scope import find_scope
from .types import name_prefix

DEFAULT_STRATEGY: Strategy = "cursor_last"


class Prompt(msgspec.Struct, frozen=True):
    """What the model reads (`prefix`) and what follows the cursor (`suffix`), LF only, and where it comes from.

    `tokens` is what the parts come to, `file_tokens` what the whole files have that they were drawn from.
    """

    prefix: str
    suffix: str
    strategy: Strategy = DEFAULT_STRATEGY
    parts: tuple[Part, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    fallback: str = ""


def build(
    index: Index,
    path: str,
    text: str,
    offset: int,
    budget: int,
    tokens: Tokens,
    *,
    strategy: Strategy = DEFAULT_STRATEGY,
    slots: Slots | None = None,
    dependencies: bool = True,
    fill: bool = True,
) -> Prompt:
    """Return the prompt for the cursor at `offset` (code points) of a document that the index has open as `text`.

    `budget` is in tokens. `slots` are those of the session, so that parts keep their places; `dependencies=False` stops
    after stage 1; `fill`: what is left of the budget goes to the lines above the scope. A private file (ignored by git
    or a setting, or one of keys) gives an empty prompt.
    """
    if index.ignore.is_private(path):
        return Prompt("", "", strategy, fallback="this file is private: nothing of it is handed to the model")
    before = _lf(text[:offset])
    whole = before + _lf(text[offset:])
    line = before.count("\n")
    column = len(before) - (before.rfind("\n") + 1)
    scope = cut_scope(find_scope(index, path, whole, line, column), budget, tokens)
    used = tokens.count(scope.imports + scope.header + scope.before)
    parts: list[Part] = []
    left_out: list[LeftOut] = []
    names = ""
    if dependencies and not scope.fallback:
        chain = index.scopes_at(path, line, column)
        names = name_prefix(index, path, chain, line)
        wanted, left_out = find_dependencies(index, scope, chain, line, whole)
        parts, too_much = fit(wanted, max(0, budget - used - tokens.count(names)), tokens)
        left_out += too_much
    slots = slots or Slots()
    slots.enter(scope)
    parts = slots.arrange(parts)
    above = ""
    if fill:
        room = budget - used - tokens.count(names) - sum(part.tokens for part in parts)
        above = slots.above(whole.split("\n")[: scope.first], max(0, room), tokens)
    prefix = lay_out(strategy, scope, parts, names, above, tokens)
    account = [*parts, *own_parts(scope, names, above, tokens)]
    return Prompt(prefix, scope.after, strategy, tuple(account), tuple(left_out), scope.fallback)


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def cut_scope(scope: Scope, budget: int, tokens: Tokens) -> Scope:
    """Shorten a scope that alone is over the budget: what is next to the cursor stays, whole lines go at the top."""
    room = budget - tokens.count(scope.imports + scope.header)
    if tokens.count(scope.before) <= room:
        return scope
    kept = tokens.tail(scope.before, max(room, budget // 2))
    at = kept.find("\n") + 1
    if at and at < len(kept):
        kept = kept[at:]
    gone = scope.before[: len(scope.before) - len(kept)].count("\n")
    head = scope.before.split("\n", 1)[0]
    signature = head + "\n" if gone > 1 and head.lstrip().startswith(("def ", "async def ", "class ")) else ""
    return msgspec.structs.replace(scope, before=signature + kept, first=scope.first + (0 if signature else gone))


def own_parts(scope: Scope, names: str, above: str, tokens: Tokens) -> list[Part]:
    """Return the account of stage 1: the imports, the class's header, the known types, the code at the cursor."""
    out = []
    for kind, text, why in (
        ("imports", scope.imports, "imports of the names that are used"),
        ("lines", above, "the lines above, as the budget allows"),
        ("class", scope.header, "the class of the method"),
        ("types", names, "what the names are instances of"),
        ("lines" if scope.fallback else "scope", scope.before, scope.fallback or "the code at the cursor"),
    ):
        if text:
            out.append(
                Part(kind, scope.name, scope.path, scope.first, text, why, tokens=tokens.count(text))  # type: ignore[arg-type]
            )
    return out
