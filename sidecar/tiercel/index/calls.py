"""Calls and attribute uses, from the text: several times as fast as a walk over the tree."""

from __future__ import annotations

import re
from collections import Counter

from .source import split_lines

_LEFT_OUT = re.compile(
    r"""\#[^\n\r]*+
    |'''(?:[^\\']++|\\.|'(?!''))*+(?:'''|\Z) | \"\"\"(?:[^\\"]++|\\.|"(?!""))*+(?:\"\"\"|\Z)
    |'(?:[^'\\\n\r]++|\\.)*+'? | "(?:[^"\\\n\r]++|\\.)*+"?""",
    re.VERBOSE | re.DOTALL,
)
_NOT_IN_NAMES = str.maketrans(dict.fromkeys("!\"#$%&')*+,-/:;<=>?@[\\]^`{|}~", " "))
_DEFINED = re.compile(r"[\n\r][ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)\(")
_NOT_CALLED = frozenset(
    {"if", "elif", "while", "return", "and", "or", "not", "in", "is", "assert", "yield", "lambda", "await", "for",
     "del", "import", "from", "except", "with", "raise", "else"}
)  # fmt: skip
CLOSED = "()"
"""Stands for a receiver that is a call, a subscript or a literal."""


def calls_and_uses(text: str) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Return how often each dotted name is called, and how often each attribute is used on each receiver text."""
    plain = _LEFT_OUT.sub("'", text)
    calls: dict[str, int] = {}
    uses: dict[str, dict[str, int]] = {}
    # Splitting at white space takes a tenth of the time that a regular expression takes to find the names.
    for chain, count in Counter(plain.translate(_NOT_IN_NAMES).replace("(", "( ").split()).items():
        name = chain
        if name[-1] == "(":
            name = name[:-1]
            if not name:
                continue
            if name[-1] != "." and name[0] != "." and not name[0].isdigit() and name not in _NOT_CALLED:
                calls[name] = count
        elif "." not in name:
            continue
        if "." in name:
            _add_uses(uses, name, count)
    for name in _DEFINED.findall(f"\n{plain}"):
        left = calls.get(name, 0) - 1
        if left > 0:
            calls[name] = left
        else:
            calls.pop(name, None)
    return calls, uses


def _add_uses(uses: dict[str, dict[str, int]], name: str, count: int) -> None:
    while True:
        receiver, _, attribute = name.rpartition(".")
        if not _:
            return
        if attribute.isidentifier():
            receiver = receiver or CLOSED
            if receiver[-1] != "." and not receiver[0].isdigit():
                counts = uses.get(receiver)
                if counts is None:
                    uses[receiver] = {attribute: count}
                else:
                    counts[attribute] = counts.get(attribute, 0) + count
        if receiver is CLOSED:
            return
        name = receiver


def call_sites(text: str, callee: str) -> list[tuple[int, int]]:
    """Return where a dotted name is called: line (0-based) and column of its first character, in code points."""
    pattern = re.compile(rf"(?<![\w.])(?<!def )(?<!class ){re.escape(callee)}[ \t]*\(")
    plain = _LEFT_OUT.sub(_blank, text)
    lines = split_lines(plain)
    return [(number, found.start()) for number, line in enumerate(lines) for found in pattern.finditer(line)]


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n\r]", " ", found[0])
