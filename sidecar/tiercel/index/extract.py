"""From statements to symbols: one walk over the statements of a parsed text, never into its expressions.

Expressions are looked at only where one is bound to a name, and calls and attribute uses come from one regular
expression over the text: a walk over every node of every tree would take several times as long as the parser does.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Literal, TypeAlias

from .calls import calls_and_uses
from .commented import commented_code
from .conditions import static_test
from .source import Source
from .symbols import PLACEHOLDER, BindingKind, Class, Field, Function, Import, Module, Parameter, Scope, Variable

Condition: TypeAlias = Literal["", "TYPE_CHECKING", "try", "if"]
_DOC = 200
_NOT_IN_SCOPE = re.compile(r"[ \t\f]*(#.*)?$")


def extract(statements: Sequence[ast.stmt], source: Source, documented: bool = True) -> Module:
    """Return the symbols of the statements, with lines counted from the source's start.

    `documented`: the first statement may be the module's docstring.
    """
    scope = _Scope(source)
    scope.block(statements, "")
    calls, uses = calls_and_uses(source.text)
    return Module(
        doc=_doc(statements) if documented else "",
        variables=tuple(scope.variables),
        imports=tuple(scope.imports),
        scopes=tuple(scope.scopes),
        exports=tuple(scope.exports) if scope.exports is not None else None,
        exports_from=tuple(scope.exports_from),
        calls=calls,
        comments=commented_code(source, scope.scopes),
        uses=uses,
        lines=len(source.lines),
    )


class _Scope:
    """What is found in one module, class or function while its statements are walked."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.variables: list[Variable] = []
        self.imports: list[Import] = []
        self.scopes: list[Scope] = []
        self.exports: list[str] | None = None
        self.exports_from: list[str] = []
        self.returned: list[str] = []
        self.yielded: list[str] = []
        self.global_names: list[str] = []
        self.nonlocal_names: list[str] = []
        self.instance = ""  # the name of a method's first parameter
        self.method = ""
        self.fields: list[Field] = []  # set through it

    def block(self, statements: Sequence[ast.stmt], condition: Condition) -> None:
        walrus_lines = self.source.walrus_lines
        for statement in statements:
            if walrus_lines and _any_within(walrus_lines, statement):
                self.walruses(statement)
            handler = _HANDLERS.get(type(statement))
            if handler is not None:
                handler(self, statement, condition)

    # What binds names.

    def bind(
        self,
        target: ast.expr,
        value: ast.expr | None,
        kind: BindingKind = "assign",
        annotation: ast.expr | None = None,
        awaited: bool = False,
    ) -> None:
        """Record what an assignment to the target binds, also when it unpacks."""
        text = self.source.value(value) if value is not None else ""
        note = self.source.segment(annotation) if annotation is not None else ""
        self._bind(target, text, kind, note, (), awaited)

    def _bind(
        self, target: ast.expr, value: str, kind: BindingKind, note: str, path: tuple[int, ...], awaited: bool
    ) -> None:
        if isinstance(target, ast.Name):
            if target.id == PLACEHOLDER:
                return
            line, column = target.lineno - 1, self.source.position(target.lineno, target.col_offset)
            self.variables.append(Variable(target.id, line, column, note, value, kind, path, awaited))
        elif isinstance(target, ast.Attribute):
            if self.instance and isinstance(target.value, ast.Name) and target.value.id == self.instance:
                line, end = (target.end_lineno or target.lineno), target.end_col_offset or 0
                column = self.source.position(line, end) - len(target.attr)
                self.fields.append(Field(target.attr, line - 1, column, note, value, self.method, kind, path, awaited))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, element in enumerate(target.elts):
                self._bind(element, value, kind, note, (*path, position), awaited)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, kind, note, path, awaited)

    def walruses(self, statement: ast.stmt) -> None:
        """Record the names that `:=` binds in a statement's own expressions."""
        waiting: list[ast.AST] = [n for n in ast.iter_child_nodes(statement) if isinstance(n, (ast.expr, ast.withitem))]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.NamedExpr):
                self.bind(node.target, node.value, "walrus")
            waiting += ast.iter_child_nodes(node)

    def value_used(self, value: ast.expr | None) -> None:
        """Record what a statement's expression yields."""
        inner = value.value if isinstance(value, ast.Await) else value
        if isinstance(inner, ast.Yield):
            self.yielded.append(self.source.value(inner.value) if inner.value is not None else "None")
        elif isinstance(inner, ast.YieldFrom):
            self.yielded.append(f"*{self.source.value(inner.value)}")


def _assign(scope: _Scope, node: ast.Assign, condition: Condition) -> None:
    for target in node.targets:
        scope.bind(target, node.value)
        if isinstance(target, ast.Name) and target.id == "__all__":
            scope.exports = scope.exports or []
            _export(scope, node.value)
    scope.value_used(node.value)


def _annotated(scope: _Scope, node: ast.AnnAssign, condition: Condition) -> None:
    scope.bind(node.target, node.value, "assign" if node.value is not None else "annotation", node.annotation)
    if isinstance(node.target, ast.Name) and node.target.id == "__all__" and node.value is not None:
        scope.exports = scope.exports or []
        _export(scope, node.value)
    scope.value_used(node.value)


def _augmented(scope: _Scope, node: ast.AugAssign, condition: Condition) -> None:
    scope.bind(node.target, node.value, "augmented")
    if isinstance(node.target, ast.Name) and node.target.id == "__all__":
        scope.exports = scope.exports or []
        _export(scope, node.value)


def _export(scope: _Scope, value: ast.expr) -> None:
    """Take what is added to `__all__`: literal names, and other modules' `__all__`."""
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        for element in value.elts:
            if isinstance(element, ast.Constant) and isinstance(element.value, str) and scope.exports is not None:
                scope.exports.append(element.value)
            elif isinstance(element, ast.Starred):
                _export(scope, element.value)
    elif isinstance(value, ast.BinOp):
        _export(scope, value.left)
        _export(scope, value.right)
    elif isinstance(value, ast.Call) and value.args:
        _export(scope, value.args[0])
    elif isinstance(value, ast.Attribute) and value.attr == "__all__":
        scope.exports_from.append(scope.source.segment(value.value))


def _expression(scope: _Scope, node: ast.Expr, condition: Condition) -> None:
    value = node.value
    if isinstance(value, (ast.Yield, ast.YieldFrom, ast.Await)):
        scope.value_used(value)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        base = value.func.value
        if isinstance(base, ast.Name) and base.id == "__all__" and value.args:
            scope.exports = scope.exports or []
            argument = value.args[0]
            _export(scope, ast.List([argument], ast.Load()) if value.func.attr == "append" else argument)


def _import(scope: _Scope, node: ast.Import, condition: Condition) -> None:
    line, column = node.lineno - 1, scope.source.position(node.lineno, node.col_offset)
    for alias in node.names:
        bound = alias.asname or alias.name.partition(".")[0]
        if bound == PLACEHOLDER:
            continue
        scope.imports.append(
            Import(bound, line, column, alias.name, condition=condition, alias=alias.asname is not None)
        )


def _import_from(scope: _Scope, node: ast.ImportFrom, condition: Condition) -> None:
    for alias in node.names:
        line = alias.lineno - 1
        if PLACEHOLDER in (alias.name, alias.asname):
            continue
        column = scope.source.position(alias.lineno, alias.col_offset)
        scope.imports.append(
            Import(
                alias.asname or alias.name,
                line,
                column,
                node.module or "",
                alias.name,
                node.level,
                condition,
                alias.asname is not None,
            )
        )


def _if(scope: _Scope, node: ast.If | ast.While, condition: Condition) -> None:
    test = node.test
    if scope.source.version is not None:
        holds = static_test(test, scope.source.version)
        if holds is not None:
            scope.block(node.body if holds else node.orelse, condition)
            return
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    inner: Condition = "TYPE_CHECKING" if name == "TYPE_CHECKING" else condition or "if"
    scope.block(node.body, inner)
    scope.block(node.orelse, condition or "if")


def _for(scope: _Scope, node: ast.For | ast.AsyncFor, condition: Condition) -> None:
    scope.bind(node.target, node.iter, "for", awaited=isinstance(node, ast.AsyncFor))
    scope.block(node.body, condition)
    scope.block(node.orelse, condition)


def _with(scope: _Scope, node: ast.With | ast.AsyncWith, condition: Condition) -> None:
    for item in node.items:
        if item.optional_vars is not None:
            awaited = isinstance(node, ast.AsyncWith)
            scope.bind(item.optional_vars, item.context_expr, "with", awaited=awaited)
    scope.block(node.body, condition)


def _try(scope: _Scope, node: ast.Try | ast.TryStar, condition: Condition) -> None:
    scope.block(node.body, condition or "try")
    for handler in node.handlers:
        if handler.name:
            line = handler.lineno - 1
            text = scope.source.lines[line]
            found = re.search(rf"\bas\s+({re.escape(handler.name)})\b", text)
            column = found.start(1) if found else scope.source.column(handler.lineno, handler.col_offset)
            value = scope.source.value(handler.type) if handler.type is not None else ""
            scope.variables.append(Variable(handler.name, line, column, "", value, "except"))
        scope.block(handler.body, condition or "try")
    scope.block(node.orelse, condition or "try")
    scope.block(node.finalbody, condition)


def _match(scope: _Scope, node: ast.Match, condition: Condition) -> None:
    subject = scope.source.value(node.subject)
    for case in node.cases:
        for pattern in ast.walk(case.pattern):
            name = pattern.rest if isinstance(pattern, ast.MatchMapping) else getattr(pattern, "name", None)
            if isinstance(pattern, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)) and name and name != PLACEHOLDER:
                line = (pattern.end_lineno or pattern.lineno) - 1
                end = scope.source.column(line + 1, pattern.end_col_offset or 0)
                column = scope.source.lines[line].rfind(name, 0, end)
                scope.variables.append(Variable(name, line, max(column, 0), "", subject, "match"))
        scope.block(case.body, condition or "if")


def _return(scope: _Scope, node: ast.Return, condition: Condition) -> None:
    if node.value is not None:
        text = scope.source.value(node.value)
        if text not in scope.returned:
            scope.returned.append(text)


def _function(scope: _Scope, node: ast.FunctionDef | ast.AsyncFunctionDef, condition: Condition) -> None:
    inner = _Scope(scope.source)
    inner.block(node.body, "")
    scope.scopes.append(_make_function(node, inner))


def _make_function(node: ast.FunctionDef | ast.AsyncFunctionDef, inner: _Scope) -> Function:
    source = inner.source
    start, end, reach = _extent(node, source)
    column = source.position(node.lineno, node.col_offset)
    return Function(
        node.name,
        node.lineno - 1,
        column,
        _name_column(source, node.lineno, column, node.name),
        start,
        _first_line(node.body[0]),
        end,
        reach,
        isinstance(node, ast.AsyncFunctionDef),
        tuple([source.value(decorator) for decorator in node.decorator_list]),
        _parameters(node.args, source),
        source.segment(node.returns) if node.returns is not None else "",
        _doc(node.body),
        tuple(inner.variables),
        tuple(inner.imports),
        tuple(inner.scopes),
        tuple(inner.returned),
        tuple(inner.yielded),
        tuple(inner.global_names),
        tuple(inner.nonlocal_names),
    )


def _class(scope: _Scope, node: ast.ClassDef, condition: Condition) -> None:
    source = scope.source
    inner = _ClassScope(source)
    inner.block(node.body, "")
    start, end, reach = _extent(node, source)
    column = source.position(node.lineno, node.col_offset)
    fields = [
        Field(v.name, v.line, v.column, v.annotation, v.value, "", v.kind, v.path, v.awaited) for v in inner.variables
    ]
    scope.scopes.append(
        Class(
            node.name,
            node.lineno - 1,
            column,
            _name_column(source, node.lineno, column, node.name),
            start,
            _first_line(node.body[0]),
            end,
            reach,
            tuple([source.value(decorator) for decorator in node.decorator_list]),
            tuple([source.value(base) for base in node.bases]),
            tuple(
                [f"{k.arg}={source.value(k.value)}" if k.arg else f"**{source.value(k.value)}" for k in node.keywords]
            ),
            _doc(node.body),
            tuple(fields + inner.fields),
            tuple(inner.imports),
            tuple(inner.scopes),
            inner.slots(node.body),
        )
    )


class _ClassScope(_Scope):
    """A class body: its functions are methods, whose first parameter's attributes are its fields."""

    def method_found(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        inner = _Scope(self.source)
        arguments = node.args.posonlyargs + node.args.args
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
        inner.instance = arguments[0].arg if arguments and not static else ""
        inner.method = node.name
        inner.block(node.body, "")
        self.fields += inner.fields
        self.scopes.append(_make_function(node, inner))

    def slots(self, body: list[ast.stmt]) -> tuple[str, ...] | None:
        for node in body:
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == "__slots__" for t in node.targets
            ):
                value = node.value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    return (value.value,)
                elements = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", None)
                if elements is not None:
                    return tuple(e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str))
        return None


def _def(scope: _Scope, node: ast.FunctionDef | ast.AsyncFunctionDef, condition: Condition) -> None:
    if isinstance(scope, _ClassScope):
        scope.method_found(node)
    else:
        _function(scope, node, condition)


def _parameters(arguments: ast.arguments, source: Source) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    positional = arguments.posonlyargs + arguments.args
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults += arguments.defaults
    for position, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        only = position < len(arguments.posonlyargs)
        found.append(_parameter(argument, "positional_only" if only else "normal", default, source))
    if arguments.vararg is not None:
        found.append(_parameter(arguments.vararg, "var_positional", None, source))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(_parameter(argument, "keyword_only", default, source))
    if arguments.kwarg is not None:
        found.append(_parameter(arguments.kwarg, "var_keyword", None, source))
    return tuple(found)


def _parameter(
    argument: ast.arg,
    kind: Literal["positional_only", "normal", "var_positional", "keyword_only", "var_keyword"],
    default: ast.expr | None,
    source: Source,
) -> Parameter:
    note = source.segment(argument.annotation) if argument.annotation is not None else ""
    return Parameter(argument.arg, kind, note, source.value(default) if default is not None else "")


def _global(scope: _Scope, node: ast.Global, condition: Condition) -> None:
    scope.global_names += node.names


def _nonlocal(scope: _Scope, node: ast.Nonlocal, condition: Condition) -> None:
    scope.nonlocal_names += node.names


def _type_alias(scope: _Scope, node: ast.stmt, condition: Condition) -> None:
    name, value = getattr(node, "name", None), getattr(node, "value", None)
    if isinstance(name, ast.expr) and isinstance(value, ast.expr):
        scope.bind(name, value, "type_alias")


_HANDLERS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.If: _if,
    ast.While: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.Return: _return,
    ast.FunctionDef: _def,
    ast.AsyncFunctionDef: _def,
    ast.ClassDef: _class,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
}
if hasattr(ast, "TypeAlias"):  # `type X = …`, new in Python 3.12
    _HANDLERS[ast.TypeAlias] = _type_alias


def _any_within(lines: list[int], node: ast.stmt) -> bool:
    at = bisect_left(lines, node.lineno)
    return at < len(lines) and lines[at] <= (node.end_lineno or node.lineno)


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", None)
    return (decorators[0].lineno if decorators else node.lineno) - 1


def _extent(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, source: Source) -> tuple[int, int, int]:
    """Return the first line, the last line of code, and the last line before other code."""
    end = (node.end_lineno or node.lineno) - 1
    reach, lines = end, source.lines
    while reach + 1 < len(lines) and _NOT_IN_SCOPE.match(lines[reach + 1]):
        reach += 1
    return _first_line(node), end, reach


def _name_column(source: Source, lineno: int, column: int, name: str) -> int:
    found = source.lines[lineno - 1].find(name, column + 4)
    return source.position(lineno, 0) + found if found >= 0 else column


def _doc(statements: Sequence[ast.stmt]) -> str:
    """Return the first line of the docstring."""
    if statements and isinstance(statements[0], ast.Expr):
        value = statements[0].value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return cleandoc(value.value).strip().partition("\n")[0][:_DOC]
    return ""
