"""The index's part of the command line: `tiercel index` and `tiercel where`."""

from __future__ import annotations

import argparse
import json
import keyword
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tiercel.settings import IndexSettings

from .cold import Report, fill
from .definitions import Definition
from .resolve import resolve_dotted
from .source import split_lines
from .store import Store, store_of
from .symbols import Class, Fallback
from .workspace import Index

_NAMES = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def index_command(argv: Sequence[str]) -> int:
    """`tiercel index DIR [--json] [--no-cache] [--workers N]`: index a folder and say what it came to."""
    parser = argparse.ArgumentParser(prog="tiercel index", description="Index a folder and say what it came to.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--no-cache", action="store_true", help="index anew and keep nothing for the next start")
    parser.add_argument("--workers", type=int, default=None, help="worker processes; 0 to index in this one")
    parser.add_argument("--fallbacks", action="store_true", help="list every place that did not parse as it is")
    options = parser.parse_args(argv)
    if not options.folder.is_dir():
        print(f"tiercel: {options.folder} is no folder", file=sys.stderr)
        return 2
    index = Index([options.folder], IndexSettings())
    store: Store | None = None if options.no_cache else store_of(index.roots)
    before = _memory()
    report = fill(index, store, workers=options.workers)
    if store is not None:
        store.close()
    found = _found(report, index, max(0, _memory() - before))
    places = _fallbacks(index) if options.fallbacks else []
    if options.json:
        if options.fallbacks:
            found["places"] = [
                {"path": path, "line": f.line + 1, "kind": f.kind, "reason": f.reason} for path, f in places
            ]
        print(json.dumps(found))
        return 0
    for name, value in found.items():
        print(f"{name:>16}  {value}")
    for path, fallback in places:
        print(f"{path}:{fallback.line + 1}: {fallback.kind}: {fallback.reason}")
    return 0


def _found(report: Report, index: Index, memory: int) -> dict[str, object]:
    seconds = max(report.seconds, 1e-9)
    return {
        "files": report.files,
        "read": report.read,
        "kept": report.kept,
        "left_out": report.left_out,
        "symbols": report.symbols,
        "seconds": round(report.seconds, 3),
        "files_per_second": round(report.files / seconds),
        "memory_bytes": memory,
        "bytes_per_file": round(index.packed_bytes() / report.files) if report.files else 0,
        "fallbacks": dict(report.fallbacks),
    }


def _fallbacks(index: Index) -> list[tuple[str, Fallback]]:
    modules = [(path, index.module(path)) for path in sorted(index.paths())]
    return [(path, fallback) for path, module in modules if module is not None for fallback in module.fallbacks]


def _memory() -> int:
    """Return the bytes of memory that this process holds; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def where_command(argv: Sequence[str]) -> int:
    """`tiercel where FILE:LINE:COL [--json] [--root DIR]`: the enclosing scope, the names used, where each leads."""
    parser = argparse.ArgumentParser(prog="tiercel where", description="Say where a place is and what its names mean.")
    parser.add_argument("place", metavar="FILE:LINE:COL", help="1-based, as editors show them")
    parser.add_argument("--root", type=Path, default=None, help="the workspace's folder; the current one by default")
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args(argv)
    parts = options.place.rsplit(":", 2)
    if len(parts) != 3 or not (parts[1].isdigit() and parts[2].isdigit()):
        print(f"tiercel: {options.place!r} is no place: give FILE:LINE:COL, such as app.py:12:5", file=sys.stderr)
        return 2
    path, line, column = os.path.abspath(parts[0]), int(parts[1]) - 1, int(parts[2]) - 1
    index = Index([options.root or Path.cwd()])
    text = index.text(path)
    if text is None:
        print(f"tiercel: {parts[0]} cannot be read, or is no text", file=sys.stderr)
        return 2
    lines = split_lines(text)
    if not 0 <= line < len(lines) or not 0 <= column <= len(lines[line]):
        print(f"tiercel: {parts[0]} has no place {line + 1}:{column + 1}", file=sys.stderr)
        return 2
    index.open(path, text)
    answer = where(index, path, line, column)
    if options.json:
        print(json.dumps(answer))
    else:
        _print_where(answer)
    return 0


def where(index: Index, path: str, line: int, column: int) -> dict[str, object]:
    """Return the enclosing scopes of a place and the names used in the innermost, each with its definitions."""
    chain = index.scopes_at(path, line, column)
    lines = split_lines(index.text(path) or "")
    scope = chain[-1] if chain else None
    first, last = (scope.start, scope.end) if scope is not None else (line, line)
    names: dict[str, tuple[int, int]] = {}
    for number in range(first, min(max(last, line) + 1, len(lines))):
        for found in _NAMES.finditer(re.sub(r"#.*|'[^']*'|\"[^\"]*\"", lambda m: " " * len(m[0]), lines[number])):
            if found[0] not in keyword.kwlist:
                names.setdefault(found[0], (number, found.start()))
    return {
        "scope": [
            {
                "name": scope.name,
                "kind": "class" if isinstance(scope, Class) else "function",
                "lines": [scope.start + 1, scope.end + 1],
                "signature": scope.signature(),
            }
            for scope in chain
        ],
        "names": {
            name: [_place(one) for one in resolve_dotted(index, path, name, *place)] for name, place in names.items()
        },
    }


def _place(one: Definition) -> dict[str, object]:
    return {
        "path": one.path,
        "line": one.line + 1,
        "column": one.column + 1,
        "name": one.qualified,
        "kind": type(one.symbol).__name__.lower(),
    }


def _print_where(answer: dict[str, object]) -> None:
    scopes, names = answer["scope"], answer["names"]
    assert isinstance(scopes, list)
    assert isinstance(names, dict)
    print("in " + (" > ".join(scope["signature"] for scope in scopes) or "the module"))
    for name, places in names.items():
        if not places:
            print(f"  {name}: not found")
        for place in places:
            print(f"  {name}: {place['kind']} {place['name']}, {place['path']}:{place['line']}:{place['column']}")
