"""Stage 1: the code around the cursor that is handed over as it is: the enclosing function, its class's header."""

from __future__ import annotations

import re

from tiercel.index.scope import enclosing_function
from tiercel.index.source import split_lines
from tiercel.index.symbols import Class, Function
from tiercel.index.symbols import Scope as Symbol
from tiercel.index.workspace import Index

from .parts import Scope
from .render import fields_of

_NAME = re.compile(r"[^\W\d]\w*")
LINES_WITHOUT_A_TREE = 50
"""How many lines either side of the cursor stand for the scope where nothing parses."""
LINES_OF_A_MODULE = 40
"""How many lines above a cursor at the module's top are its scope."""


def find_scope(index: Index, path: str, text: str, line: int, column: int) -> Scope:
    """Return the scope of a place (0-based line, code points) in a document that the index has open as `text`."""
    lines = split_lines(text)
    chain = index.scopes_at(path, line, column)
    function = enclosing_function(chain)
    fallback = _fallback(index, path, line)
    first, last = _extent(chain, function, line, len(lines))
    if fallback and function is None:
        first, last = max(0, line - LINES_WITHOUT_A_TREE), min(len(lines) - 1, line + LINES_WITHOUT_A_TREE)
    before = "\n".join([*lines[first:line], lines[line][:column]])
    after = "\n".join([lines[line][column:], *lines[line + 1 : last + 1]])
    owner = next((one for one in reversed(chain) if isinstance(one, Class)), None) if function is not None else None
    used = set(_NAME.findall(before + after))
    header, fields = _header(owner, lines) if owner is not None and owner.start < first else ("", "")
    return Scope(
        before=before,
        after=after,
        path=path,
        first=first,
        name=".".join(one.name for one in chain),
        imports=_imports(index, path, used, first),
        header=header,
        fields=fields,
        header_line=owner.line if owner is not None else -1,
        fallback=fallback,
    )


def _extent(chain: list[Symbol], function: Function | None, line: int, count: int) -> tuple[int, int]:
    """Return the first and last line of the scope, both included."""
    if function is not None:
        # Of nested functions the outermost: the inner one uses the names of the outer.
        outer = next(one for one in chain if isinstance(one, Function))
        return outer.start, max(line, min(outer.reach, count - 1))
    if chain:
        return max(chain[-1].start, line - LINES_OF_A_MODULE), max(line, min(chain[-1].reach, count - 1))
    return max(0, line - LINES_OF_A_MODULE), min(count - 1, line + LINES_OF_A_MODULE)


def _fallback(index: Index, path: str, line: int) -> str:
    """Say where the text around a line did not parse at all; "" if it did, mended or not."""
    opened = index.parsed(path)
    if opened is None:
        return ""
    chunk, first = opened.chunk_at(line)
    for fallback in chunk.symbols_at(first).fallbacks:
        if fallback.kind == "lines":
            return f"line {fallback.line + 1} does not parse: {fallback.reason}"
    return ""


def _imports(index: Index, path: str, used: set[str], first: int) -> str:
    """Return the module's imports of the names that are used, one line each, in the order of the source."""
    module = index.module(path)
    if module is None:
        return ""
    lines: dict[tuple[str, int], list[str]] = {}
    for one in module.imports:
        if one.line >= first or (one.bound not in used and one.bound != "*"):
            continue
        if one.name:
            origin = f"from {'.' * one.level}{one.module} import "
            lines.setdefault((origin, one.line), []).append(
                one.name if one.name == one.bound else f"{one.name} as {one.bound}"
            )
        else:
            lines.setdefault((f"import {one.module}{f' as {one.bound}' if one.alias else ''}", one.line), [])
    return "".join(f"{origin}{', '.join(names)}\n" for (origin, _), names in lines.items())


def _header(owner: Class, lines: list[str]) -> tuple[str, str]:
    """Return a class's header and its fields, at the indentation that they have in the file."""
    indent = lines[owner.line][: owner.column] if owner.line < len(lines) else ""
    body = lines[owner.body] if owner.body < len(lines) else ""
    inner = body[: len(body) - len(body.lstrip())] or indent + "    "
    return f"{indent}{owner.signature()}:\n", "".join(f"{inner}{field}\n" for field in fields_of(owner))
