"""The order of the parts: strategies with names, and slots that keep what does not change where it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from .parts import Key, Part, Scope, Tokens, Wanted

Strategy = Literal["source", "cursor_first", "cursor_last", "psm", "spm"]
STRATEGIES: tuple[Strategy, ...] = ("source", "cursor_first", "cursor_last", "psm", "spm")
WINDOW_BEFORE = 20
WINDOW_AFTER = 30


class Slots:
    """The places of the parts from one prompt to the next, so that the KV cache keeps their common prefix.

    Invariant: a part of the last prompt of the same scope keeps its place and its text while that text is still one of
    its forms; one whose text had to change, and a new one, come after those. A part whose name is gone for now (names
    come and go while a line is typed) stays while there is room. The lines above begin where they did, while they fit.
    """

    def __init__(self) -> None:
        self._scope = ("", "")
        self._parts: dict[Key, Part] = {}
        self._above = 0

    def enter(self, scope: Scope) -> None:
        """Begin anew if the scope is another than in the last prompt."""
        here = (scope.path, scope.name)
        if here != self._scope:
            self._scope = here
            self._parts = {}
            self._above = 0

    def arrange(self, parts: Sequence[Part], wanted: Sequence[Wanted], room: int) -> list[Part]:
        """Return the parts in the order of their slots, at most `room` tokens of them."""
        texts = {one.forms[0].key: {form.text for form in one.forms} for one in wanted}
        fresh = {part.key: part for part in parts}
        kept: dict[Key, Part] = {}
        for key, old in self._parts.items():
            if key not in fresh or old.text in texts[key]:
                kept[key] = old
        spare = room - sum(part.tokens for part in {**fresh, **kept}.values())
        for key in [key for key in reversed(kept) if key not in fresh]:
            if spare >= 0:
                break
            spare += kept.pop(key).tokens
        if spare < 0:  # fuller forms than there is room for now: what was chosen afresh fits
            kept = {key: fresh[key] for key in kept}
        self._parts = {**kept, **{key: part for key, part in fresh.items() if key not in kept}}
        return list(self._parts.values())

    def above(self, lines: Sequence[str], room: int, tokens: Tokens) -> str:
        """Return the lines next above the scope (the last of `lines`) that fit `room` tokens.

        When the place where they begin has to move, it moves on by more than it must, so as not to move again soon.
        """
        kept = lines[len(lines) - self._above :] if self._above else []
        text = "".join(f"{line}\n" for line in kept)
        if kept and tokens.count(text) <= room:
            return text
        cut = tokens.tail("".join(f"{line}\n" for line in lines), int(room * (0.75 if kept else 0.9)))
        whole = cut[cut.find("\n") + 1 :] if cut.count("\n") < len(lines) else cut
        self._above = whole.count("\n")
        return whole


def lay_out(
    strategy: Strategy,
    scope: Scope,
    parts: Sequence[Part],
    names: str,
    above: str,
    tokens: Tokens,
    roots: Sequence[Path] = (),
) -> str:
    """Return the prompt, ending at the cursor (with `cursor_first`, at the end of what follows the moved window).

    `names` says what the names are instances of, `above` are the lines above the scope.
    """
    if strategy == "source":
        parts = sorted(parts, key=lambda part: (part.path == scope.path, part.path, part.line))
    dependencies = grouped(parts, scope.path, roots)
    head = scope.imports + above + scope.header + scope.fields
    if strategy == "source":
        return dependencies + head + names + scope.before
    if strategy == "cursor_first":
        before = tokens.tail(scope.before, WINDOW_BEFORE)
        after = tokens.head(scope.after, WINDOW_AFTER)
        rest = scope.before[: len(scope.before) - len(before)]
        return names + before + after + "\n" + dependencies + head + rest
    return dependencies + head + names + scope.before


def grouped(parts: Sequence[Part], path: str, roots: Sequence[Path]) -> str:
    """Return the parts' texts, a comment with the file's name before each run of another file's parts."""
    out: list[str] = []
    last = path
    for part in parts:
        if part.path != last:
            out.append(f"# {_short(part.path, roots)}\n")
            last = part.path
        out.append(part.text)
    if out:
        out.append("\n")
    return "".join(out)


def _short(path: str, roots: Sequence[Path]) -> str:
    """Return a file's name in the workspace, or its last two names: the same on every machine."""
    for root in roots:
        if Path(path).is_relative_to(root):
            return Path(path).relative_to(root).as_posix()
    return "/".join(path.replace("\\", "/").split("/")[-2:])
