"""What the index knows of one module: plain data, found by `extract`, read by `resolve` and by the rooms above.

Lines are 0-based and columns count code points from the line's start, as everywhere in the sidecar's inside. An extent
is the pair of its first and last line, both included. Texts of expressions (annotations, defaults, bases, values) are
the source's own, on one line; a long value is shortened, with `...` for what was left out, and stays an expression that
`ast.parse` accepts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

FORMAT = 3
"""Counts up when anything here or in `extract` changes; the store throws away what has another number."""

PLACEHOLDER = "_tiercel_"
"""The name that stands where one is still to be typed; it may appear in values and as a function's or class's name."""

ParameterKind: TypeAlias = Literal["positional_only", "normal", "var_positional", "keyword_only", "var_keyword"]
BindingKind: TypeAlias = Literal[
    "assign", "annotation", "augmented", "for", "with", "except", "walrus", "delete", "match", "type_alias"
]
FallbackKind: TypeAlias = Literal["mended", "partial", "lines"]


class Parameter(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One parameter; `annotation` and `default` are empty where there is none."""

    name: str
    kind: ParameterKind = "normal"
    annotation: str = ""
    default: str = ""


class Variable(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A name bound in a module, class or function, and the shape of what it is bound to.

    `value` is the expression it comes from: the assigned one; for a `for` the one iterated over, for a `with` the
    context manager, for an `except` the exception types, for a `match` the subject. `path` leads to it when it was
    unpacked: `a, (b, *c) = value` gives b (1, 0) and c (1, 1). A `for`'s and a `with`'s value stand for what comes out
    of it. `awaited`: `async for` or `async with`.
    """

    name: str
    line: int
    column: int
    annotation: str = ""
    value: str = ""
    kind: BindingKind = "assign"
    path: tuple[int, ...] = ()
    awaited: bool = False


class Field(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attribute of a class or of its instances.

    `method` names the method that sets it through its first parameter; empty for what stands in the class body.
    """

    name: str
    line: int
    column: int
    annotation: str = ""
    value: str = ""
    method: str = ""
    kind: BindingKind = "assign"
    path: tuple[int, ...] = ()
    awaited: bool = False


class Import(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One name that an import binds.

    `import a.b` binds `a` (module "a.b", name "", bound "a"); `import a.b as c` binds c to a.b itself.
    `from ..m import x as y`: level 2, module "m", name "x", bound "y". A star has name and bound "*".
    `condition` is "" at the top, "TYPE_CHECKING" under that test, "try" in a try statement, "if" under another test.
    """

    bound: str
    line: int
    column: int
    module: str
    name: str = ""
    level: int = 0
    condition: Literal["", "TYPE_CHECKING", "try", "if"] = ""
    alias: bool = False


class CommentedCode(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A block of comment lines that are code (`start` to `end`, included).

    `inside` or `before` name the function or class that it stands in or directly before, dotted from the module's top.
    `following` is the line of the next code after it.
    """

    start: int
    end: int
    following: int
    inside: str = ""
    before: str = ""


class Function(msgspec.Struct, frozen=True, array_like=True, tag="f", gc=False):
    """A function or method.

    `start` is the line of its first decorator, `line` that of `def`, `column` that of the `def` or `async` keyword,
    `body` the first line of its body, `end` its last line of code, `reach` the last line that belongs to it with the
    comments and blank lines that follow. `name_column` is the column of its name on `line`.
    `returned` are the expressions it returns, `yielded` those it yields. `bindings` are its local names besides its
    parameters, imports and nested definitions.
    """

    name: str
    line: int
    column: int
    name_column: int
    start: int
    body: int
    end: int
    reach: int
    is_async: bool = False
    decorators: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    doc: str = ""
    bindings: tuple[Variable, ...] = ()
    imports: tuple[Import, ...] = ()
    scopes: tuple[Function | Class, ...] = ()
    returned: tuple[str, ...] = ()
    yielded: tuple[str, ...] = ()
    global_names: tuple[str, ...] = ()
    nonlocal_names: tuple[str, ...] = ()

    def signature(self) -> str:
        """Return the `def` line as one line: annotations, defaults and return type, without the colon."""
        arrow = f" -> {self.returns}" if self.returns else ""
        return f"{'async ' if self.is_async else ''}def {self.name}({render_parameters(self.parameters)}){arrow}"


class Class(msgspec.Struct, frozen=True, array_like=True, tag="c", gc=False):
    """A class. Lines as in Function; `fields` in the order of the source, those of the body first.

    `scopes` are its methods (also properties and overloads, told by their decorators) and nested classes. `keywords`
    are those of the header, as `metaclass=ABCMeta`. `slots` is None where there is no literal `__slots__`.
    """

    name: str
    line: int
    column: int
    name_column: int
    start: int
    body: int
    end: int
    reach: int
    decorators: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    doc: str = ""
    fields: tuple[Field, ...] = ()
    imports: tuple[Import, ...] = ()
    scopes: tuple[Function | Class, ...] = ()
    slots: tuple[str, ...] | None = None

    def signature(self) -> str:
        """Return the class line without the colon."""
        inside = ", ".join([*self.bases, *self.keywords])
        return f"class {self.name}({inside})" if inside else f"class {self.name}"

    def methods(self) -> Iterator[Function]:
        """Yield the functions of the body, in the order of the source."""
        return (scope for scope in self.scopes if isinstance(scope, Function))


Scope: TypeAlias = Function | Class


class Fallback(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stretch of the file that did not parse as it is, and what was made of it.

    "mended": it parses with a placeholder, a closed bracket or a `pass` put in. "partial": without the lines that are
    broken. "lines": only its `def`, `class` and import lines are known. `line` is where the parser stopped.
    """

    kind: FallbackKind
    line: int
    reason: str


NEWER = "syntax newer than Python"
"""How the reason of a fallback begins that only a newer Python would not need."""


class Module(msgspec.Struct, frozen=True, array_like=True):
    """All that is known of one module. `exports` is None without a literal `__all__`.

    `exports_from` are the names of modules whose `__all__` this one's takes in. `calls` counts the call sites by
    the callee as written, {"self.repo.save": 2}; where they are, `calls.call_sites` finds in the text. `uses` counts
    attributes by the text of their receiver, {"self.repo": {"save": 2}}; a receiver that is a call, a subscript or a
    literal counts as "()".
    """

    doc: str = ""
    variables: tuple[Variable, ...] = ()
    imports: tuple[Import, ...] = ()
    scopes: tuple[Function | Class, ...] = ()
    exports: tuple[str, ...] | None = None
    exports_from: tuple[str, ...] = ()
    calls: dict[str, int] = msgspec.field(default_factory=dict)
    comments: tuple[CommentedCode, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    uses: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    lines: int = 0

    def functions(self) -> Iterator[Function]:
        """Yield the functions at the top of the module."""
        return (scope for scope in self.scopes if isinstance(scope, Function))

    def classes(self) -> Iterator[Class]:
        """Yield the classes at the top of the module."""
        return (scope for scope in self.scopes if isinstance(scope, Class))


Symbol: TypeAlias = Function | Class | Variable | Field | Parameter | Import | Module


def render_parameters(parameters: tuple[Parameter, ...]) -> str:
    """Return what stands between the parentheses of a `def`."""
    parts: list[str] = []
    star = False
    for position, parameter in enumerate(parameters):
        if parameter.kind == "keyword_only" and not star:
            parts.append("*")
            star = True
        prefix = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
        star = star or parameter.kind == "var_positional"
        text = prefix + parameter.name
        if parameter.annotation:
            text += f": {parameter.annotation}"
        if parameter.default:
            text += f" = {parameter.default}" if parameter.annotation else f"={parameter.default}"
        parts.append(text)
        following = parameters[position + 1].kind if position + 1 < len(parameters) else ""
        if parameter.kind == "positional_only" and following != "positional_only":
            parts.append("/")
    return ", ".join(parts)


def walk(scopes: tuple[Function | Class, ...], prefix: str = "") -> Iterator[tuple[str, Function | Class]]:
    """Yield every function and class with its dotted name from the module's top, outer before inner."""
    for scope in scopes:
        name = f"{prefix}{scope.name}"
        yield name, scope
        yield from walk(scope.scopes, f"{name}.")
