"""From a bare name to its definitions, across files, as Python would look it up, without running anything.

Scopes first (function, enclosing functions, module, builtins), then along imports to where the name is defined: through
re-exports, stars and packages. Every step is remembered while a name is followed, so that cycles end; a name is
followed through at most `DEEPEST` steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .definitions import Definition, in_module, in_scope
from .find import Found
from .scope import in_header
from .symbols import Class, Function, Import, Module, Parameter, Scope
from .workspace import Index

DEEPEST = 40
Seen: TypeAlias = frozenset[tuple[str, str]]
NOTHING: Seen = frozenset()


def resolve_name(
    index: Index, path: str, name: str, chain: Sequence[Scope], line: int | None = None, seen: Seen = NOTHING
) -> tuple[Definition, ...]:
    """Return what a bare name stands for inside the functions and classes of `chain`; imports are followed.

    Of several bindings in a function, the last one before `line` comes first.
    """
    module = index.module(path)
    if module is None:
        return ()
    scopes = list(chain)
    if scopes and line is not None and in_header(scopes[-1], line):
        scopes.pop()
    at_module = False
    for depth in range(len(scopes) - 1, -1, -1):
        scope = scopes[depth]
        if isinstance(scope, Class) and depth != len(scopes) - 1:
            continue  # a class body's names are not seen by the functions in it
        if isinstance(scope, Function) and name in scope.global_names:
            at_module = True
            break
        if isinstance(scope, Function) and name in scope.nonlocal_names:
            continue
        found = in_scope(path, scope, scopes[:depth], name)
        if found:
            return follow_all(index, _nearest_first(found, line), seen)
    found_there = module_attribute(index, path, name, seen)
    if found_there or at_module:
        return found_there
    if len(scopes) < len(chain):  # in a header: a parameter's own name
        own = [d for d in in_scope(path, chain[-1], chain[:-1], name) if isinstance(d.symbol, Parameter)]
        if own:
            return tuple(own)
    builtins = index.find("builtins")
    return module_attribute(index, builtins.file, name, seen) if builtins is not None and builtins.file != path else ()


def _nearest_first(found: list[Definition], line: int | None) -> list[Definition]:
    if line is None or len(found) < 2:
        return found
    return sorted(found, key=lambda one: (one.line > line, -one.line if one.line <= line else one.line))


def module_attribute(index: Index, path: str, name: str, seen: Seen = NOTHING) -> tuple[Definition, ...]:
    """Return what a module binds a name to, imports followed; () if it does not, as far as is known."""
    module = index.module(path)
    if module is None or (path, name) in seen or len(seen) > DEEPEST:
        return ()
    seen |= {(path, name)}
    found = follow_all(index, in_module(path, module, name), seen)
    if found:
        return found
    for imported in module.imports:
        if imported.bound == "*":
            target = imported_module(index, path, imported)
            if target is not None and target.file and exported(index, target.file, name):
                found = module_attribute(index, target.file, name, seen)
                if found:
                    return found
    return ()


def follow_all(index: Index, definitions: Sequence[Definition], seen: Seen = NOTHING) -> tuple[Definition, ...]:
    """Replace imports by what they import; one that leads nowhere stays, unless another leads somewhere."""
    followed = [(one, follow(index, one, seen)) for one in definitions]
    found = [end for _, ends in followed for end in ends]
    if not found:
        found = [one for one, _ in followed if not (isinstance(one.symbol, Import) and _self_import(index, one))]
    return unique(found)


def _self_import(index: Index, one: Definition) -> bool:
    target = imported_module(index, one.path, one.symbol) if isinstance(one.symbol, Import) else None
    return target is not None and target.file == one.path


def follow(index: Index, definition: Definition, seen: Seen = NOTHING) -> tuple[Definition, ...]:
    """Return what an import imports, () if it is not found; any other definition is returned as it is."""
    imported = definition.symbol
    if not isinstance(imported, Import):
        return (definition,)
    target = imported_module(index, definition.path, imported)
    if target is None:
        return ()
    if not imported.name:
        return (module_definition(index, target),)
    if target.file == definition.path:  # `from . import x` in a package's __init__ means its submodule
        submodule = index.finder.child(target, imported.name)
        if submodule is not None:
            return (module_definition(index, submodule),)
    return member_of_module(index, target, imported.name, seen)


def imported_module(index: Index, path: str, imported: Import) -> Found | None:
    """Return the module that an import names: of `import a.b`, which binds `a`, that is a."""
    if imported.level:
        return index.finder.relative(imported.module, imported.level, path)
    name = imported.module
    if not imported.name and not imported.alias:
        name = name.partition(".")[0]
    return index.find(name, path)


def module_definition(index: Index, found: Found) -> Definition:
    """Return the definition that stands for a module or a namespace package."""
    module = (index.module(found.file) if found.file else None) or Module()
    return Definition(found.file, module, (), found.name, found.folders)


def member_of_module(index: Index, found: Found, name: str, seen: Seen = NOTHING) -> tuple[Definition, ...]:
    """Return what `module.name` stands for: what the module binds, else its submodule of that name."""
    if found.file:
        attributes = module_attribute(index, found.file, name, seen)
        if attributes:
            return attributes
    if not found.folders:
        return ()
    submodule = index.finder.child(found, name)
    return (module_definition(index, submodule),) if submodule is not None else ()


def exported(index: Index, path: str, name: str, seen: Seen = NOTHING) -> bool:
    """Tell whether `from module import *` brings a name."""
    module = index.module(path)
    if module is None or (path, name) in seen:
        return False
    for imported in module.imports:
        if imported.bound == "__all__":
            target = imported_module(index, path, imported)
            return target is not None and exported(index, target.file, name, seen | {(path, name)})
    if module.exports is None:
        return not seen and not name.startswith("_")
    if name in module.exports:
        return True
    for other in module.exports_from:
        head, *rest = other.split(".")
        found = resolve_name(index, path, head, ())
        for part in rest:
            modules = [one for one in found if isinstance(one.symbol, Module)]
            found = tuple([m for one in modules for m in member_of_module(index, found_module(one), part)])
        for one in found:
            if isinstance(one.symbol, Module) and exported(index, one.path, name, seen | {(path, name)}):
                return True
    return False


def found_module(definition: Definition) -> Found:
    """Return the module that a definition stands for."""
    return Found(definition.module, definition.path, definition.folders)


def unique(found: Sequence[Definition]) -> tuple[Definition, ...]:
    """Return the definitions without those that stand at the same place as one before."""
    places: dict[tuple[str, int, int, str], Definition] = {}
    for one in found:
        places.setdefault((one.path, one.line, one.column, one.name), one)
    return tuple(places.values())
