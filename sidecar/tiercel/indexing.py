"""Keeps the index of a workspace fresh in the background: the first indexing, then what changes on disk."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from .index.cold import fill, refresh
from .index.store import Store, store_of
from .index.watch import Watcher
from .index.workspace import Index
from .settings import IndexSettings

log = logging.getLogger("tiercel.index")


class Indexing:
    """The index of the editor's workspace, filled by one thread and kept fresh by a watcher.

    Invariant: the store is used by the filling thread until that has ended, and by the watcher's thread afterwards.
    """

    def __init__(self, roots: Sequence[Path], settings: IndexSettings, on_progress: Callable[[int, int], None]) -> None:
        self.index = Index(roots, settings)
        self._on_progress = on_progress
        self._cancelled = threading.Event()
        self._watcher: Watcher | None = None
        self._thread = threading.Thread(target=self._run, name="indexing", daemon=True)

    def start(self) -> None:
        """Begin to index; what is known is served from the first file on."""
        self._thread.start()

    def stop(self) -> None:
        """Give up what is being done."""
        self._cancelled.set()
        if self._watcher is not None:
            self._watcher.stop()

    def _run(self) -> None:
        if not self.index.roots:
            return
        store = self._store()
        # Watched from before the first look at the disk: a change in between is then told of, at worst twice.
        changes: list[str] = []
        filled = threading.Event()

        def changed(paths: list[str]) -> None:
            if filled.is_set():
                refresh(self.index, store, paths)
            else:
                changes.extend(paths)

        self._watcher = Watcher(self.index.roots, changed, self.index.settings.poll_seconds)
        self._watcher.start()
        report = fill(self.index, store, self._on_progress, self._cancelled)
        if self._cancelled.is_set():
            return
        log.info("indexed %d files in %.1f s (%d of them kept)", report.files, report.seconds, report.kept)
        filled.set()
        if changes:
            refresh(self.index, store, changes)

    def _store(self) -> Store | None:
        try:
            return store_of(self.index.roots)
        except (OSError, sqlite3.Error) as error:
            log.warning("the index cannot be kept for the next start: %s", error)
            return None
