"""From a dotted module name to its file, as the import system would look for it, without importing anything."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .environment import Environment

_FRESH = 2.0
"""Seconds for which the listing of a folder is believed without looking whether the folder has changed."""


@dataclass(frozen=True)
class Found:
    """A module: its file, empty for a namespace package, and the folders in which its submodules lie."""

    name: str
    file: str
    folders: tuple[str, ...] = ()
    library: bool = False

    @property
    def is_package(self) -> bool:
        """Whether it may have submodules."""
        return bool(self.folders)


class Finder:
    """Finds modules for files of a workspace.

    The workspace is searched before the environment: each root, its `src`, and the folder above the importing file's
    outermost package. Typeshed's stubs stand before the standard library's source, a package's stubs (`.pyi` beside it
    or in `<name>-stubs`) before its own: they have the types. Invariant: listings older than `_FRESH` seconds are
    used only if the folder's time of change is still the same.
    """

    def __init__(self, roots: Sequence[Path], environment: Environment) -> None:
        self.environment = environment
        self.roots = [str(root) for root in roots]
        self._listings: dict[str, tuple[float, int, dict[str, bool]]] = {}
        self._found: dict[tuple[str, str], tuple[float, Found | None]] = {}
        self._versions: dict[str, tuple[tuple[int, int], tuple[int, int]]] | None = None

    def find(self, name: str, importer: str = "") -> Found | None:
        """Return the module of an absolute dotted name, as the file `importer` would get it; None if there is none."""
        base = self.base(importer) if importer else ""
        key = (name, base)
        known = self._found.get(key)
        now = time.monotonic()
        if known is not None and now - known[0] < _FRESH:
            return known[1]
        found = self._search(name, base)
        if len(self._found) > 20_000:
            self._found.clear()
        self._found[key] = (now, found)
        return found

    def relative(self, module: str, level: int, importer: str) -> Found | None:
        """Return the module of a relative import (`level` dots, then `module`) in a file."""
        folder = os.path.dirname(importer)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        package = Found(os.path.basename(folder), self._init(folder), (folder,))
        return self._below(package, module.split(".") if module else [])

    def name_of(self, file: str) -> str:
        """Return the dotted name by which a file is imported."""
        folder, base = os.path.split(file)
        stem = base.removesuffix(".pyi").removesuffix(".py")
        parts = [] if stem == "__init__" else [stem]
        top = self.base(file)
        for root in sorted([*self.environment_folders(), *self._workspace_folders(top)], key=len, reverse=True):
            if root and (folder == root or folder.startswith(root.rstrip(os.sep) + os.sep)):
                inside = os.path.relpath(folder, root)
                packages = [] if inside == "." else inside.split(os.sep)
                return ".".join([*packages, *parts])
        return ".".join(parts) or os.path.basename(folder)

    def environment_folders(self) -> list[str]:
        """Return the folders of the environment, stubs last."""
        environment = self.environment
        folders = [str(folder) for folder in environment.site]
        return [*folders, *(str(f) for f in (environment.stdlib, environment.typeshed) if f is not None)]

    def base(self, file: str) -> str:
        """Return the folder above the outermost package that a file stands in."""
        folder = os.path.dirname(file)
        while self._has(folder, "__init__.py") or self._has(folder, "__init__.pyi"):
            above = os.path.dirname(folder)
            if above == folder:
                break
            folder = above
        return folder

    def submodules(self, found: Found) -> Iterator[str]:
        """Yield the names of a package's submodules."""
        seen: set[str] = set()
        for folder in found.folders:
            for name, is_folder in self._list(folder).items():
                stem = name.removesuffix(".pyi").removesuffix(".py") if not is_folder else name
                known = stem in seen or stem in ("__init__", "__pycache__")
                if stem.isidentifier() and not known and (is_folder or name.endswith((".py", ".pyi"))):
                    seen.add(stem)
                    yield stem

    def top_level(self, importer: str = "") -> Iterator[str]:
        """Yield the names that `import …` in a file could start with."""
        environment = self.environment
        folders = [*self._workspace_folders(self.base(importer) if importer else ""), *self.environment_folders()]
        yield from self.submodules(Found("", "", tuple(folders)))
        yield from environment.mapped

    def forget(self) -> None:
        """Believe no listing any more."""
        self._listings.clear()
        self._found.clear()

    def _workspace_folders(self, base: str) -> list[str]:
        folders = [base] if base else []
        for root in self.roots:
            folders += [root, os.path.join(root, "src")]
        return list(dict.fromkeys(folders))

    def _search(self, name: str, base: str) -> Found | None:
        head, *rest = name.split(".")
        for candidate in self._heads(head, base):
            found = self._below(candidate, rest)
            if found is not None:
                return found
        return None

    def _heads(self, head: str, base: str) -> Iterator[Found]:
        """Yield what a top-level name may be, the likeliest first; namespace packages after all others."""
        namespaces: list[str] = []
        environment = self.environment
        workspace = self._workspace_folders(base)
        for folder in workspace:
            found = self._in(folder, head)
            if found is not None and found.file:
                yield found
            elif found is not None:
                namespaces += found.folders
        if environment.typeshed is not None and self._in_version(head):
            found = self._in(str(environment.typeshed), head)
            if found is not None:
                yield found
        if head in environment.mapped:
            target = environment.mapped[head]
            yield Found(head, self._init(str(target)), (str(target),)) if target.is_dir() else Found(head, str(target))
        sites = [str(folder) for folder in environment.site]
        for folder in [*sites, *([str(environment.stdlib)] if environment.stdlib else [])]:
            stubs = os.path.join(folder, f"{head}-stubs")
            if self._has(folder, f"{head}-stubs"):
                yield Found(head, self._init(stubs), (stubs,))
            found = self._in(folder, head)
            if found is not None and found.file:
                yield found
            elif found is not None:
                namespaces += found.folders
        if namespaces:
            yield Found(head, "", tuple(dict.fromkeys(namespaces)))

    def _below(self, package: Found, names: Sequence[str]) -> Found | None:
        found: Found | None = package
        for name in names:
            if found is None or not found.folders:
                return None
            found = self.child(found, name)
        return found

    def child(self, package: Found, name: str) -> Found | None:
        """Return a package's submodule."""
        namespaces: list[str] = []
        for folder in package.folders:
            found = self._in(folder, name)
            if found is not None and found.file:
                return Found(f"{package.name}.{name}", found.file, found.folders)
            if found is not None:
                namespaces += found.folders
        return Found(f"{package.name}.{name}", "", tuple(namespaces)) if namespaces else None

    def _in(self, folder: str, name: str) -> Found | None:
        """Look for a module in one folder: a package, then a stub, then a source file, then a namespace package."""
        listing = self._list(folder)
        is_folder = listing.get(name)
        inner = os.path.join(folder, name)
        if is_folder:
            init = self._init(inner)
            if init:
                return Found(name, init, (inner,))
        for suffix in (".pyi", ".py"):
            if listing.get(name + suffix) is False:
                return Found(name, inner + suffix, (inner,) if is_folder else ())
        return Found(name, "", (inner,)) if is_folder else None

    def _init(self, folder: str) -> str:
        for name in ("__init__.pyi", "__init__.py"):
            if self._has(folder, name):
                return os.path.join(folder, name)
        return ""

    def _has(self, folder: str, name: str) -> bool:
        return name in self._list(folder)

    def _list(self, folder: str) -> dict[str, bool]:
        """Return the names in a folder, each with whether it is a folder; empty if it cannot be read."""
        now = time.monotonic()
        known = self._listings.get(folder)
        if known is not None and now - known[0] < _FRESH:
            return known[2]
        try:
            changed = os.stat(folder).st_mtime_ns
            if known is not None and known[1] == changed:
                self._listings[folder] = (now, changed, known[2])
                return known[2]
            with os.scandir(folder) as entries:
                names = {entry.name: entry.is_dir() for entry in entries}
        except OSError:
            changed, names = 0, {}
        self._listings[folder] = (now, changed, names)
        return names

    def _in_version(self, head: str) -> bool:
        """Tell whether the environment's Python has this module of the standard library."""
        if self._versions is None:
            self._versions = _read_versions(self.environment.typeshed)
        span = self._versions.get(head)
        return span is None or span[0] <= self.environment.version <= span[1]


def _read_versions(typeshed: Path | None) -> dict[str, tuple[tuple[int, int], tuple[int, int]]]:
    file = typeshed / "VERSIONS" if typeshed is not None else None
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file is not None and file.is_file() else []:
        name, _, span = line.partition("#")[0].partition(":")
        first, _, last = span.strip().partition("-")
        if first:
            found[name.strip()] = (_version(first), _version(last) if last else (99, 0))
    return found


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)
