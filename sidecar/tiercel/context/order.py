"""The order of the parts: strategies with names, and slots that keep what does not change where it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from .parts import Key, Part, Scope, Tokens

Strategy = Literal["source", "cursor_first", "cursor_last", "psm", "spm"]
STRATEGIES: tuple[Strategy, ...] = ("source", "cursor_first", "cursor_last", "psm", "spm")
WINDOW_BEFORE = 20
WINDOW_AFTER = 30


class Slots:
    """The places of the parts from one prompt to the next, so that the KV cache keeps their common prefix.

    Invariant: parts that were in the last prompt of the same scope come in the order that they had there, and new
    ones after them; the lines above the scope begin where they began, while they fit.
    """

    def __init__(self) -> None:
        self._scope = ("", "")
        self._keys: list[Key] = []
        self._above = 0

    def enter(self, scope: Scope) -> None:
        """Begin anew if the scope is another than in the last prompt."""
        here = (scope.path, scope.name)
        if here != self._scope:
            self._scope = here
            self._keys = []
            self._above = 0

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

    def arrange(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts in the order of their slots."""
        by_key = {part.key: part for part in parts}
        # A slot whose part is gone for now is kept: names come back while a line is typed.
        self._keys += [key for key in by_key if key not in self._keys]
        return [by_key[key] for key in self._keys if key in by_key]


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
