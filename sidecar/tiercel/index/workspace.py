"""The index of a workspace: every module's symbols, fresh at every edit, for open documents and files alike."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tiercel.settings import IndexSettings

from .environment import Environment, find_environment
from .files import indexed, read_text, top_names, unpack
from .find import Finder, Found
from .ignore import Ignore
from .parse import ParsedModule, edited, merged, parsed, read
from .scope import enclosing, line_indent
from .source import split_lines
from .symbols import NEWER, Fallback, Module, Scope
from .uses import Uses

log = logging.getLogger("tiercel.index")

_DECODED = 512
"""Modules that are kept ready to use; the others are kept packed."""


class Index:
    """What is known of a workspace and, on demand, of the environment's modules. Paths are absolute strings.

    Invariant: `module(path)` of an open document is that of its text; of a file of the workspace, that of the file
    as `disk_changed` last told of it. May be read from several threads; each document is edited from one.
    """

    def __init__(
        self, roots: Sequence[Path], settings: IndexSettings | None = None, environment: Environment | None = None
    ) -> None:
        self.roots = [Path(os.path.abspath(root)) for root in roots]
        self.settings = settings or IndexSettings()
        self.environment = environment or find_environment(self.roots, self.settings.interpreter)
        self.finder = Finder(self.roots, self.environment)
        self.ignore = Ignore(self.roots, self.settings)
        self.uses = Uses()
        self._open: dict[str, ParsedModule] = {}
        self._packed: dict[str, bytes] = {}  # files of the workspace
        self._names: dict[str, tuple[str, ...]] = {}  # what they define at their top
        self._defined: dict[str, set[str]] = {}  # and where a name is defined
        self._ready: OrderedDict[str, Module] = OrderedDict()
        self._lock = threading.RLock()
        self._told_of_newer = False

    # Open documents.

    def open(self, path: str, text: str) -> None:
        """Take the text of a document that was opened; it counts, whatever the disk has."""
        self._set_open(path, parsed(text))

    def edit(self, path: str, text: str, start: int, end: int, new_length: int) -> None:
        """Follow an edit: `[start:end]` of the document's old text became `new_length` characters of `text`.

        Offsets in code points. A document that was not open is opened.
        """
        self.edits(path, text, [(start, end, new_length)])

    def edits(self, path: str, text: str, edits: Sequence[tuple[int, int, int]]) -> None:
        """Follow edits made one after the other, which led to `text`: each (start, end, new length) as in `edit`."""
        previous = self._open.get(path)
        if previous is None or not edits:
            self.open(path, text)
            return
        start, end, new_length = merged(edits)
        if len(previous.text) + new_length - (end - start) != len(text):
            log.warning("%s: the edits do not lead to the text that came with them; it is parsed anew", path)
            self.open(path, text)
            return
        self._set_open(path, edited(previous, text, start, end, new_length))

    def close(self, path: str) -> None:
        """Forget the text of a document: from now on the file on disk counts."""
        with self._lock:
            self._open.pop(path, None)
        self.disk_changed([path])

    def _set_open(self, path: str, module: ParsedModule) -> None:
        with self._lock:
            self._open[path] = module
        for chunk, first in zip(module.chunks, module.first_lines, strict=True):
            for fallback in chunk.symbols.fallbacks:
                log.debug("%s:%d: %s: %s", path, first + fallback.line + 1, fallback.kind, fallback.reason)
                if fallback.reason.startswith(NEWER):
                    self.tell_of_newer_syntax(path, first + fallback.line + 1)

    def tell_of_newer_syntax(self, path: str, line: int | None = None) -> None:
        """Say, once, that the workspace has syntax that this Python does not know."""
        if not self._told_of_newer:
            self._told_of_newer = True
            log.warning(
                "%s has syntax that Python %d.%d does not know: such statements are understood in part. Let Tiercel "
                "run on a newer Python to know all of them.",
                path if line is None else f"{path}:{line}",
                *sys.version_info[:2],
            )

    def fallbacks(self) -> dict[str, tuple[Fallback, ...]]:
        """Return what did not parse as it is in the open documents, by path."""
        modules = {path: module.module for path, module in list(self._open.items())}
        return {path: module.fallbacks for path, module in modules.items() if module.fallbacks}

    def is_open(self, path: str) -> bool:
        """Tell whether a path is an open document."""
        return path in self._open

    def open_paths(self) -> list[str]:
        """Return the paths of the open documents."""
        return list(self._open)

    def parsed(self, path: str) -> ParsedModule | None:
        """Return an open document with its trees; None if it is not open."""
        return self._open.get(path)

    def text(self, path: str) -> str | None:
        """Return the text of an open document or of a file; None if there is none that can be read."""
        opened = self._open.get(path)
        return opened.text if opened is not None else read_text(path, self.settings.max_file_size)

    # Files.

    def disk_changed(self, paths: Iterable[str]) -> None:
        """Read again the files at these paths, created, changed or deleted; folders stand for all that is in them."""
        present, gone = self.look_at(paths)
        for path in gone:
            self.remove(path)
        for path in present:
            file = indexed(path, self.settings.max_file_size)
            if file is None or file.symbols is None:
                self.remove(path)
            else:
                self.put(path, file.symbols, file.names)

    def look_at(self, paths: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the files to read after changes at these paths, and the known ones that are gone or left out now."""
        listed = [_folder_of_rules(path) for path in paths]
        self.ignore.forget(listed)
        self.finder.forget()
        present: dict[str, None] = {}
        gone: dict[str, None] = {}
        for path in dict.fromkeys(listed):
            inside = path.rstrip(os.sep) + os.sep
            walked: set[str] = set()
            if os.path.isdir(path):
                walked = {entry.path for entry in self.ignore.walk(path)}
                present.update(dict.fromkeys(walked))
            elif path.endswith((".py", ".pyi")) and os.path.isfile(path) and not self.ignore.is_ignored(path):
                present[path] = None
            elif path in self._packed or path in self._ready:
                gone[path] = None
            gone.update(dict.fromkeys(p for p in list(self._packed) if p.startswith(inside) and p not in walked))
        return list(present), list(gone)

    def put(self, path: str, packed: bytes, names: tuple[str, ...]) -> None:
        """Take the packed symbols of a file of the workspace and the names that it defines at its top."""
        with self._lock:
            self._ready.pop(path, None)
            self.uses.drop(path, self._packed.get(path))
            self._packed[path] = packed
            self.uses.add(path, packed)
            for name in self._names.get(path, ()):
                self._defined[name].discard(path)
            self._names[path] = names
            for name in names:
                self._defined.setdefault(name, set()).add(path)

    def remove(self, path: str) -> None:
        """Forget a file."""
        with self._lock:
            self._ready.pop(path, None)
            packed = self._packed.pop(path, None)
            self.uses.drop(path, packed)
            for name in self._names.pop(path, ()):
                self._defined[name].discard(path)

    def scan(self) -> None:
        """Index all files of the workspace, here and now."""
        self.disk_changed([str(root) for root in self.roots])

    # What is known.

    def module(self, path: str) -> Module | None:
        """Return what a file or an open document holds; None if there is no such Python file, or one that is too large.

        A file of the environment is read when it is first asked for.
        """
        opened = self._open.get(path)
        if opened is not None:
            return opened.module
        with self._lock:
            if path in self._ready:
                self._ready.move_to_end(path)
                return self._ready[path]
        packed = self._packed.get(path)
        module = unpack(path, packed) if packed is not None else None
        if module is None:
            module = self._read_library(path)
        if module is not None:
            with self._lock:
                self._ready[path] = module
                if len(self._ready) > _DECODED:
                    self._ready.popitem(last=False)
        return module

    def _read_library(self, path: str) -> Module | None:
        text = read_text(path, 4 * self.settings.max_file_size)
        if text is None:
            return None
        return read(text, self.environment.version if path.endswith(".pyi") else None)

    def paths(self) -> list[str]:
        """Return the indexed files of the workspace, and the open documents."""
        return list(dict.fromkeys([*self._packed, *self._open]))

    def packed_bytes(self) -> int:
        """Return the bytes that the workspace's files take, packed."""
        with self._lock:
            return sum(map(len, self._packed.values()))

    def is_private(self, path: str) -> bool:
        """Tell whether a file's text must never leave it: git ignores it, or its name is that of keys and secrets.

        Modules of the environment are not private, though it may lie in a folder of the workspace that git ignores.
        """
        for folder in self.finder.environment_folders():
            inside = path.startswith(folder.rstrip(os.sep) + os.sep)
            if inside and self.ignore.is_ignored(folder, is_folder=True):
                return self.ignore.is_secret(path)
        return self.ignore.is_private(path)

    def find(self, name: str, importer: str = "") -> Found | None:
        """Return the module of a dotted name as a file would import it."""
        return self.finder.find(name, importer)

    def defining(self, name: str) -> list[str]:
        """Return the files of the workspace that define a name at their top (a class, a function, a variable)."""
        with self._lock:
            paths = set(self._defined.get(name, ())) - set(self._open)
        opened = [path for path, module in list(self._open.items()) if name in top_names(module.module)]
        return sorted([*paths, *opened])

    def scopes_at(self, path: str, line: int, column: int) -> list[Scope]:
        """Return the functions and classes around a place (0-based line, code points), the outermost first."""
        module = self.module(path)
        if module is None:
            return []
        opened = self._open.get(path)
        if opened is not None:
            chunk, first = opened.chunk_at(line)
            lines = split_lines(chunk.text)
            row = lines[line - first] if line - first < len(lines) else ""
        else:
            lines = split_lines(self.text(path) or "")
            row = lines[line] if line < len(lines) else ""
        return enclosing(module, line, line_indent(row, column))


def _folder_of_rules(path: str) -> str:
    """Return the folder that a changed .gitignore or pyvenv.cfg tells of; any other path as it is."""
    return os.path.dirname(path) if os.path.basename(path) in (".gitignore", "pyvenv.cfg") else path
