"""Symbols moved down or up by some lines, and the parts of a module put together."""

from __future__ import annotations

from collections.abc import Sequence

from .commented import before_what
from .symbols import Class, CommentedCode, Fallback, Field, Function, Import, Module, Scope, Variable


def shifted(module: Module, by: int) -> Module:
    """Return the module with every line number moved by `by`."""
    if not by:
        return module
    return Module(
        module.doc,
        _variables(module.variables, by),
        _imports(module.imports, by),
        _scopes(module.scopes, by),
        module.exports,
        module.exports_from,
        module.calls,
        tuple([CommentedCode(c.start + by, c.end + by, c.following + by, c.inside, c.before) for c in module.comments]),
        tuple([Fallback(f.kind, f.line + by, f.reason) for f in module.fallbacks]),
        module.uses,
        module.lines,
    )


def _variables(variables: tuple[Variable, ...], by: int) -> tuple[Variable, ...]:
    return tuple(
        [Variable(v.name, v.line + by, v.column, v.annotation, v.value, v.kind, v.path, v.awaited) for v in variables]
    )


def _imports(imports: tuple[Import, ...], by: int) -> tuple[Import, ...]:
    return tuple(
        [Import(i.bound, i.line + by, i.column, i.module, i.name, i.level, i.condition, i.alias) for i in imports]
    )


def _scopes(scopes: tuple[Scope, ...], by: int) -> tuple[Scope, ...]:
    return tuple([_function(s, by) if isinstance(s, Function) else _class(s, by) for s in scopes])


def _function(f: Function, by: int) -> Function:
    return Function(
        f.name, f.line + by, f.column, f.name_column, f.start + by, f.body + by, f.end + by, f.reach + by,
        f.is_async, f.decorators, f.parameters, f.returns, f.doc, _variables(f.bindings, by), _imports(f.imports, by),
        _scopes(f.scopes, by), f.returned, f.yielded, f.global_names, f.nonlocal_names,
    )  # fmt: skip


def _class(c: Class, by: int) -> Class:
    fields = [
        Field(f.name, f.line + by, f.column, f.annotation, f.value, f.method, f.kind, f.path, f.awaited)
        for f in c.fields
    ]
    return Class(
        c.name, c.line + by, c.column, c.name_column, c.start + by, c.body + by, c.end + by, c.reach + by,
        c.decorators, c.bases, c.keywords, c.doc, tuple(fields), _imports(c.imports, by), _scopes(c.scopes, by),
        c.slots,
    )  # fmt: skip


def joined(parts: Sequence[Module], doc: str) -> Module:
    """Return one module of the parts, whose lines already count from the file's start."""
    exports = [name for part in parts if part.exports is not None for name in part.exports]
    calls: dict[str, int] = {}
    uses: dict[str, dict[str, int]] = {}
    for part in parts:
        for callee, times in part.calls.items():
            calls[callee] = calls.get(callee, 0) + times
        for receiver, counts in part.uses.items():
            total = uses.get(receiver)
            if total is None:
                uses[receiver] = dict(counts)
            else:
                for attribute, count in counts.items():
                    total[attribute] = total.get(attribute, 0) + count
    scopes = tuple([scope for part in parts for scope in part.scopes])
    return Module(
        doc,
        tuple([variable for part in parts for variable in part.variables]),
        tuple([found for part in parts for found in part.imports]),
        scopes,
        tuple(exports) if any(part.exports is not None for part in parts) else None,
        tuple([name for part in parts for name in part.exports_from]),
        calls,
        before_what([comment for part in parts for comment in part.comments], scopes),
        tuple([fallback for part in parts for fallback in part.fallbacks]),
        uses,
        sum(part.lines for part in parts),
    )
