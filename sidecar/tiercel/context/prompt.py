"""The prompt: from a cursor to the few hundred tokens that the model reads, and the account of how it came to be."""

from __future__ import annotations

import msgspec

from tiercel.index.workspace import Index

from .dependencies import find_dependencies
from .fit import fit
from .order import Slots, Strategy, lay_out
from .parts import LeftOut, Part, Scope, Tokens, Wanted
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
    if index.is_private(path):
        return Prompt("", "", strategy, fallback="this file is private: nothing of it is handed to the model")
    before = _lf(text[:offset])
    whole = before + _lf(text[offset:])
    line = before.count("\n")
    column = len(before) - (before.rfind("\n") + 1)
    scope = cut_scope(find_scope(index, path, whole, line, column), budget, tokens)
    lines = whole.split("\n")[: scope.first]
    names = ""
    wanted: list[Wanted] = []
    left_out: list[LeftOut] = []
    if dependencies and not scope.fallback:
        chain = index.scopes_at(path, line, column)
        names = _indented(name_prefix(index, path, chain, line), scope.before)
        wanted, left_out = find_dependencies(index, scope, chain, line, whole)
        scope = msgspec.structs.replace(scope, fields="")  # the class is among the dependencies
    room = budget - tokens.count(scope.imports + scope.header + scope.fields + scope.before) - tokens.count(names)
    parts, too_much = fit(wanted, max(0, room), tokens)
    slots = slots or Slots()
    slots.enter(scope)
    parts = slots.arrange(parts, wanted, max(0, room))
    above = slots.above(lines, max(0, room - sum(part.tokens for part in parts)), tokens) if fill else ""
    scope, parts = without_what_stands_above(scope, parts, len(lines) - above.count("\n"))
    prefix = lay_out(strategy, scope, parts, names, above, tokens, index.roots)
    account = [*parts, *own_parts(scope, names, above, tokens)]
    return Prompt(prefix, scope.after, strategy, tuple(account), (*left_out, *too_much), scope.fallback)


def without_what_stands_above(scope: Scope, parts: list[Part], first: int) -> tuple[Scope, list[Part]]:
    """Drop what the lines from `first` to the scope show: imports, the class's header, the file's own symbols."""
    if first == 0 < scope.first:
        scope = msgspec.structs.replace(scope, imports="")
    parts = [part for part in parts if part.path != scope.path or not first <= part.line < scope.first]
    if first <= scope.header_line < scope.first:
        scope = msgspec.structs.replace(scope, header="", fields="")
    return scope, parts


def _indented(names: str, before: str) -> str:
    indent = before[: len(before) - len(before.lstrip(" \t"))]
    return indent + names if names else ""


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


SHARE_OF_SCOPE = 0.7
"""How much of the budget a long scope may take: the rest is for what it uses, the receiver at the cursor above all."""


def cut_scope(scope: Scope, budget: int, tokens: Tokens) -> Scope:
    """Shorten a scope that is over its share: what is next to the cursor stays, whole lines go below its first line."""
    room = int(budget * SHARE_OF_SCOPE)
    if tokens.count(scope.before) <= room:
        return scope
    kept = tokens.tail(scope.before, room)
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
        ("class", scope.header + scope.fields, "the class of the method"),
        ("types", names, "what the names are instances of"),
        ("lines" if scope.fallback else "scope", scope.before, scope.fallback or "the code at the cursor"),
    ):
        if text:
            out.append(
                Part(kind, scope.name, scope.path, scope.first, text, why, tokens=tokens.count(text))  # type: ignore[arg-type]
            )
    return out
