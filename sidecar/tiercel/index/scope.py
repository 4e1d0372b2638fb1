"""Where the cursor is: the functions and classes around a place, by their true extents."""

from __future__ import annotations

from bisect import bisect_right

from .symbols import Function, Module, Scope


def enclosing(module: Module, line: int, indent: int) -> list[Scope]:
    """Return the functions and classes that hold a line, the outermost first; empty at the module's top.

    `indent` is the column of the line's first character that is not white, or on a blank line that of the cursor: it
    tells whether a place after the last line of a body still belongs to it. O(log n) in the scopes of each level.
    """
    chain: list[Scope] = []
    line = min(line, max(module.lines - 1, 0))
    scopes = module.scopes
    while scopes:
        at = bisect_right(scopes, line, key=lambda scope: scope.start) - 1
        if at < 0 or not holds(scopes[at], line, indent):
            break
        chain.append(scopes[at])
        scopes = scopes[at].scopes
    return chain


def holds(scope: Scope, line: int, indent: int) -> bool:
    """Tell whether a line belongs to a scope: within its code, or after it and indented further than its header."""
    if line < scope.start or line > scope.reach:
        return False
    return line <= scope.end or indent > scope.column


def enclosing_function(chain: list[Scope]) -> Function | None:
    """Return the innermost function of a chain."""
    return next((scope for scope in reversed(chain) if isinstance(scope, Function)), None)


def in_header(scope: Scope, line: int) -> bool:
    """Tell whether a line of a scope is before its body: its names are those of the scope around it."""
    return line < scope.body and line <= scope.end


def line_indent(text: str, column: int) -> int:
    """Return the indentation of a line of text as `enclosing` wants it; `column` is the cursor's."""
    stripped = text.lstrip()
    return len(text) - len(stripped) if stripped.strip() else column
