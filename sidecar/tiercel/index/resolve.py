"""From a dotted name to its definitions; classes across files, and the types that code tells outright."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .definitions import Definition, own_members
from .lookup import (
    DEEPEST,
    NOTHING,
    Seen,
    follow_all,
    found_module,
    member_of_module,
    module_attribute,
    resolve_name,
    unique,
)
from .source import split_lines
from .symbols import Class, Field, Function, Import, Module, Parameter, Scope, Variable
from .workspace import Index

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_BEFORE = re.compile(r"(?:[^\W\d]\w*\s*\.\s*)*[^\W\d]?\w*$")
_CALL = re.compile(r"(?:await )?(?P<callee>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\(")
_OPTIONAL = re.compile(
    r"(?:typing\.|t\.)?(?:Optional|Annotated|Final|ClassVar|Required|NotRequired|Type|type)\[(.*)\]$", re.DOTALL
)


def resolve_at(index: Index, path: str, line: int, column: int) -> tuple[Definition, ...]:
    """Return what the dotted name at a place stands for, up to the part that the place is in (0-based, code points)."""
    text = index.text(path)
    if text is None:
        return ()
    lines = split_lines(text)
    row = lines[line] if line < len(lines) else ""
    end = column
    while end < len(row) and (row[end].isalnum() or row[end] == "_"):
        end += 1
    found = _BEFORE.search(row[:end])
    dotted = re.sub(r"\s", "", found[0]) if found else ""
    begin = found.start() if found else end
    if not dotted or dotted.endswith(".") or row[:begin].rstrip().endswith((").", "].", ".")):
        return ()
    return resolve_dotted(index, path, dotted, line, column)


def resolve_dotted(index: Index, path: str, dotted: str, line: int, column: int) -> tuple[Definition, ...]:
    """Return what `a.b.c` at a place stands for; () where a part is not known."""
    chain = index.scopes_at(path, line, column)
    return resolve_in(index, path, dotted, chain, line)


def resolve_in(
    index: Index, path: str, dotted: str, chain: Sequence[Scope], line: int | None = None, seen: Seen = NOTHING
) -> tuple[Definition, ...]:
    """Return what `a.b.c` stands for inside the functions and classes of `chain`, the outermost first.

    `line`: where it is used; in the header of the innermost scope the names of its body do not count.
    """
    head, *rest = dotted.split(".")
    found = resolve_name(index, path, head, chain, line, seen)
    for name in rest:
        found = unique([inner for one in found for inner in resolve_attribute(index, one, name, seen)])
    return tuple(found)


def resolve_attribute(index: Index, owner: Definition, name: str, seen: Seen = NOTHING) -> tuple[Definition, ...]:
    """Return what `owner.name` stands for: a module's name, a class's member, that of a value whose type is told."""
    symbol = owner.symbol
    if isinstance(symbol, Module):
        return member_of_module(index, found_module(owner), name, seen)
    if isinstance(symbol, Class):
        return member(index, owner, name)
    if isinstance(symbol, Import) or (owner.path, f"{owner.qualified}.{name}") in seen or len(seen) > DEEPEST:
        return ()
    seen |= {(owner.path, f"{owner.qualified}.{name}")}
    return unique(
        [found for one in told_type(index, owner, seen) for found in resolve_attribute(index, one, name, seen)]
    )


@dataclass(frozen=True)
class Mro:
    """The classes in which a member is looked for, in order. `complete`: every base of every one was found."""

    classes: tuple[Definition, ...]
    complete: bool


def bases(index: Index, owner: Definition) -> tuple[list[Definition], bool]:
    """Return the base classes that were found, and whether all were."""
    assert isinstance(owner.symbol, Class)
    found: list[Definition] = []
    complete = True
    for text in owner.symbol.bases:
        name = _DOTTED.match(text)
        rest = text[name.end() :] if name else text
        candidates = resolve_classes(index, owner.path, name[0], owner.outer) if name and rest[:1] in ("", "[") else ()
        if candidates:
            found.append(candidates[-1])
        elif name is None or name[0].rpartition(".")[2] not in (
            "Generic",
            "Protocol",
            "NamedTuple",
            "TypedDict",
            "object",
        ):
            complete = False
    return found, complete


def resolve_classes(index: Index, path: str, dotted: str, outer: Sequence[Scope]) -> tuple[Definition, ...]:
    """Return the classes that a dotted name stands for, through aliases (`Base = declarative.Base`)."""
    found: list[Definition] = []
    for one in resolve_in(index, path, dotted, outer):
        found += _classes(index, one, 0)
    return tuple(found)


def _classes(index: Index, one: Definition, depth: int) -> list[Definition]:
    symbol = one.symbol
    if isinstance(symbol, Class):
        return [one]
    if isinstance(symbol, (Variable, Field)) and depth < 5 and symbol.value and not symbol.path:
        name = _DOTTED.fullmatch(symbol.value)
        if name and name[0] != symbol.name:
            return [
                c
                for inner in resolve_in(index, one.path, name[0], one.outer)
                for c in _classes(index, inner, depth + 1)
            ]
    return []


def mro(index: Index, owner: Definition) -> Mro:
    """Return the method resolution order (C3, as Python has it; depth first where that fails), `object` last."""
    complete = True

    def order(one: Definition, above: frozenset[tuple[str, str]]) -> list[Definition]:
        nonlocal complete
        key = (one.path, one.qualified)
        if key in above or len(above) > DEEPEST:
            complete = False
            return []
        found, all_found = bases(index, one)
        complete = complete and all_found
        lists = [order(base, above | {key}) for base in found]
        return [one, *_merge([*lists, list(found)])]

    classes = order(owner, frozenset())
    builtins = index.find("builtins")
    top = module_attribute(index, builtins.file, "object") if builtins is not None else ()
    classes += [one for one in top[:1] if _key(one) not in {_key(known) for known in classes}]
    return Mro(tuple(classes), complete and bool(top))


def _key(one: Definition) -> tuple[str, str, int]:
    return one.path, one.qualified, one.line


def _merge(lists: list[list[Definition]]) -> list[Definition]:
    """Merge linearizations as C3 does; where no order exists, the first candidate is taken."""
    merged: list[Definition] = []
    lists = [part for part in lists if part]
    while lists:
        tails = {_key(one) for part in lists for one in part[1:]}
        head = next((part[0] for part in lists if _key(part[0]) not in tails), lists[0][0])
        merged.append(head)
        lists = [[one for one in part if _key(one) != _key(head)] for part in lists]
        lists = [part for part in lists if part]
    return merged


def member(index: Index, owner: Definition, name: str) -> tuple[Definition, ...]:
    """Return the definitions of a class's member: all of the first class in its MRO that has it."""
    for one in mro(index, owner).classes:
        assert isinstance(one.symbol, Class)
        found = [m for m in own_members(one.path, one.symbol, one.outer) if m.name == name]
        if found:
            return follow_all(index, found)
    return ()


def members(index: Index, owner: Definition) -> dict[str, tuple[Definition, ...]]:
    """Return all members of a class by name, each as the first class in the MRO defines it."""
    found: dict[str, tuple[Definition, ...]] = {}
    for one in mro(index, owner).classes:
        assert isinstance(one.symbol, Class)
        own: dict[str, list[Definition]] = {}
        for definition in own_members(one.path, one.symbol, one.outer):
            own.setdefault(definition.name, []).append(definition)
        for name, definitions in own.items():
            found.setdefault(name, tuple(definitions))
    return found


def told_type(index: Index, one: Definition, seen: Seen = NOTHING) -> tuple[Definition, ...]:
    """Return the classes (or modules) of a value where the code tells them outright.

    An annotation, a constructor call, a called function's return annotation, another name with such a type, `self` and
    `cls`, a property's or method's return annotation for the method itself. No more: inference is the rules' job.
    """
    symbol = one.symbol
    if isinstance(symbol, Parameter):
        method = one.outer[-1]
        around = one.outer[-2] if len(one.outer) > 1 else None
        first = isinstance(method, Function) and method.parameters[:1] == (symbol,)
        if isinstance(around, Class) and first and "staticmethod" not in method.decorators:
            return (Definition(one.path, around, one.outer[:-2]),)
        if symbol.kind in ("var_positional", "var_keyword"):
            return ()
        return annotated_type(index, one.path, symbol.annotation, one.outer[:-1])
    if isinstance(symbol, Function):
        return annotated_type(index, one.path, symbol.returns, one.outer) if "property" in symbol.decorators else ()
    if isinstance(symbol, (Variable, Field)):
        if symbol.annotation:
            return annotated_type(index, one.path, symbol.annotation, one.outer)
        if symbol.kind in ("assign", "walrus", "with") and not symbol.path:
            return _type_of_value(index, one, symbol, seen)
    return ()


def annotated_type(index: Index, path: str, annotation: str, outer: Sequence[Scope]) -> tuple[Definition, ...]:
    """Return the classes that an annotation names: of `Order | None`, `Optional["Order"]` and `Order[int]`, Order."""
    text = annotation.strip().strip("\"'")
    wrapped = _OPTIONAL.match(text)
    if wrapped:
        return annotated_type(index, path, wrapped[1].partition(",")[0], outer)
    found: list[Definition] = []
    for part in _split_union(text):
        name = _DOTTED.match(part.strip().strip("\"'"))
        if name and name[0] != "None":
            found += resolve_classes(index, path, name[0], outer)
    return tuple(found)


def _split_union(text: str) -> list[str]:
    """Split at the `|` that stand in no bracket."""
    parts, depth, begin = [], 0, 0
    for position, character in enumerate(text):
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(character, 0)
        if character == "|" and depth == 0:
            parts.append(text[begin:position])
            begin = position + 1
    return [*parts, text[begin:]]


def _type_of_value(index: Index, one: Definition, symbol: Variable | Field, seen: Seen) -> tuple[Definition, ...]:
    """Return the type of a value: `Order(...)`, `make_order(...)` with a return annotation, another name."""
    outer = one.outer
    if isinstance(symbol, Field) and symbol.method:
        inside = next(
            (s for s in one.outer[-1].scopes if s.name == symbol.method and s.start <= symbol.line <= s.end), None
        )
        outer = (*one.outer, inside) if inside is not None else outer
    key = (one.path, f"{one.qualified}={symbol.value}")
    if key in seen or len(seen) > DEEPEST:
        return ()
    seen |= {key}
    call = _CALL.match(symbol.value)
    if call and _ends_with_call(symbol.value, call.end() - 1):
        found: list[Definition] = []
        for callee in resolve_in(index, one.path, call["callee"], outer, None, seen):
            if isinstance(callee.symbol, Function):
                found += annotated_type(index, callee.path, callee.symbol.returns, callee.outer)
            else:
                found += _classes(index, callee, 0)
        return tuple(found)
    if _DOTTED.fullmatch(symbol.value):
        found = []
        for other in resolve_in(index, one.path, symbol.value, outer, symbol.line, seen):
            if isinstance(other.symbol, (Class, Module)):
                found.append(other)
            elif not isinstance(other.symbol, Import):
                found += told_type(index, other, seen)
        return tuple(found)
    return ()


def _ends_with_call(text: str, opened: int) -> bool:
    """Tell whether the bracket opened there closes at the end of the text."""
    depth = 0
    for position in range(opened, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position == len(text) - 1
    return False
