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


def starts(text: str, begin: int = 0, tokens: re.Pattern[str] = _TOKENS) -> Iterator[int]:
    """Yield the offsets in code points at which chunks start, from `begin` on: `begin` itself first.

    `begin` is 0 or the start of a chunk. `tokens` may look for lines with another indentation than none.
    """
    yield begin
    depth = 0
    decorated = _CODE.match(text, begin) is not None
    for found in tokens.finditer(text, begin):
        kind = found.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        elif kind == "code":
            code = found.end()
            if depth:
                if not _NEVER_IN_BRACKETS.match(text, code):
                    continue
                depth = 0
                decorated = False
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


def members(text: str) -> list[int]:
    """Return where the statements of a class's body start, from the second one on; [] for what is no plain class.

    `text` is a chunk. The offsets are in code points, of the starts of lines.
    """
    header = _CLASS.match(text)
    if header is None:
        return []
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
                return []
            begin = body.start("indent")
            return list(starts(text, begin, _tokens(body["indent"])))[1:]
    return []


def _ends_with_colon(header: str) -> bool:
    return header.rpartition("#")[0].rstrip().endswith(":") or header.rstrip().endswith(":")
