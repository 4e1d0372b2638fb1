"""Stage 2: every name that the scope uses, followed through the index to its definition and said as an interface."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tiercel.index.definitions import Definition
from tiercel.index.resolve import annotated_type, resolve_attribute, resolve_in
from tiercel.index.source import split_lines
from tiercel.index.symbols import Class, Field, Function, Import, Parameter, Variable
from tiercel.index.symbols import Scope as Symbol
from tiercel.index.workspace import Index

from .parts import LeftOut, Part, Scope, Wanted
from .render import class_forms, function_forms, overload_forms, variable_forms
from .types import is_value, type_of

_CHAIN = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*(?:\.|\()?")
# f-strings keep what is in their braces: that is code.
_TEXT = re.compile(r"#[^\n]*|(?<![fF])(?<!\w)[rbuRBU]{0,2}(?:'[^'\n]*'|\"[^\"\n]*\")")

_HALF_TYPED = re.compile(r"(?<![\w.])[^\W\d]\w+$")

MOST_DEFINITIONS = 4  # of one name; overloads are many, and so are conditional definitions
WEIGHT_AT_CURSOR = 3.0  # the line at the cursor counts three times
WEIGHT_OF_RECEIVER = 12.0  # what stands before the dot at the cursor goes deepest
WORTH_OF_LIBRARY = 0.4  # the model has read the libraries; the workspace it has not
WORTH_OF_SECOND_ORDER = 0.25
WORTH_OF_OLD_VERSION = 2.0


@dataclass
class _Found:
    """What is known of one definition so far: how much it is worth, why, and which of its members are used."""

    definition: Definition
    worth: float = 0.0
    why: str = ""
    used: set[str] = field(default_factory=set)
    overloads: list[Function] = field(default_factory=list)


def find_dependencies(
    index: Index, scope: Scope, chain: list[Symbol], line: int, text: str
) -> tuple[list[Wanted], list[LeftOut]]:
    """Return the interfaces that the scope's names lead to, and what was found but may not or need not be told."""
    found: dict[tuple[str, str], _Found] = {}
    known = _Known(index, scope.path, chain, line)
    for dotted, weight, receiver in names_used(scope, line):
        _follow(known, dotted, weight, receiver, found)
    _half_typed(index, scope, found)
    for depth, around in enumerate(chain):
        if isinstance(around, Class):
            _note(found, Definition(scope.path, around, tuple(chain[:depth])), 1.0, "the class of the method", "")
    second = _second_order(index, found)
    wanted: list[Wanted] = []
    left_out: list[LeftOut] = []
    lines = split_lines(text)
    last = scope.first + len(scope.before.split("\n")) + len(scope.after.split("\n")) - 2
    for one in [*found.values(), *second]:
        reason = _not_told(index, one.definition, scope, last)
        if reason:
            left_out.append(LeftOut(one.definition.qualified, one.definition.path, one.definition.line, reason))
            continue
        forms = _forms(index, one)
        if forms:
            wanted.append(Wanted(tuple(_part(index, one, form) for form in forms)))
    wanted += _old_versions(index, scope, chain, lines)
    return wanted, left_out


def names_used(scope: Scope, line: int) -> list[tuple[str, float, bool]]:
    """Return each dotted name of the scope with its weight, and whether it is the receiver at the cursor.

    A name that is called ends with `.__init__`, which is what counts of it if it is a class. The names of the line at
    the cursor count `WEIGHT_AT_CURSOR` times.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    rows = _TEXT.sub(lambda found: " " * len(found[0]), scope.before).split("\n")
    for number, row in enumerate(rows, start=scope.first):
        for found in _CHAIN.finditer(row):
            weights[_dotted(found[0])] += WEIGHT_AT_CURSOR if number == line else 1.0
    for row in _TEXT.sub("", scope.after).split("\n"):
        for found in _CHAIN.finditer(row):
            weights[_dotted(found[0])] += 0.5
    receiver = ""
    *_, last = [None, *_CHAIN.finditer(rows[-1])]
    if last is not None and last.end() == len(rows[-1]) and "." in last[0]:
        receiver = re.sub(r"\s", "", last[0]).rpartition(".")[0]
        weights[receiver] += WEIGHT_OF_RECEIVER
    return [(dotted, weight, dotted == receiver) for dotted, weight in weights.items()]


def _dotted(found: str) -> str:
    name = re.sub(r"\s", "", found)
    return f"{name[:-1]}.__init__" if name.endswith("(") else name.rstrip(".")


class _Known:
    """What has been resolved at one place: the names of a scope begin with the same few receivers.

    Invariant: what it returns is what the index said when it was first asked, within one prompt.
    """

    def __init__(self, index: Index, path: str, chain: list[Symbol], line: int) -> None:
        self._index, self._path, self._chain, self._line = index, path, chain, line
        self._names: dict[str, tuple[Definition, ...]] = {}
        self._types: dict[int, Definition | None] = {}
        self._attributes: dict[tuple[int, str], tuple[Definition, ...]] = {}
        self._held: list[Definition] = []  # their ids are keys: they must live as long

    def name(self, name: str) -> tuple[Definition, ...]:
        """Return what a bare name stands for."""
        if name not in self._names:
            found = resolve_in(self._index, self._path, name, self._chain, self._line)
            self._names[name] = found[:MOST_DEFINITIONS]
        return self._names[name]

    def type_of(self, one: Definition) -> Definition | None:
        """Return the class of which a value is an instance."""
        if id(one) not in self._types:
            self._held.append(one)
            self._types[id(one)] = type_of(self._index, one, self._chain)
        return self._types[id(one)]

    def attribute(self, owner: Definition, name: str) -> tuple[Definition, ...]:
        """Return what `owner.name` stands for."""
        key = (id(owner), name)
        if key not in self._attributes:
            self._held.append(owner)
            self._attributes[key] = resolve_attribute(self._index, owner, name)[:MOST_DEFINITIONS]
        return self._attributes[key]


def _follow(known: _Known, dotted: str, weight: float, receiver: bool, found: dict[tuple[str, str], _Found]) -> None:
    """Walk along a dotted name; note every class and function on the way and the members used of it."""
    head, *rest = dotted.split(".")
    shown = dotted.removesuffix(".__init__")
    here = known.name(head)
    for step in range(len(rest) + 1):
        name = rest[step] if step < len(rest) else ""
        owners: list[Definition] = []
        for one in here:
            owner = known.type_of(one) if is_value(one) else one
            if owner is None:
                _note(found, one, weight, f"{shown} is used", "")
                continue
            if owner is one:
                why = f"{shown} stands before the cursor" if receiver else f"{shown} is used"
            else:
                why = f"{'.'.join([head, *rest[:step]])} is its instance"
            _note(found, owner, weight, why, name)
            owners.append(owner)
        if name in ("", "__init__"):
            return
        here = tuple(inner for owner in owners for inner in known.attribute(owner, name))[:MOST_DEFINITIONS]


def _half_typed(index: Index, scope: Scope, found: dict[tuple[str, str], _Found]) -> None:
    """Note what a name that is still being typed may become: the module's own names and imports that begin so."""
    half = _HALF_TYPED.search(scope.before)
    module = index.module(scope.path)
    if half is None or module is None:
        return
    names = [*(one.bound for one in module.imports), *(one.name for one in module.scopes)]
    for name in dict.fromkeys(name for name in names if name.startswith(half[0]) and name != half[0]):
        for one in resolve_in(index, scope.path, name, ()):
            _note(found, one, WEIGHT_AT_CURSOR, f"{half[0]} may become {name}", "__init__")


def _note(found: dict[tuple[str, str], _Found], one: Definition, weight: float, why: str, member: str) -> None:
    if isinstance(one.symbol, (Field, Parameter)) or (isinstance(one.symbol, Function) and one.class_around):
        return  # it is told with its class or its function
    if isinstance(one.symbol, Variable) and one.outer:
        return  # a local name: its assignment stands in the scope
    known = found.setdefault((one.path, one.qualified), _Found(one, why=why))
    if isinstance(one.symbol, Function) and any(d.rpartition(".")[2] == "overload" for d in one.symbol.decorators):
        if one.symbol not in known.overloads:
            known.overloads.append(one.symbol)
        weight /= 2
    known.worth += weight
    if member:
        known.used.add(member)


def _second_order(index: Index, found: dict[tuple[str, str], _Found]) -> list[_Found]:
    """Return the workspace's classes that stand in the annotations of what was found."""
    second: dict[tuple[str, str], _Found] = {}
    for one in found.values():
        symbol = one.definition.symbol
        if not _in_workspace(index, one.definition.path):
            continue
        if isinstance(symbol, Function):
            annotations = [symbol.returns, *(parameter.annotation for parameter in symbol.parameters)]
        elif isinstance(symbol, Class):
            annotations = [field.annotation for field in symbol.fields]
        else:
            continue
        for annotation in filter(None, annotations):
            for owner in annotated_type(index, one.definition.path, annotation, one.definition.outer):
                key = (owner.path, owner.qualified)
                if key not in found and isinstance(owner.symbol, Class) and _in_workspace(index, owner.path):
                    known = second.setdefault(key, _Found(owner, why=f"{one.definition.name} has it in its signature"))
                    known.worth += WORTH_OF_SECOND_ORDER * min(one.worth, WEIGHT_AT_CURSOR)
    return list(second.values())


def _in_workspace(index: Index, path: str) -> bool:
    return index.is_open(path) or any(path.startswith(str(root) + os.sep) for root in index.roots)


def _not_told(index: Index, one: Definition, scope: Scope, last: int) -> str:
    """Return why a definition is not told, "" if it may be."""
    if isinstance(one.symbol, Import):
        return "what it imports was not found"
    if not isinstance(one.symbol, (Function, Class, Variable)):
        return "a module: what is used of it is told"
    if one.path == scope.path and scope.first <= one.line <= last:
        return "it stands in the scope itself"
    if index.is_private(one.path):
        return "its file is private: ignored by git or by a setting, or one of keys"
    if Path(one.path).name in ("builtins.pyi", "builtins.py"):
        return "a builtin: the model knows it"
    return ""


def _forms(index: Index, one: _Found) -> list[str]:
    symbol = one.definition.symbol
    if one.overloads:
        return overload_forms(one.overloads)
    if isinstance(symbol, Function):
        return function_forms(symbol)
    if isinstance(symbol, Class):
        # Of a library's class only what is used: the model has read the rest.
        return class_forms(symbol, one.used, only_used=not _in_workspace(index, one.definition.path))
    return variable_forms(symbol) if isinstance(symbol, Variable) else []


def _part(index: Index, one: _Found, text: str) -> Part:
    definition = one.definition
    worth = one.worth if _in_workspace(index, definition.path) else one.worth * WORTH_OF_LIBRARY
    return Part("interface", definition.qualified, definition.path, definition.line, text, one.why, worth)


def _old_versions(index: Index, scope: Scope, chain: list[Symbol], lines: list[str]) -> list[Wanted]:
    """Return the commented-out code that stands before the scope's function: an older version tells of intent."""
    module = index.module(scope.path)
    if module is None or not chain:
        return []
    name = ".".join(one.name for one in chain)
    found = []
    for block in module.comments:
        if block.before == name and block.end < scope.first:
            text = "\n".join(lines[block.start : block.end + 1]) + "\n"
            why = "an older version of the function"
            found.append(Wanted((Part("old version", name, scope.path, block.start, text, why, WORTH_OF_OLD_VERSION),)))
    return found
