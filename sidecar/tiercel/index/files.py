"""From a file on disk to its packed symbols: what a worker process does, and all that it has to import."""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from .parse import read
from .symbols import NEWER, Class, Function, Module

log = logging.getLogger("tiercel.index")

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Module).decode


class Indexed(msgspec.Struct, frozen=True, gc=False):
    """A file as the index keeps it. `symbols` is a packed Module, or None where the file's hash is the known one.

    `names` are what it defines at its top, `counts` its functions, classes and other symbols, `fallbacks` how often it
    fell back, by kind; "newer" among them counts those that only a newer Python would not need.
    """

    path: str
    modified: int
    size: int
    digest: bytes
    names: tuple[str, ...] = ()
    symbols: bytes | None = None
    count: int = 0
    fallbacks: dict[str, int] = {}


def top_names(module: Module) -> tuple[str, ...]:
    """Return the names that a module defines at its top, imports left out."""
    return tuple(dict.fromkeys([*(scope.name for scope in module.scopes), *(v.name for v in module.variables)]))


def read_text(path: str, limit: int) -> str | None:
    """Return the text of a Python file; None if it cannot be read, is no text or larger than `limit` bytes."""
    try:
        data = read_bytes(path, limit)
    except OSError as error:
        log.debug("%s cannot be read: %s", path, error.strerror)
        return None
    return None if data is None else decode(data)


def read_bytes(path: str, limit: int) -> bytes | None:
    """Return what a file holds; None if it is binary or larger than `limit` bytes. Raises OSError."""
    with open(path, "rb") as file:
        data = file.read(limit + 1)
    return None if len(data) > limit or b"\0" in data else data


def decode(data: bytes) -> str:
    """Decode as Python does: UTF-8, unless the first two lines name another encoding; what is wrong is replaced."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    found = _CODING.search(b"\n".join(data.split(b"\n", 2)[:2]))
    try:
        return data.decode(found[1].decode("ascii") if found else "utf-8", "replace")
    except (LookupError, UnicodeError):
        return data.decode("utf-8", "replace")


def indexed(path: str, limit: int, known: bytes = b"") -> Indexed | None:
    """Read and index a file; None as for `read_text`. `known`: the digest of the file when it was last indexed."""
    try:
        status = os.stat(path)
        data = read_bytes(path, limit)
    except OSError as error:
        log.debug("%s cannot be read: %s", path, error.strerror)
        return None
    if data is None:
        return None
    digest = hashlib.blake2b(data, digest_size=16).digest()
    if digest == known:
        return Indexed(path, status.st_mtime_ns, status.st_size, digest)
    module = read(decode(data))
    kinds: Counter[str] = Counter(fallback.kind for fallback in module.fallbacks)
    newer = sum(fallback.reason.startswith(NEWER) for fallback in module.fallbacks)
    if newer:
        kinds["newer"] = newer
    return Indexed(
        path,
        status.st_mtime_ns,
        status.st_size,
        digest,
        top_names(module),
        _pack(module),
        count_symbols(module),
        dict(kinds),
    )


def unpack(path: str, packed: bytes) -> Module | None:
    """Return a packed module; None, with a warning, for one that cannot be read."""
    try:
        return _unpack(packed)
    except msgspec.MsgspecError as error:
        log.warning("what was kept of %s cannot be read (%s): the file is read again", path, error)
        return None


def index_batch(files: Sequence[tuple[str, bytes]], limit: int) -> list[Indexed | str]:
    """Index files, each with its known digest; a file that is left out comes back as its path alone."""
    gc.disable()  # trees are no cycles, and looking for some takes a third of the time
    try:
        return [indexed(path, limit, known) or path for path, known in files]
    finally:
        gc.enable()


def start_worker() -> None:
    """Make a worker process yield to everything else."""
    if hasattr(os, "nice"):
        os.nice(5)


def count_symbols(module: Module) -> int:
    """Return how many symbols a module holds: functions, classes, fields, variables, parameters and imports."""
    return len(module.variables) + len(module.imports) + sum(_count(scope) for scope in module.scopes)


def _count(scope: Function | Class) -> int:
    inner = len(scope.imports) + sum(_count(nested) for nested in scope.scopes)
    if isinstance(scope, Function):
        return 1 + inner + len(scope.parameters) + len(scope.bindings)
    return 1 + inner + len(scope.fields)
