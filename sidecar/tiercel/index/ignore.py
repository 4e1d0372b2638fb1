"""Which files of a workspace are looked at: not what git ignores, environments, caches and other people's code."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from tiercel.settings import IndexSettings

log = logging.getLogger("tiercel.index")

_NEVER = frozenset(
    {"node_modules", "__pycache__", "site-packages", ".git", ".hg", ".svn", ".tox", ".nox", ".mypy_cache",
     ".ruff_cache", ".pytest_cache", ".hypothesis", ".ipynb_checkpoints", ".eggs"}
)  # fmt: skip
_SECRET = (
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "id_rsa*",
    "id_ed25519*",
    ".env",
    ".env.*",
    "*.keystore",
    ".netrc",
    ".pypirc",
)


class Ignore:
    """The rules of a workspace's roots: nested .gitignore files, .git/info/exclude and the settings' patterns.

    Invariant: what is remembered of a folder's .gitignore is what it held when `forget` was last told of it.
    """

    def __init__(self, roots: Sequence[Path], settings: IndexSettings) -> None:
        self._roots = [str(root).rstrip(os.sep) for root in roots]
        self._excluded = GitIgnoreSpec.from_lines(settings.exclude)
        self._secret = GitIgnoreSpec.from_lines(_SECRET)
        self._specs: dict[str, GitIgnoreSpec | None] = {}

    def walk(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """Yield the Python files below a folder of the workspace that are not ignored."""
        if folder not in self._roots and self.is_ignored(folder, is_folder=True):
            return
        waiting = [folder.rstrip(os.sep)]
        while waiting:
            current = waiting.pop()
            try:
                with os.scandir(current) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                log.warning("%s cannot be listed: %s", current, error.strerror)
                continue
            rules = self._rules(current)
            for entry in listed:
                if entry.is_dir(follow_symlinks=False):
                    if not self._folder_is_out(entry.path, entry.name) and not _matches(rules, entry.path, True):
                        waiting.append(entry.path)
                elif entry.name.endswith((".py", ".pyi")) and not _matches(rules, entry.path, False):
                    yield entry

    def is_ignored(self, path: str, is_folder: bool = False) -> bool:
        """Tell whether a path is left out, by itself or with a folder above it. True outside the roots."""
        root = self._root_of(path)
        if root is None:
            return True
        current = root
        parts = os.path.relpath(path, root).split(os.sep)
        for position, part in enumerate(parts):
            rules = self._rules(current)
            current = os.path.join(current, part)
            folder = position + 1 < len(parts) or is_folder
            if (folder and self._folder_is_out(current, part)) or _matches(rules, current, folder):
                return True
        return False

    def is_private(self, path: str) -> bool:
        """Tell whether a file's text must never leave it: git ignores it, or its name is that of keys and secrets."""
        return self.is_secret(path) or (self._root_of(path) is not None and self.is_ignored(path))

    def is_secret(self, path: str) -> bool:
        """Tell whether a file has a name that is usual for keys and secrets."""
        return self._secret.match_file(os.path.basename(path))

    def forget(self, paths: Iterable[str]) -> None:
        """Read the .gitignore files among these paths, and those below them, again when they are next needed."""
        for path in paths:
            folder = os.path.dirname(path) if os.path.basename(path) == ".gitignore" else path
            for known in [known for known in self._specs if known == folder or known.startswith(folder + os.sep)]:
                del self._specs[known]

    def _root_of(self, path: str) -> str | None:
        roots = [root for root in self._roots if path == root or path.startswith(root + os.sep)]
        return max(roots, key=len) if roots else None

    def _folder_is_out(self, path: str, name: str) -> bool:
        return name in _NEVER or os.path.exists(os.path.join(path, "pyvenv.cfg"))

    def _rules(self, folder: str) -> list[tuple[str, GitIgnoreSpec]]:
        """Return the rules that hold in a folder, the outermost first, each with the folder it is relative to."""
        rules: list[tuple[str, GitIgnoreSpec]] = []
        root = self._root_of(folder)
        if root is None:
            return rules
        if self._excluded.patterns:
            rules.append((root, self._excluded))
        current = root
        inside = os.path.relpath(folder, root)
        for part in ["", *([] if inside == "." else inside.split(os.sep))]:
            current = os.path.join(current, part) if part else current
            if current not in self._specs:
                self._specs[current] = _read(current)
            spec = self._specs[current]
            if spec is not None:
                rules.append((current, spec))
        return rules


def is_never(path: str) -> bool:
    """Tell whether a path lies in a folder that is left out in every workspace."""
    return any(part in _NEVER for part in path.split(os.sep))


def _matches(rules: list[tuple[str, GitIgnoreSpec]], path: str, is_folder: bool) -> bool:
    """Tell whether the rules leave a path out: the innermost .gitignore that says anything decides."""
    for base, spec in reversed(rules):
        result = spec.check_file(os.path.relpath(path, base) + ("/" if is_folder else ""))
        if result.include is not None:
            return result.include
    return False


def _read(folder: str) -> GitIgnoreSpec | None:
    lines: list[str] = []
    for name in (os.path.join(".git", "info", "exclude"), ".gitignore"):
        file = os.path.join(folder, name)
        if os.path.isfile(file):
            try:
                with open(file, encoding="utf-8", errors="replace") as stream:
                    lines += stream.read().splitlines()
            except OSError as error:
                log.warning("%s cannot be read: %s", file, error.strerror)
    return GitIgnoreSpec.from_lines(lines) if lines else None
