"""The index on disk, so that the next start reads only what changed since."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from tiercel.paths import cache_dir

from .files import Indexed
from .symbols import FORMAT

log = logging.getLogger("tiercel.index")

_VERSION = f"{FORMAT} {sys.version_info.major}.{sys.version_info.minor}"
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, modified INTEGER, size INTEGER, digest BLOB, names BLOB, count INTEGER, fallbacks BLOB,
    symbols BLOB);
"""
_pack = msgspec.msgpack.Encoder().encode
_names = msgspec.msgpack.Decoder(tuple[str, ...]).decode
_fallbacks = msgspec.msgpack.Decoder(dict[str, int]).decode


class Store:
    """The indexed files of one workspace in one sqlite3 file.

    Invariant: everything in it was written by this format and this Python version; a file of another version, or one
    that sqlite3 or msgpack cannot read, is thrown away and begun anew. Used from one thread at a time.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = self._open()
        except (sqlite3.Error, OSError) as error:
            self._begin_anew(error)

    def load(self) -> Iterator[Indexed]:
        """Yield every file that is kept, as it was indexed; nothing, if what is kept cannot be read."""
        if self._connection is None:
            return
        try:
            rows = self._connection.execute(
                "SELECT path, modified, size, digest, names, symbols, count, fallbacks FROM files"
            )
            for path, modified, size, digest, names, symbols, count, fallbacks in rows:
                yield Indexed(path, modified, size, digest, _names(names), symbols, count, _fallbacks(fallbacks))
        except (sqlite3.Error, msgspec.MsgspecError, TypeError) as error:
            self._begin_anew(error)

    def save(self, files: Sequence[Indexed]) -> None:
        """Keep files; one without symbols only gets its new time of change."""
        new = [
            (f.path, f.modified, f.size, f.digest, _pack(f.names), f.count, _pack(f.fallbacks), f.symbols)
            for f in files
            if f.symbols is not None
        ]
        touched = [(f.modified, f.size, f.path) for f in files if f.symbols is None]
        self._write("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", new)
        self._write("UPDATE files SET modified = ?, size = ? WHERE path = ?", touched)

    def remove(self, paths: Iterable[str]) -> None:
        """Forget files."""
        self._write("DELETE FROM files WHERE path = ?", [(path,) for path in paths])

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if self._connection is None or not rows:
            return
        try:
            with self._connection:
                self._connection.executemany(statement, rows)
        except sqlite3.OperationalError as error:  # the disk is full, or another window is writing
            log.warning("%s was not written: %s", self.file, error)
        except sqlite3.DatabaseError as error:
            self._begin_anew(error)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.file, timeout=5, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")  # what is lost is indexed again
            connection.executescript(_TABLES)
            version = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
            if version is None or version[0] != _VERSION:
                with connection:
                    connection.execute("DELETE FROM files")
                    connection.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", (_VERSION,))
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _begin_anew(self, error: Exception) -> None:
        log.warning("%s cannot be used (%s): the workspace is indexed anew", self.file, error)
        self.close()
        try:
            for suffix in ("", "-wal", "-shm", "-journal"):
                self.file.with_name(self.file.name + suffix).unlink(missing_ok=True)
            self._connection = self._open()
        except (sqlite3.Error, OSError) as again:
            log.warning("%s cannot be made (%s): nothing is kept for the next start", self.file, again)
            self._connection = None


def store_of(roots: Sequence[Path]) -> Store:
    """Return the store of a workspace in the user's cache directory. Raises OSError if that cannot be made."""
    name = hashlib.blake2b("\n".join(str(root) for root in roots).encode(), digest_size=12).hexdigest()
    return Store(cache_dir("index") / f"{name}.sqlite3")
