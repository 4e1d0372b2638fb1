"""Imports point one way: engine → {rules, context, latency, inference} → index → documents."""

import ast
from pathlib import Path

import pytest

SIDECAR = Path(__file__).parent.parent.parent / "sidecar" / "tiercel"

# What each room may import besides itself; the rooms above (server, engine, the command line) may import all.
MAY_IMPORT = {
    "documents": {"protocol"},
    "index": {"documents", "paths", "settings"},
    "context": {"index", "documents", "settings"},
    "rules": {"index", "documents", "settings"},
    "latency": {"index", "documents", "settings"},
    "inference": {"settings", "paths"},
    "shape": set(),
    "rpc": set(),
    "settings": set(),
    "paths": set(),
    "protocol": {"settings"},
}
# A room's own part of the command line stands above the rooms.
COMMAND_LINES = {"cli.py"}


def imported_rooms(file: Path) -> set[str]:
    """Return the rooms of tiercel that a file imports, wherever in it the import stands."""
    package = ["tiercel", *file.relative_to(SIDECAR).parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            names = [[*module, alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        else:
            continue
        found |= {name[1] for name in names if name[0] == "tiercel" and len(name) > 1}
    return found


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    files = [SIDECAR / f"{room}.py"] if (SIDECAR / f"{room}.py").exists() else [*(SIDECAR / room).rglob("*.py")]
    for file in files:
        if file.name not in COMMAND_LINES:
            beyond = imported_rooms(file) - MAY_IMPORT[room] - {room}
            assert not beyond, f"{file} imports {beyond}"


def test_context_and_index_know_nothing_of_torch() -> None:
    for room in ("context", "index", "rules"):
        for file in (SIDECAR / room).rglob("*.py"):
            assert "import torch" not in file.read_text(encoding="utf-8"), file
