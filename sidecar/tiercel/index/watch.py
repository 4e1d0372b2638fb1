"""Changes on disk, gathered and told of in batches."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

from .ignore import is_never

log = logging.getLogger("tiercel.index")

QUIET = 0.2
"""Seconds without a change after which a batch is told of."""
LONGEST = 2.0
"""Seconds after which it is told of in any case."""
_CHANGES = frozenset({"created", "modified", "moved", "deleted"})


class Watcher:
    """Watches the roots of a workspace, by the system's notifications or, where those fail, by looking now and then.

    `changed(paths)` is called in the watcher's own thread, with files and folders in the order in which they changed,
    each once. Invariant: a change that was seen is told of within `LONGEST` seconds, once, and never after `stop`.
    """

    def __init__(self, roots: Sequence[Path], changed: Callable[[list[str]], None], poll_seconds: float = 10) -> None:
        self._roots = roots
        self._changed = changed
        self._poll_seconds = poll_seconds
        self._waiting: dict[str, None] = {}
        self._first = 0.0
        self._last = 0.0
        self._wake = threading.Condition()
        self._stopped = False
        self._observer: BaseObserver | None = None
        self._thread = threading.Thread(target=self._tell, name="tiercel-watch", daemon=True)

    @property
    def polling(self) -> bool:
        """Whether the disk is looked at now and then, because it cannot be watched."""
        return isinstance(self._observer, PollingObserver)

    def start(self) -> None:
        """Begin to watch. A system that cannot be watched is polled, with one warning."""
        try:
            self._observer = self._watching(Observer())
        except OSError as error:
            log.warning(
                "the workspace cannot be watched (%s); it is looked at every %s s instead. On Linux, raise "
                "fs.inotify.max_user_watches.",
                error.strerror or error,
                self._poll_seconds,
            )
            self._observer = self._watching(PollingObserver(timeout=self._poll_seconds))
        self._thread.start()

    def _watching(self, observer: BaseObserver) -> BaseObserver:
        try:
            for root in self._roots:
                observer.schedule(_Handler(str(root), self._saw), str(root), recursive=True)
            observer.start()
        except OSError:
            observer.unschedule_all()
            raise
        return observer

    def stop(self) -> None:
        """Stop watching; what was not told of yet is dropped."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(timeout=5)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=5)

    def _saw(self, path: str) -> None:
        now = time.monotonic()
        with self._wake:
            if not self._waiting:
                self._first = now
            self._last = now
            self._waiting[path] = None
            self._wake.notify_all()

    def _tell(self) -> None:
        while True:
            with self._wake:
                while not self._stopped and not self._waiting:
                    self._wake.wait()
                while not self._stopped and (left := self._time_left()) > 0:
                    self._wake.wait(left)
                if self._stopped:
                    return
                paths = list(self._waiting)
                self._waiting.clear()
            self._changed(paths)

    def _time_left(self) -> float:
        return min(self._last + QUIET, self._first + LONGEST) - time.monotonic()


class _Handler(FileSystemEventHandler):
    def __init__(self, root: str, saw: Callable[[str], None]) -> None:
        self._root = root
        self._saw = saw

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type not in _CHANGES or (event.is_directory and event.event_type == "modified"):
            return
        for path in (event.src_path, event.dest_path):
            name = os.fsdecode(path)
            told = event.is_directory or name.endswith((".py", ".pyi", ".gitignore", "pyvenv.cfg"))
            if name and told and not is_never(os.path.relpath(name, self._root)):
                self._saw(name)
