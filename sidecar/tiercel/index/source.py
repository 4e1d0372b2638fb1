"""The text of a file or of a part of it: its lines, and the text of a node of its tree."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from asttokens import LineNumbers

LINE_END = re.compile(r"\r\n|\n|\r")


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends, as Python and LSP count them: LF, CRLF and CR, and nothing else."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


class Source:
    """A text that was parsed. Lines are 0-based and columns in code points, where `ast` has 1-based and UTF-8 bytes.

    `shifts` has the lines (0-based) whose text was moved right to make it parse, and by how much. `version`: for stubs,
    the Python version whose branches are taken where they ask for it.
    """

    def __init__(self, text: str, shifts: dict[int, int] | None = None, version: tuple[int, int] | None = None) -> None:
        self.text = text
        self.ascii = text.isascii()
        self.shifts = shifts
        self.version = version

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; a last line without text is none."""
        lines = split_lines(self.text)
        if not lines[-1]:
            lines.pop()
        return lines

    @cached_property
    def walrus_lines(self) -> list[int]:
        """The lines (1-based, as in the tree) that have a `:=`."""
        return [number for number, line in enumerate(self.lines, 1) if ":=" in line] if ":=" in self.text else []

    def position(self, lineno: int, offset: int) -> int:
        """Return the column in the file of a place in the tree."""
        column = self.column(lineno, offset)
        return column - self.shifts.get(lineno - 1, 0) if self.shifts else column

    def column(self, lineno: int, offset: int) -> int:
        """Return the column in this text, in code points, of a byte offset in a line of the tree."""
        if self.ascii:
            return offset
        line = self.lines[lineno - 1]
        return offset if line.isascii() else int(LineNumbers(line).from_utf8_col(1, offset))

    def segment(self, node: ast.expr | ast.keyword) -> str:
        """Return the node's own text; one of several lines is joined to one."""
        start, end = node.lineno, node.end_lineno or node.lineno
        first, last = node.col_offset, node.end_col_offset or 0
        line = self.lines[start - 1]
        if start == end:
            if self.ascii or line.isascii():
                return line[first:last]
            return line[self.column(start, first) : self.column(start, last)]
        rows = self.lines[start - 1 : end]
        rows[-1] = rows[-1][: self.column(end, last)]
        rows[0] = rows[0][self.column(start, first) :]
        joined = " ".join(row.strip() for row in rows)
        if _HARD_TO_JOIN.search(joined):
            return ast.unparse(node)
        return _INNER_SPACE.sub("", joined)

    def value(self, node: ast.expr, depth: int = 0) -> str:
        """Return the expression's text if it is short, else the outermost part of it with `...` for the rest."""
        lines = (node.end_lineno or node.lineno) - node.lineno
        if lines < LONG_LINES:
            text = self.segment(node)
            if len(text) <= LONG:
                return text
        return "..." if depth > DEEP else self._shortened(node, depth + 1)

    def _shortened(self, node: ast.expr, depth: int) -> str:
        match node:
            case ast.Call():
                return f"{self.value(node.func, depth)}(...)"
            case ast.Attribute():
                return f"{self.value(node.value, depth)}.{node.attr}"
            case ast.Subscript():
                return f"{self.value(node.value, depth)}[...]"
            case ast.Await():
                return f"await {self.value(node.value, depth)}"
            case ast.IfExp():
                return f"{self.value(node.body, depth)} if ... else {self.value(node.orelse, depth)}"
            case ast.List(elts=[first, *_]):
                return f"[{self.value(first, depth)}, ...]"
            case ast.Tuple(elts=[first, *_]):
                return f"({self.value(first, depth)}, ...)"
            case ast.Set(elts=[first, *_]):
                return f"{{{self.value(first, depth)}, ...}}"
            case ast.Dict(keys=[ast.expr() as key, *_], values=[first, *_]):
                return f"{{{self.value(key, depth)}: {self.value(first, depth)}, **...}}"
        return _SHAPES.get(type(node), "...") if not isinstance(node, ast.Constant) else _constant(node)


LONG = 160
"""Characters of a value that is kept whole."""
LONG_LINES = 12
"""Lines from which on a value is shortened without looking at its text."""
DEEP = 8
_HARD_TO_JOIN = re.compile(r"#|\\|\"\"\"|'''")
_INNER_SPACE = re.compile(r"(?<=[(\[{]) | (?=[)\]}])")
_SHAPES: dict[type[ast.expr], str] = {
    ast.ListComp: "[... for _ in ...]",
    ast.SetComp: "{... for _ in ...}",
    ast.DictComp: "{...: ... for _ in ...}",
    ast.GeneratorExp: "(... for _ in ...)",
    ast.JoinedStr: 'f"..."',
    ast.Lambda: "lambda *_: ...",
    ast.Compare: "... == ...",
    ast.Dict: "{**...}",
}


def _constant(node: ast.Constant) -> str:
    if isinstance(node.value, str):
        return '"..."'
    return 'b"..."' if isinstance(node.value, bytes) else repr(node.value)[:LONG]
