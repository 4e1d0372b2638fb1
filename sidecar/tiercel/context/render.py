"""Interfaces: a callable as its signature, a class as its fields and its methods' signatures, a constant by its value.

Each is offered in several forms, the fullest first, so that what does not fit can be shortened before it is dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from tiercel.index.symbols import Class, Field, Function, Variable

LONGEST_VALUE = 80
INDENT = "    "


def function_forms(function: Function) -> list[str]:
    """Return a function's interface: with its docstring's first line, without it, and without defaults."""
    head = _decorated(function)
    forms = []
    if function.doc:
        forms.append(f"{head}:\n{INDENT}{_docstring(function.doc)}\n")
    forms += [f"{head}: ...\n", f"{_decorated(_without_defaults(function))}: ...\n"]
    return list(dict.fromkeys(forms))


def overload_forms(overloads: Sequence[Function]) -> list[str]:
    """Return the signatures of a function's overloads."""
    return ["".join(f"{one.signature()}: ...\n" for one in overloads)]


def class_forms(owner: Class, used: Collection[str], *, only_used: bool = False) -> list[str]:
    """Return a class's interface: all of it, without docstring, without defaults, fields alone, used fields alone.

    `used` are the members that the code at hand uses: private ones among them are shown, too. `only_used`: nothing but
    these, and nothing at all if none of them is the class's own.
    """
    fields = fields_of(owner, used, only=only_used)
    methods = [m for m in owner.methods() if (m.name in used if only_used else _is_shown(m.name, used))]
    methods = [method for method in methods if not _is_property(method)]
    signatures = [f"{_decorated(method)}: ..." for method in methods]
    plain = [f"{_decorated(_without_defaults(method))}: ..." for method in methods]
    if only_used and not (fields or signatures):
        return []
    doc = [_docstring(owner.doc)] if owner.doc and not only_used else []
    chosen = fields_of(owner, used, only=True)
    head = f"{owner.signature()}:"
    for name in owner.decorators:
        if "dataclass" in name or "define" in name or "attrs" in name:
            head = f"@{name}\n{head}"
    bodies = [
        [*doc, *fields, *signatures],
        [*fields, *signatures],
        [*fields, *plain],
        fields or plain,
        chosen or fields,
    ]
    return list(dict.fromkeys(_block(head, body) for body in bodies if body or not only_used))


def fields_of(owner: Class, used: Collection[str] = (), *, only: bool = False) -> list[str]:
    """Return a class's fields, one line each, and its properties as fields; `only`: those that are used."""
    lines: dict[str, str] = {}
    for field in owner.fields:
        if field.name not in lines and (field.name in used if only else _is_shown(field.name, used)):
            lines[field.name] = _field(field, owner)
    for method in owner.methods():
        if (
            _is_property(method)
            and method.name not in lines
            and (method.name in used if only else _is_shown(method.name, used))
        ):
            lines[method.name] = f"{method.name}: {method.returns}" if method.returns else method.name
    return list(lines.values())


def variable_forms(variable: Variable | Field) -> list[str]:
    """Return a constant by its value if that is short, else by its annotation; [] if neither says anything."""
    if variable.kind not in ("assign", "annotation"):
        return []
    annotation = f": {variable.annotation}" if variable.annotation else ""
    forms = []
    if variable.value and len(variable.value) <= LONGEST_VALUE and not variable.path:
        forms.append(f"{variable.name}{annotation} = {variable.value}\n")
    if annotation:
        forms.append(f"{variable.name}{annotation}\n")
    return forms


def _is_property(method: Function) -> bool:
    return any(d.rpartition(".")[2] in ("property", "cached_property") for d in method.decorators)


def _field(field: Field, owner: Class) -> str:
    annotation = f": {field.annotation}" if field.annotation else ""
    if field.method and not annotation:
        given = next((method for method in owner.methods() if method.name == field.method), None)
        for parameter in given.parameters if given is not None else ():
            if parameter.name == field.value and parameter.annotation:
                return f"{field.name}: {parameter.annotation}"
    if not field.value or field.path or len(field.value) > LONGEST_VALUE or field.kind not in ("assign", "annotation"):
        return f"{field.name}{annotation or ' = ...'}"
    return f"{field.name}{annotation} = {field.value}"


def _is_shown(name: str, used: Collection[str]) -> bool:
    return not name.startswith("_") or name in used


def _decorated(function: Function) -> str:
    shown = [d for d in function.decorators if d.rpartition(".")[2] in ("property", "staticmethod", "classmethod")]
    return "".join(f"@{decorator}\n" for decorator in shown) + function.signature()


def _without_defaults(function: Function) -> Function:
    parameters = tuple(
        msgspec.structs.replace(p, default="...") if p.default and p.default != "None" else p
        for p in function.parameters
    )
    return msgspec.structs.replace(function, parameters=parameters)


def _docstring(doc: str) -> str:
    return f'"""{doc}"""'


def _block(head: str, body: list[str]) -> str:
    lines = [line for item in body for line in item.split("\n")] or ["..."]
    return head + "\n" + "".join(f"{INDENT}{line}\n" for line in lines)
