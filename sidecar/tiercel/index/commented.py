"""Comments that are code: the old version that was left in tells of intent."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Sequence

import msgspec

from .source import Source
from .symbols import CommentedCode, Scope, walk

_HINT = re.compile(
    r"[ \t]*#[ \t]*(?:@\w|(?:async[ \t]+)?def[ \t]+\w+\(|class[ \t]+\w+.*:|return\b|"
    r"import[ \t]|from[ \t]+[\w.]+[ \t]+import\b|"
    r"(?:if|elif|for|while|with|try|except|else)\b.*:[ \t]*$|(?:raise|del|assert|yield|await)[ \t]|"
    r"[A-Za-z_][\w.\[\]\"']*(?:[ \t]*:[ \t]*[\w.\[\], |]+)?[ \t]*[-+*/|&]?=[^=]|[A-Za-z_][\w.]*\(.*\)?[ \t,]*$)"
)
_COMMENT = re.compile(r"[ \t]*#")
_STRONG = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AugAssign, ast.Return, ast.Import,
    ast.ImportFrom, ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Raise, ast.Delete, ast.Assert,
)  # fmt: skip


def commented_code(source: Source, scopes: Sequence[Scope]) -> tuple[CommentedCode, ...]:
    """Return the blocks of comment lines that parse as code and are more than a name or a word."""
    if "#" not in source.text:
        return ()
    hints = [number for number, line in enumerate(source.lines) if "#" in line and _HINT.match(line)]
    if not hints:
        return ()
    lines, found = source.lines, []
    done = -1
    for hint in hints:
        if hint <= done:
            continue
        end = hint
        while end + 1 < len(lines) and _COMMENT.match(lines[end + 1]):
            end += 1
        length = _code_length([_COMMENT.sub("", line, count=1) for line in lines[hint : end + 1]])
        if length:
            done = hint + length - 1
            found.append((hint, done, end))
    if not found:
        return ()
    named = list(walk(tuple(scopes)))
    return tuple([CommentedCode(first, last, *_place(named, lines, first, end)) for first, last, end in found])


def before_what(comments: Sequence[CommentedCode], scopes: Sequence[Scope]) -> tuple[CommentedCode, ...]:
    """Return the comments, those at the top of the module with the name of what they stand directly before."""
    if not comments:
        return ()
    starts = {scope.start: scope.name for scope in scopes}
    return tuple(
        [
            msgspec.structs.replace(comment, before=starts[comment.following])
            if not comment.inside and comment.following in starts
            else comment
            for comment in comments
        ]
    )


def _code_length(lines: list[str]) -> int:
    """Return how many of the lines, from the first on, are code: 0 if it is not."""
    while lines:
        text = textwrap.dedent("\n".join(lines))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except SyntaxError as error:
            stop = (error.lineno or 1) - 1
            lines = lines[: min(stop, len(lines) - 1)]
            continue
        except (ValueError, RecursionError, MemoryError):
            return 0
        strong = any(
            isinstance(node, _STRONG)
            or (isinstance(node, ast.AnnAssign) and node.value is not None)
            or (isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Await, ast.Yield)))
            for node in tree.body
        )
        return len(lines) if strong else 0
    return 0


def _place(named: list[tuple[str, Scope]], lines: list[str], first: int, end: int) -> tuple[int, str, str]:
    """Return the line of the code that follows, and the names of what the comment stands in and directly before."""
    indent = len(lines[first]) - len(lines[first].lstrip())
    following = end + 1
    while following < len(lines) and not lines[following].strip():
        following += 1
    inside = before = ""
    for name, scope in named:
        if scope.start <= first <= scope.reach and indent > scope.column:
            inside = name
    for name, scope in named:
        if scope.start == following and name.rpartition(".")[0] == inside:
            before = name
    return following, inside, before
