"""What a stub's `if sys.version_info >= (3, 12):` and `if sys.platform == "win32":` come to."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable

_COMPARISONS: dict[type[ast.cmpop], Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


def static_test(test: ast.expr, version: tuple[int, int]) -> bool | None:
    """Return what a test of the Python version or the platform gives; None for any other test."""
    match test:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id="sys"), attr="version_info"),
            ops=[comparison],
            comparators=[ast.Tuple(elts=elements)],
        ) if type(comparison) in _COMPARISONS:
            numbers = tuple(e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, int))
            return _COMPARISONS[type(comparison)](version, numbers)
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id="sys"), attr="platform"),
            ops=[ast.Eq() | ast.NotEq() as comparison],
            comparators=[ast.Constant(value=str() as platform)],
        ):
            return (sys.platform == platform) == isinstance(comparison, ast.Eq)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = static_test(operand, version)
            return None if inner is None else not inner
        case ast.BoolOp(op=op, values=values):
            found = [static_test(value, version) for value in values]
            if None in found:
                return None
            return all(found) if isinstance(op, ast.And) else any(found)
    return None
