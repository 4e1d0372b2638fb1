"""What the names of a function are instances of, where the code or a framework's convention tells it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tiercel.index.definitions import Definition
from tiercel.index.resolve import resolve_in, told_type
from tiercel.index.symbols import Class, Field, Function, Parameter, Scope, Variable
from tiercel.index.workspace import Index

# Django: a manager's query gives instances of its model; so does the shortcut.
_QUERY = re.compile(r"(?P<model>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\.(?:objects|_default_manager)\.(?P<rest>.*)", re.DOTALL)
_SHORTCUT = re.compile(r"get_object_or_404\(\s*(?P<model>[^\W\d][\w.]*)")
_RELATION = re.compile(r"models\.(?:ForeignKey|OneToOneField)\(\s*(?:to=)?[\"']?(?P<model>[^\W\d][\w.]*)")
_FIELD = re.compile(r"(?:models\.)?\w*Field\(")
_ONE = re.compile(r"(?:.*\)\.)?(?:get|first|last|latest|earliest|create)\([^()]*(?:\([^()]*\)[^()]*)*\)$", re.DOTALL)


def type_of(index: Index, one: Definition, chain: Sequence[Scope]) -> Definition | None:
    """Return the class of which a parameter, variable or field is an instance; None where nothing tells it."""
    model = _named(one.symbol) if isinstance(one.symbol, (Variable, Field)) else None
    if isinstance(one.symbol, Field) and model is None and not one.symbol.annotation and _FIELD.match(one.symbol.value):
        return None  # the field's class describes a column, not what an instance holds
    told = next((found for found in told_type(index, one) if isinstance(found.symbol, Class)), None)
    if told is not None and model is None:
        return told
    if model is None:
        return None
    outer = chain if not isinstance(one.symbol, Field) else one.outer
    return next((found for found in resolve_in(index, one.path, model, outer) if isinstance(found.symbol, Class)), None)


def _named(variable: Variable | Field) -> str | None:
    """Return the model of which a Django query gives one instance or iterates over them, or that a field refers to."""
    relation = _RELATION.match(variable.value)
    if relation:
        return relation["model"]
    query = _QUERY.match(variable.value)
    if query and (variable.kind == "for" or _ONE.match(query["rest"])):
        return query["model"]
    shortcut = _SHORTCUT.match(variable.value)
    return shortcut["model"] if shortcut else None


def name_prefix(index: Index, path: str, chain: Sequence[Scope], line: int) -> str:
    """Return the comment that says what the enclosing function's parameters and locals are; "" if nothing is known.

    `# Context: function process_order, param request is HttpRequest instance, order is Order instance`
    """
    function = next((scope for scope in reversed(chain) if isinstance(scope, Function)), None)
    if function is None:
        return ""
    known: dict[str, str] = {}
    for parameter in function.parameters:
        found = type_of(index, Definition(path, parameter, tuple(chain)), chain)
        if found is not None and parameter.name not in ("self", "cls"):
            known[parameter.name] = f"param {parameter.name} is {found.name} instance"
    for variable in function.bindings:
        if variable.line < line and variable.name not in known:
            found = type_of(index, Definition(path, variable, tuple(chain)), chain)
            if found is not None:
                known[variable.name] = f"{variable.name} is {found.name} instance"
    return f"# Context: function {function.name}, {', '.join(known.values())}\n" if known else ""


def is_value(one: Definition) -> bool:
    """Tell whether a definition is a value's name, not a class, function or module."""
    return isinstance(one.symbol, (Variable, Field, Parameter))
