"""The first indexing of a workspace: what is kept from last time, then the rest by worker processes."""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from .files import Indexed, index_batch, start_worker
from .lookup import imported_module
from .store import Store
from .workspace import Index

log = logging.getLogger("tiercel.index")

BATCH = 32
"""Files that a worker gets at a time."""
FEW = 64
"""Up to so many files it is quicker to index them here than to start workers."""


@dataclass
class Report:
    """What a start came to: counts of files and symbols, seconds, and fallbacks by kind."""

    files: int = 0
    read: int = 0
    kept: int = 0
    left_out: int = 0
    symbols: int = 0
    seconds: float = 0.0
    cancelled: bool = False
    fallbacks: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Known:
    modified: int
    size: int
    digest: bytes


def fill(
    index: Index,
    store: Store | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    cancelled: threading.Event | None = None,
    workers: int | None = None,
) -> Report:
    """Index the workspace's files; what is done is in the index at once. To be run in a thread of its own.

    Open documents' imports come first. `progress(done, total)` counts files. `cancelled` ends it between batches;
    what was indexed until then stays. `workers`: 0 indexes here, None takes the settings' number.
    """
    begin = time.perf_counter()
    report = Report()
    known = _take_kept(index, store, report)
    waiting, gone = _what_changed(index, known, report)
    for path in gone:
        index.remove(path)
    if store is not None:
        store.remove(gone)
    total = report.kept + len(waiting)
    progress(report.kept, total)

    def take(results: Sequence[Indexed | str]) -> None:
        _take(index, store, report, results)
        progress(report.kept + report.read + report.left_out, total)

    number = _workers(index) if workers is None else workers
    batches = [waiting[at : at + BATCH] for at in range(0, len(waiting), BATCH)]
    if number == 0 or len(waiting) <= FEW:
        for batch in batches:
            if cancelled is not None and cancelled.is_set():
                break
            take(index_batch(batch, index.settings.max_file_size))
    else:
        _in_processes(batches, number, index.settings.max_file_size, take, cancelled)
    report.cancelled = cancelled is not None and cancelled.is_set()
    report.files = report.kept + report.read
    report.seconds = time.perf_counter() - begin
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.fallbacks.items())) or "none"
    log.info("indexed %d files in %.1f s; did not parse as they are: %s", report.files, report.seconds, kinds)
    return report


def refresh(index: Index, store: Store | None, paths: Sequence[str]) -> None:
    """Bring the index up to date after changes on disk at these paths; many files are read by worker processes."""
    present, gone = index.look_at(paths)
    for path in gone:
        index.remove(path)
    report = Report()
    batches = [[(path, b"") for path in present[at : at + BATCH]] for at in range(0, len(present), BATCH)]
    if len(present) <= FEW:
        for batch in batches:
            _take(index, store, report, index_batch(batch, index.settings.max_file_size))
    else:
        limit = index.settings.max_file_size
        _in_processes(batches, _workers(index), limit, lambda done: _take(index, store, report, done), None)
    if store is not None:
        store.remove(gone)


def _workers(index: Index) -> int:
    return index.settings.workers or min(4, max(1, (os.cpu_count() or 2) - 1))


def _take_kept(index: Index, store: Store | None, report: Report) -> dict[str, _Known]:
    """Put what the store has into the index; whether it still holds is looked at afterwards."""
    known: dict[str, _Known] = {}
    for file in store.load() if store is not None else ():
        if file.symbols is not None:
            known[file.path] = _Known(file.modified, file.size, file.digest)
            index.put(file.path, file.symbols, file.names)
            report.symbols += file.count
            report.fallbacks.update(file.fallbacks)
    return known


def _what_changed(index: Index, known: dict[str, _Known], report: Report) -> tuple[list[tuple[str, bytes]], list[str]]:
    """Return the files to read, with the digests they are known by, and those that are gone."""
    waiting: list[tuple[str, bytes]] = []
    seen: set[str] = set()
    for root in index.roots:
        for entry in index.ignore.walk(str(root)):
            if entry.path in seen:
                continue
            try:
                status = entry.stat()
            except OSError:
                continue
            if status.st_size > index.settings.max_file_size:
                continue
            seen.add(entry.path)
            before = known.get(entry.path)
            if before is not None and (before.modified, before.size) == (status.st_mtime_ns, status.st_size):
                report.kept += 1
            else:
                waiting.append((entry.path, before.digest if before is not None else b""))
    first = _imports_of_open(index)
    builtins = index.find("builtins")
    for path in [*([builtins.file] if builtins is not None else []), *first]:
        if path not in seen:
            index.module(path)  # of the environment: ready when the first question comes
    waiting.sort(key=lambda file: file[0] not in first)
    return waiting, [path for path in known if path not in seen]


def _imports_of_open(index: Index) -> set[str]:
    """Return the files that open documents import."""
    found: set[str] = set()
    for path in index.open_paths():
        module = index.module(path)
        for imported in module.imports if module is not None else ():
            target = imported_module(index, path, imported)
            if target is not None and target.file:
                found.add(target.file)
    return found


def _take(index: Index, store: Store | None, report: Report, results: Sequence[Indexed | str]) -> None:
    files = [result for result in results if isinstance(result, Indexed)]
    for file in files:
        report.read += 1
        if file.symbols is not None:
            report.symbols += file.count
            report.fallbacks.update(file.fallbacks)
            index.put(file.path, file.symbols, file.names)
            if "newer" in file.fallbacks:
                index.tell_of_newer_syntax(file.path)
    left_out = [result for result in results if isinstance(result, str)]
    report.left_out += len(left_out)
    for path in left_out:
        index.remove(path)
    if store is not None:
        store.save(files)
        store.remove(left_out)


def _in_processes(
    batches: list[list[tuple[str, bytes]]],
    workers: int,
    limit: int,
    take: Callable[[Sequence[Indexed | str]], None],
    cancelled: threading.Event | None,
) -> None:
    """Give the batches to worker processes, two ahead each; a batch on which a worker died is tried file by file."""
    waiting = list(reversed(batches))
    while waiting and not (cancelled is not None and cancelled.is_set()):
        lost = _one_pool(waiting, workers, limit, take, cancelled)
        for batch in lost:
            if len(batch) == 1:
                log.warning("%s ends the process that reads it and is left out", batch[0][0])
                take([batch[0][0]])
            else:
                waiting += [[file] for file in batch]


def _one_pool(
    waiting: list[list[tuple[str, bytes]]],
    workers: int,
    limit: int,
    take: Callable[[Sequence[Indexed | str]], None],
    cancelled: threading.Event | None,
) -> list[list[tuple[str, bytes]]]:
    """Work off `waiting` from its end until it is empty, cancelled, or a worker died; returns the batches then lost."""
    # Workers are started anew, not forked: a fork of a process with threads may hang.
    context = multiprocessing.get_context("spawn")
    running: dict[Future[list[Indexed | str]], list[tuple[str, bytes]]] = {}
    lost: list[list[tuple[str, bytes]]] = []
    single = bool(waiting) and len(waiting[-1]) == 1
    with ProcessPoolExecutor(1 if single else workers, context, start_worker) as pool:
        while (waiting or running) and not lost:
            if cancelled is not None and cancelled.is_set():
                pool.shutdown(wait=False, cancel_futures=True)
                break
            try:
                while waiting and len(running) < (1 if single else 2 * workers):
                    batch = waiting.pop()
                    running[pool.submit(index_batch, batch, limit)] = batch
            except BrokenProcessPool:
                waiting.append(batch)
            done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                batch = running.pop(future)
                try:
                    take(future.result())
                except BrokenProcessPool:
                    lost.append(batch)
    return lost + ([*running.values()] if lost else [])
