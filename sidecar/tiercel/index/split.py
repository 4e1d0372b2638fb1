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

_NEVER_IN_BRACKETS = re.compile(
    r"(?:@[^\n\r]*(?:\r\n|\n|\r))*(?:async[ \t]+def|def|class)[ \t]+\w"
    r"|from[ \t]+[\w.]+[ \t]+import\b|import[ \t]+\w"
    r"|(?:return|with|while|try|raise|global|assert|del|pass|break|continue)\b(?![ \t]*=[^=])"
)
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")
_TOKENS = re.compile(
    r"""(?P<skip>\#[^\n\r]*+
        |'''(?:[^\\']++|\\.|'(?!''))*+(?:'''|\Z) | \"\"\"(?:[^\\"]++|\\.|"(?!""))*+(?:\"\"\"|\Z)
        |'(?:[^'\\\n\r]++|\\\r\n|\\.)*+'? | "(?:[^"\\\n\r]++|\\\r\n|\\.)*+"?
        |\\(?:\r\n|\n|\r|.))
      |(?P<open>[(\[{])|(?P<close>[)\]}])
      |(?P<top>\r\n|\n|\r)(?P<code>(?:[ \t\f]*\f)?(?=[^\s\#]))""",
    re.VERBOSE | re.DOTALL,
)


def starts(text: str, begin: int = 0) -> Iterator[int]:
    """Yield the offsets in code points at which chunks start, from `begin` on: `begin` itself first.

    `begin` is 0 or the start of a chunk.
    """
    yield begin
    depth = 0
    decorated = text.startswith("@", begin)
    for found in _TOKENS.finditer(text, begin):
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
