"""Symbols moved down or up by some lines, and the parts of a module put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Counts:
    """The sums of the parts' calls and uses. Invariant: no count in it is 0, and it is never changed."""

    calls: dict[str, int]
    uses: dict[str, dict[str, int]]


def counted(parts: Sequence[Module], before: Counts | None = None, gone: Sequence[Module] = ()) -> Counts:
    """Return the sums of `before` and the parts, less those that are gone."""
    calls = dict(before.calls) if before is not None else {}
    uses = dict(before.uses) if before is not None else {}
    own: set[str] = set()  # the receivers whose counts are this sum's own to change
    for sign, modules in ((-1, gone), (1, parts)):
        for part in modules:
            _add(calls, part.calls, sign)
            for receiver, counts in part.uses.items():
                if receiver not in own:
                    uses[receiver] = dict(uses.get(receiver, ()))
                    own.add(receiver)
                _add(uses[receiver], counts, sign)
    for receiver in own:
        if not uses[receiver]:
            del uses[receiver]
    return Counts(calls, uses)


def _add(total: dict[str, int], counts: dict[str, int], sign: int) -> None:
    for name, count in counts.items():
        left = total.get(name, 0) + sign * count
        if left:
            total[name] = left
        else:
            del total[name]


def joined(parts: Sequence[Module], doc: str, counts: Counts) -> Module:
    """Return one module of the parts, whose lines already count from the file's start; `counts` are their sums."""
    exports = [name for part in parts if part.exports is not None for name in part.exports]
    scopes = tuple([scope for part in parts for scope in part.scopes])
    return Module(
        doc,
        tuple([variable for part in parts for variable in part.variables]),
        tuple([found for part in parts for found in part.imports]),
        scopes,
        tuple(exports) if any(part.exports is not None for part in parts) else None,
        tuple([name for part in parts for name in part.exports_from]),
        counts.calls,
        before_what([comment for part in parts for comment in part.comments], scopes),
        tuple([fallback for part in parts for fallback in part.fallbacks]),
        counts.uses,
        sum(part.lines for part in parts),
    )


def joined_class(parts: Sequence[Module]) -> Module:
    """Return one module of a class that was parsed in pieces: its header, and its body's statements in a class `_`.

    The lines of the parts count from the start of the class's chunk. Calls and uses are left out.
    """
    header = parts[0].scopes[0]
    assert isinstance(header, Class)
    inner = [part.scopes[0] for part in parts[1:] if part.scopes and isinstance(part.scopes[0], Class)]
    fields = [field for part in (header, *inner) for field in part.fields]
    scopes = tuple([scope for part in (header, *inner) for scope in part.scopes])
    whole = Class(
        header.name, header.line, header.column, header.name_column, header.start, header.body,
        max(part.end for part in (header, *inner)), max(part.reach for part in (header, *inner)),
        header.decorators, header.bases, header.keywords, header.doc,
        tuple([field for field in fields if not field.method] + [field for field in fields if field.method]),
        tuple([imported for part in (header, *inner) for imported in part.imports]), scopes,
        next((part.slots for part in (header, *inner) if part.slots is not None), None),
    )  # fmt: skip
    outside = [
        Module(
            part.doc, part.variables, part.imports, part.scopes[1:], part.exports, part.exports_from, part.calls,
            _in_class(part.comments, header.name, scopes), part.fallbacks, part.uses,
            part.lines - (part is not parts[0]),  # the line of `class _:`
        )
        for part in parts
    ]  # fmt: skip
    rest = joined(outside, parts[0].doc, Counts({}, {}))
    return Module(
        rest.doc, rest.variables, rest.imports, (whole, *rest.scopes), rest.exports, rest.exports_from, rest.calls,
        rest.comments, rest.fallbacks, rest.uses, rest.lines,
    )  # fmt: skip


def _in_class(comments: tuple[CommentedCode, ...], name: str, scopes: tuple[Scope, ...]) -> tuple[CommentedCode, ...]:
    """Return the comments of a piece with the class's own name for `_`, and with what they stand before."""
    if not comments:
        return ()
    starts = {scope.start: f"{name}.{scope.name}" for scope in scopes}
    found = []
    for c in comments:
        inside = _renamed(c.inside, name)
        before = _renamed(c.before, name)
        if inside == name and not before:
            before = starts.get(c.following, "")
        found.append(CommentedCode(c.start, c.end, c.following, inside, before))
    return tuple(found)


def _renamed(dotted: str, name: str) -> str:
    return name + dotted[1:] if dotted == "_" or dotted.startswith("_.") else dotted
