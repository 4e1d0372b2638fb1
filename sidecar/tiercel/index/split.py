"""A file as chunks: its top-level statements, found without a parser, so also in a text that does not parse.

A chunk starts at a line whose first character is code and that does not continue what came before: it is not inside
brackets or a string, not after a backslash, not after a decorator, and no `else`, `elif`, `except` or `finally`. It
holds all lines up to the next chunk. An open bracket ends where a line starts with what no bracket can hold (`def`,
`class`, `import`, …), so that one missing bracket does not swallow the file.

Where a chunk starts depends on nothing before the chunk before it: this is what makes re-parsing after an edit local.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_NEVER_IN_BRACKETS = re.compile(
    r"(?:@[^\n\r]*(?:\r\n|\n|\r))*(?:async[ \t]+def|def|class)[ \t]+\w"
    r"|from[ \t]+[\w.]+[ \t]+import\b|import[ \t]+\w"
    r"|(?:return|with|while|try|raise|global|assert|del|pass|break|continue)\b(?![ \t]*=[^=])"
)
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")
_CODE = re.compile(r"[ \t\f]*@")


_SKIPPED = r"""\#[^\n\r]*+
    |'''(?:[^\\']++|\\.|'(?!''))*+(?:'''|\Z) | \"\"\"(?:[^\\"]++|\\.|"(?!""))*+(?:\"\"\"|\Z)
    |'(?:[^'\\\n\r]++|\\\r\n|\\.)*+'? | "(?:[^"\\\n\r]++|\\\r\n|\\.)*+"?
    |\\(?:\r\n|\n|\r|.|\Z)
    |[^\#'"\\()\[\]{}\n\r]++ | \([^\#'"\\()\[\]{}\n\r]*+\)"""
"""What a split passes over: comments, strings, escaped line ends, plain text, and brackets that hold plain text."""


@lru_cache(maxsize=64)
def _tokens(indent: str) -> re.Pattern[str]:
    """Return the pattern of what matters to the split into statements that are indented by `indent`.

    A match passes over all that does not matter, and ends with a bracket or a line end that does.
    """
    begin = re.escape(indent) if indent else r"(?:[ \t\f]*\f)?"
    top = rf"(?:\r\n|\n|\r){begin}[^\s\#]"
    return re.compile(
        rf"""(?:{_SKIPPED} | (?!{top})(?:\r\n|\n|\r))*+
        (?:(?P<open>[(\[{{]) | (?P<close>[)\]}}]) | (?P<top>\r\n|\n|\r)(?P<code>{begin}) | (?P<end>\Z))""",
        re.VERBOSE | re.DOTALL,
    )


_TOKENS = _tokens("")
_ANY_LINE = re.compile(
    rf"(?:{_SKIPPED})*+(?:(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<line>\r\n|\n|\r)|(?P<end>\Z))",
    re.VERBOSE | re.DOTALL,
)
_CLASS = re.compile(r"(?:@[^\n\r]*(?:\r\n|\n|\r))*class\b")
_BODY = re.compile(r"(?:[ \t\f]*(?:\#[^\n\r]*)?(?:\r\n|\n|\r))*(?P<indent>[ \t]+)(?=[^\s\#])")


def starts(
    text: str, begin: int = 0, tokens: re.Pattern[str] = _TOKENS, broken: list[int] | None = None
) -> Iterator[int]:
    """Yield the offsets in code points at which chunks start, from `begin` on: `begin` itself first.

    `begin` is 0 or the start of a chunk. `tokens` may look for lines with another indentation than none. `broken`
    takes the offsets at which a bracket is seen to be missing, or to be too many.
    """
    yield begin
    depth = 0
    decorated = _CODE.match(text, begin) is not None
    for found in tokens.finditer(text, begin):
        kind = found.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            if depth == 0 and broken is not None:
                broken.append(found.start("close"))
            depth = max(0, depth - 1)
        elif kind == "code":
            code = found.end()
            if depth:
                if not _NEVER_IN_BRACKETS.match(text, code):
                    continue
                depth = 0
                decorated = False
                if broken is not None:
                    broken.append(code)
            elif _CONTINUES.match(text, code):
                continue
            if not decorated:
                yield found.start("code")
            decorated = text[code] == "@"


def resplit(text: str, old: list[int], start: int, end: int, new_length: int) -> tuple[int, list[int], int]:
    """Split again what an edit touched: `old_text[start:end]` was replaced by `new_length` characters.

    `text` is the new text, `old` the starts in the old one. Returns (first, middle, last): the starts are now
    `old[:first] + middle + [s + shift for s in old[last:]]` with shift = new_length - (end - start).
    """
    shift = new_length - (end - start)
    first = max(0, bisect_right(old, start) - 2)
    known = {at + shift: index for index, at in enumerate(old) if at >= end and at + shift > 0}
    middle: list[int] = []
    for at in starts(text, old[first]):
        last = known.get(at)
        if last is not None and middle:
            return first, middle, last
        middle.append(at)
    return first, middle, len(old)


@dataclass(frozen=True)
class Members:
    """Where the statements of a class's body start, from the second one on: offsets in code points, starts of lines.

    `indent` is the body's indentation. `sound`: no bracket is missing or too many in the class.
    """

    offsets: list[int]
    indent: str
    sound: bool


def members(text: str) -> Members | None:
    """Return where the members of a class start; None for a chunk that is no plain class, or has but one member."""
    header = _CLASS.match(text)
    if header is None:
        return None
    depth = 0
    for found in _ANY_LINE.finditer(text, header.end()):
        kind = found.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "line" and depth <= 0:
            body = _BODY.match(text, found.end())
            if body is None or not _ends_with_colon(text[header.end() : found.start("line")]):
                return None
            broken: list[int] = []
            offsets = list(starts(text, body.start("indent"), _tokens(body["indent"]), broken))[1:]
            return Members(offsets, body["indent"], depth == 0 and not broken) if offsets else None
    return None


def _ends_with_colon(header: str) -> bool:
    return header.rpartition("#")[0].rstrip().endswith(":") or header.rstrip().endswith(":")


@lru_cache(maxsize=64)
def _member_tokens(indent: str) -> re.Pattern[str]:
    """Return the pattern of what matters inside a class: lines that are indented by `indent` or not at all."""
    begin = rf"(?:{re.escape(indent)}|(?:[ \t\f]*\f)?)(?=[^\s\#])"
    return re.compile(
        rf"""(?:{_SKIPPED} | (?!(?:\r\n|\n|\r){begin})(?:\r\n|\n|\r))*+
        (?:(?P<open>[(\[{{]) | (?P<close>[)\]}}]) | (?P<top>\r\n|\n|\r)(?P<code>{begin}) | (?P<end>\Z))""",
        re.VERBOSE | re.DOTALL,
    )


def resplit_members(text: str, base: int, old: Members, start: int, end: int, new_length: int) -> Members | None:
    """Split a class again after an edit well inside of it, which left everything around the edit's members as it was.

    `text` is the new text of the file, `base` the offset at which the class's chunk starts; the edit as in `resplit`.
    None where the edit may have changed more: then the file has to be split again. Only for a sound class: there, a
    member's start is a place at which no bracket or string is open, for the split into chunks too.
    """
    shift = new_length - (end - start)
    places = [base + at for at in old.offsets]
    first = bisect_right(places, start) - 2
    if first < 0 or not old.sound:
        return None
    known = {at + shift: index for index, at in enumerate(places) if at >= end}
    depth, middle = 0, [places[first]]
    decorated = _CODE.match(text, places[first]) is not None
    for found in _member_tokens(old.indent).finditer(text, places[first]):
        kind = found.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "code":
            at, code = found.start("code"), found.end()
            if at == code or text[at:code] != old.indent or (depth and _NEVER_IN_BRACKETS.match(text, code)):
                return None
            if depth == 0 and not _CONTINUES.match(text, code):
                if not decorated:
                    if at in known:
                        offsets = [place - base for place in [*places[:first], *middle]]
                        offsets += [place + shift - base for place in places[known[at] :]]
                        return Members(offsets, old.indent, True)
                    middle.append(at)
                decorated = text[code] == "@"
        if depth < 0 or kind == "end":
            return None
    return None
