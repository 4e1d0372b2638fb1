"""What can be known of a text that cannot be made to parse: its `def`, `class` and import lines, by indentation."""

from __future__ import annotations

import re

from .extract import extract
from .mend import parse_text
from .shift import shifted
from .source import Source
from .symbols import Class, Fallback, Function, Import, Module, Scope, Variable

_DEFINITION = re.compile(r"[ \t]*(?P<keyword>async[ \t]+def|def|class)[ \t]+(?P<name>[^\W\d]\w*)")
_ONE_LINE = re.compile(r"(?:from[ \t]+[\w.]+[ \t]+)?import\b|[^\W\d]\w*[ \t]*(?::[^=]+)?=[^=]")


def scan(text: str, error: Exception) -> Module:
    """Return the functions, classes, imports and assignments that single lines tell of, and the error as fallback."""
    lines = Source(text).lines
    variables: list[Variable] = []
    imports: list[Import] = []
    definitions: list[tuple[int, int, re.Match[str]]] = []
    ends: list[int] = []
    opened: list[int] = []
    for number, line in enumerate(lines):
        stripped = line.lstrip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(line) - len(stripped)
        while opened and definitions[opened[-1]][1] >= indent:
            opened.pop()
        for outer in opened:
            ends[outer] = number
        definition = _DEFINITION.match(line)
        if definition:
            opened.append(len(definitions))
            definitions.append((number, indent, definition))
            ends.append(number)
        elif indent == 0 and _ONE_LINE.match(line):
            one = _parse_line(line, number)
            variables += one.variables
            imports += one.imports
    number = (error.lineno or 1) - 1 if isinstance(error, SyntaxError) else 0
    fallback = Fallback("lines", max(0, min(number, len(lines) - 1)), _reason(error))
    scopes, _ = _nest(definitions, ends, lines, 0, -1)
    return Module("", tuple(variables), tuple(imports), scopes, fallbacks=(fallback,), lines=len(lines))


def _nest(
    definitions: list[tuple[int, int, re.Match[str]]], ends: list[int], lines: list[str], at: int, outer: int
) -> tuple[tuple[Scope, ...], int]:
    """Return the scopes from definition `at` on that are indented more than `outer`, and the next definition."""
    found: list[Scope] = []
    while at < len(definitions) and definitions[at][1] > outer:
        line, indent, match = definitions[at]
        end = reach = ends[at]
        while reach + 1 < len(lines) and (not lines[reach + 1].strip() or lines[reach + 1].lstrip().startswith("#")):
            reach += 1
        inner, following = _nest(definitions, ends, lines, at + 1, indent)
        name, column = match["name"], match.start("name")
        if match["keyword"] == "class":
            found.append(Class(name, line, indent, column, line, line + 1, end, reach, scopes=inner))
        else:
            is_async = match["keyword"] != "def"
            found.append(Function(name, line, indent, column, line, line + 1, end, reach, is_async, scopes=inner))
        at = following
    return tuple(found), at


def _reason(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return error.msg or "invalid syntax"
    return "nested too deeply" if isinstance(error, (RecursionError, MemoryError)) else str(error)


def _parse_line(line: str, number: int) -> Module:
    try:
        statements = parse_text(line)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Module()
    return shifted(extract(statements, Source(line)), number)
