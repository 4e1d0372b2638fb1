"""What a name resolves to: a symbol and where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .symbols import Class, Function, Import, Module, Parameter, Scope, Symbol


@dataclass(frozen=True)
class Definition:
    """A symbol in a file. `outer` are the functions and classes around it, the outermost first.

    `symbol` is an Import only where what it imports was not found. A Module stands for a whole module; its `path` is
    empty for a namespace package. `module` is the dotted name of the module, where it is known.
    """

    path: str
    symbol: Symbol
    outer: tuple[Scope, ...] = ()
    module: str = ""
    folders: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that it defines; that of the module for a module."""
        if isinstance(self.symbol, Module):
            return self.module
        return self.symbol.bound if isinstance(self.symbol, Import) else self.symbol.name

    @property
    def qualified(self) -> str:
        """The dotted name from the module's top: `Order.total`."""
        return ".".join([*(scope.name for scope in self.outer), self.name])

    @property
    def line(self) -> int:
        """The 0-based line of its name; 0 for a module; for a parameter, that of its function."""
        if isinstance(self.symbol, Parameter):
            return self.outer[-1].line
        return 0 if isinstance(self.symbol, Module) else self.symbol.line

    @property
    def column(self) -> int:
        """The column of its name, in code points."""
        symbol = self.symbol
        if isinstance(symbol, (Function, Class)):
            return symbol.name_column
        return 0 if isinstance(symbol, (Module, Parameter)) else symbol.column

    @property
    def extent(self) -> tuple[int, int]:
        """Its first and last line, both included."""
        symbol = self.symbol
        if isinstance(symbol, (Function, Class)):
            return symbol.start, symbol.end
        if isinstance(symbol, Module):
            return 0, max(symbol.lines - 1, 0)
        return self.line, self.line

    @property
    def class_around(self) -> Class | None:
        """The class whose member it is."""
        return self.outer[-1] if self.outer and isinstance(self.outer[-1], Class) else None


def in_scope(path: str, scope: Scope, outer: Sequence[Scope], name: str) -> list[Definition]:
    """Return what binds a name in a function or class body, parameters first, else in the order of the source."""
    chain = (*outer, scope)
    found: list[Definition] = []
    if isinstance(scope, Function):
        found += [Definition(path, parameter, chain) for parameter in scope.parameters if parameter.name == name]
        found += [Definition(path, variable, chain) for variable in scope.bindings if variable.name == name]
    else:
        found += [Definition(path, field, chain) for field in scope.fields if field.name == name and not field.method]
    found += [Definition(path, inner, chain) for inner in scope.scopes if inner.name == name]
    found += [Definition(path, imported, chain) for imported in scope.imports if imported.bound == name]
    return found


def in_module(path: str, module: Module, name: str) -> list[Definition]:
    """Return what binds a name at the top of a module: definitions and imports before plain variables."""
    found = [Definition(path, scope) for scope in module.scopes if scope.name == name]
    found += [Definition(path, imported) for imported in module.imports if imported.bound == name]
    found += [Definition(path, variable) for variable in module.variables if variable.name == name]
    return found


def own_members(path: str, owner: Class, outer: Sequence[Scope]) -> Iterator[Definition]:
    """Yield what a class itself defines: methods and nested classes, fields, imports in its body."""
    chain = (*outer, owner)
    for scope in owner.scopes:
        yield Definition(path, scope, chain)
    for field in owner.fields:
        yield Definition(path, field, chain)
    for imported in owner.imports:
        yield Definition(path, imported, chain)
