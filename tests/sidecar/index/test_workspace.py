"""Files of a workspace: which ones, kept fresh, kept for the next start, watched."""

from __future__ import annotations

import json
import logging
import os
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from watchdog.observers import Observer

from tiercel.index import cold
from tiercel.index.cli import index_command, where_command
from tiercel.index.cold import fill, refresh
from tiercel.index.files import indexed
from tiercel.index.parse import parsed, read
from tiercel.index.store import Store
from tiercel.index.watch import Watcher
from tiercel.index.workspace import Index
from tiercel.settings import IndexSettings

SOAK = os.environ.get("TIERCEL_HYPOTHESIS") == "soak"


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())


def relative(index: Index) -> list[str]:
    return sorted(str(Path(path).relative_to(index.roots[0])) for path in index.paths())


def state(index: Index) -> dict[str, object]:
    """Return all that an index knows of its workspace."""
    while not index.uses.update():
        pass
    names = {name for path in index.paths() for name in read(index.text(path) or "").calls} | {"a", "f", "A"}
    return {
        "modules": {path: index.module(path) for path in index.paths()},
        "defining": {name: index.defining(name) for name in sorted(names)},
        "uses": {receiver: dict(index.uses.of_receiver(receiver)) for receiver in ("self", "os", "a")},
        "attributes": dict(index.uses.attributes()),
    }


def test_what_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, {
        "a.py": "a = 1\n", "stub.pyi": "a: int\n", "text.txt": "no", "pkg/__init__.py": "",
        ".gitignore": "ignored/\n/only_top.py\n*_gen.py\n!kept_gen.py\n",
        "ignored/a.py": "", "only_top.py": "", "pkg/only_top.py": "", "b_gen.py": "", "kept_gen.py": "",
        "pkg/.gitignore": "!b_gen.py\nlocal.py\n", "pkg/b_gen.py": "", "pkg/local.py": "", "local.py": "",
        ".git/info/exclude": "private.py\n", "private.py": "",
        "node_modules/a.py": "", "env/pyvenv.cfg": "", "env/a.py": "", "__pycache__/a.py": "",
        "binary.py": b"a = 1\0", "large.py": "#" * 2000, "excluded/deep/a.py": "",
    })  # fmt: skip
    index = Index([tmp_path], IndexSettings(max_file_size=1000, exclude=("excluded",)))
    index.scan()
    assert relative(index) == [
        "a.py", "kept_gen.py", "local.py", "pkg/__init__.py", "pkg/b_gen.py", "pkg/only_top.py", "stub.pyi"
    ]  # fmt: skip
    private = [name for name in ("a.py", "private.py", "ignored/a.py", ".env", "key.pem", "pkg/local.py")
               if index.ignore.is_private(str(tmp_path / name))]  # fmt: skip
    assert private == ["private.py", "ignored/a.py", ".env", "key.pem", "pkg/local.py"]


def test_a_gitignore_that_changes_changes_what_is_indexed(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "pkg/b.py": "", "pkg/c.py": ""})
    index = Index([tmp_path])
    index.scan()
    write(tmp_path, {"pkg/.gitignore": "b.py\n"})
    index.disk_changed([str(tmp_path / "pkg/.gitignore")])
    assert relative(index) == ["a.py", "pkg/c.py"]
    (tmp_path / "pkg/.gitignore").unlink()
    index.disk_changed([str(tmp_path / "pkg/.gitignore")])
    assert relative(index) == ["a.py", "pkg/b.py", "pkg/c.py"]


def test_open_documents_win_over_the_disk(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "disk = 1\n"})
    index = Index([tmp_path])
    index.scan()
    path = str(tmp_path / "a.py")

    def names() -> list[str]:
        module = index.module(path)
        return [variable.name for variable in module.variables] if module is not None else []

    index.open(path, "opened = 1\n")
    assert names() == ["opened"]
    index.edit(path, "edited = 1\n", 0, 6, 6)
    assert names() == ["edited"]
    index.edits(path, "x = 0\nedited = 1\n", [(0, 0, 2), (2, 2, 4)])
    assert names() == ["x", "edited"]
    index.edit(path, "edited = 1\n", 0, 0, 99)  # an edit that cannot have been made
    assert names() == ["edited"]
    assert index.defining("edited") == [path]
    assert index.defining("disk") == []
    write(tmp_path, {"a.py": "later = 1\n"})
    index.disk_changed([path])
    assert names() == ["edited"]
    write(tmp_path, {"a.py": "latest = 1\n"})
    index.close(path)
    assert names() == ["latest"]
    (tmp_path / "a.py").unlink()
    index.disk_changed([path])
    assert index.module(path) is None
    assert index.paths() == []


NAMES = ["a.py", "b.py", "d/__init__.py", "d/a.py", "d/e/b.py", "d/.gitignore", ".gitignore", "f/a.py", "c.txt"]
TEXTS = [
    "",
    "a = 1\n",
    "class A:\n    def f(self): return self.x.y\n",
    "def f(:\n",
    "import os\nos.path.join(a.b)\n",
    "a.py\n",
    "e/\n",
]
OPERATIONS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
    st.tuples(st.just("delete"), st.sampled_from([*NAMES, "d", "d/e"]), st.just("")),
    st.tuples(st.just("move"), st.sampled_from([*NAMES, "d", "d/e"]), st.sampled_from([*NAMES, "g", "d/h"])),
    st.tuples(st.just("open"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
    st.tuples(st.just("close"), st.sampled_from(NAMES), st.just("")),
)


@given(st.lists(st.tuples(OPERATIONS, st.booleans()), max_size=12))
@settings(max_examples=400 if SOAK else 40, deadline=None)
def test_after_any_operations_on_files_the_index_is_the_one_from_scratch(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[tuple[str, str, str], bool]]
) -> None:
    root = tmp_path_factory.mktemp("w")
    index = Index([root])
    opened: dict[str, str] = {}
    told: list[str] = []
    for (kind, name, argument), at_once in operations:
        path = root / name
        if kind == "write" and not path.is_dir() and not any(p.is_file() for p in path.parents):
            write(root, {name: argument})
            told.append(str(path))
        elif kind == "delete" and path.exists():
            if path.is_dir():
                for file in sorted(path.rglob("*"), reverse=True):
                    file.rmdir() if file.is_dir() else file.unlink()
                path.rmdir()
            else:
                path.unlink()
            told.append(str(path))
        elif kind == "move" and path.exists() and not (root / argument).exists() and not argument.startswith(name):
            target = root / argument
            if not any(p.is_file() for p in target.parents):
                target.parent.mkdir(parents=True, exist_ok=True)
                path.rename(target)
                told += [str(path), str(target)]
        elif kind == "open" and name.endswith(".py"):
            opened[str(path)] = argument
            index.open(str(path), argument)
        elif kind == "close" and str(path) in opened:
            del opened[str(path)]
            told.append(str(path))
            index.close(str(path))
        if at_once:
            index.disk_changed(told)
            told = []
    index.disk_changed(told)
    fresh = Index([root])
    fresh.scan()
    for name, text in opened.items():
        fresh.open(name, text)
    assert sorted(index.paths()) == sorted(fresh.paths())
    assert state(index) == state(fresh)


def many(root: Path, number: int = 150) -> None:
    write(
        root, {f"p{n % 7}/m{n}.py": f"class C{n}:\n    def f(self):\n        return self.x{n}\n" for n in range(number)}
    )


def test_the_first_start_with_workers_and_the_second_from_what_is_kept(tmp_path: Path) -> None:
    root = tmp_path / "w"
    many(root)
    write(root, {"broken.py": "def f(\n", "user.py": "from p1.m1 import C1\n"})
    steps: list[tuple[int, int]] = []
    index = Index([root])
    index.open(str(root / "user.py"), "from p1.m1 import C1\n")
    store = Store(tmp_path / "store.sqlite3")
    report = fill(index, store, lambda done, total: steps.append((done, total)), workers=2)
    assert (report.files, report.read, report.kept) == (152, 152, 0)
    assert dict(report.fallbacks) == {"mended": 3}
    assert steps[0] == (0, 152)
    assert steps[-1] == (152, 152)
    here = Index([root])
    here.scan()
    here.open(str(root / "user.py"), "from p1.m1 import C1\n")
    assert state(index) == state(here)
    store.close()

    write(root, {"p1/m1.py": "changed = 1\n"})
    os.utime(root / "p2" / "m2.py", (1, 1))  # another time, the same text
    (root / "p3" / "m3.py").unlink()
    again = Index([root])
    store = Store(tmp_path / "store.sqlite3")
    second = fill(again, store, workers=2)
    assert (second.files, second.read, second.kept) == (151, 2, 149)
    third = fill(Index([root]), store)
    assert (third.read, third.kept) == (0, 151)
    here = Index([root])
    here.scan()
    assert state(again) == state(here)


def test_imports_of_open_documents_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many(tmp_path)
    index = Index([tmp_path])
    index.open(str(tmp_path / "user.py"), "from p6.m146 import C146\nimport p5.m145\n")
    order: list[str] = []
    monkeypatch.setattr(index, "put", lambda path, packed, names: order.append(Path(path).name))
    fill(index, workers=0)
    assert order[0] == "m146.py"


def test_a_start_can_be_cancelled(tmp_path: Path) -> None:
    many(tmp_path)
    cancelled = threading.Event()
    index = Index([tmp_path])
    report = fill(index, None, lambda done, total: cancelled.set() if done else None, cancelled, workers=0)
    assert report.cancelled
    assert 0 < report.files < 150
    assert len(index.paths()) == report.files


def dies(files: list[tuple[str, bytes]], limit: int) -> list[object]:
    """Stand in for a parser that ends its process at one file."""
    if any(path.endswith("m77.py") for path, _ in files):
        os._exit(1)
    return [indexed(path, limit, known) or path for path, known in files]


def test_a_worker_that_dies_costs_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    many(tmp_path)
    monkeypatch.setattr(cold, "index_batch", dies)
    index = Index([tmp_path])
    report = fill(index, workers=1)
    assert report.files == 149
    assert [record.message for record in caplog.records if "m77.py" in record.message]


@pytest.mark.parametrize("damage", ["text", "cut", "table", "symbols", "version"])
def test_a_store_that_cannot_be_used_is_begun_anew(tmp_path: Path, damage: str) -> None:
    root, file = tmp_path / "w", tmp_path / "store.sqlite3"
    many(root, 20)
    store = Store(file)
    fill(Index([root]), store)
    store.close()
    if damage == "text":
        file.write_text("this is no database")
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:5000])
    else:
        connection = sqlite3.connect(file)
        with connection:
            connection.execute({
                "table": "DROP TABLE files", "symbols": "UPDATE files SET names = x'c1'",
                "version": "UPDATE meta SET value = '0'",
            }[damage])  # fmt: skip
        connection.close()
    index = Index([root])
    store = Store(file)
    report = fill(index, store)
    assert (report.files, report.kept) == (20, 0)
    assert len(index.paths()) == 20
    store.close()
    assert fill(Index([root]), Store(file)).kept == 20


def test_symbols_that_cannot_be_read_are_read_from_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a = 1\n"})
    index = Index([tmp_path])
    index.put(str(tmp_path / "a.py"), b"\xc1", ("a",))
    index.uses.update()
    module = index.module(str(tmp_path / "a.py"))
    assert module is not None
    assert [variable.name for variable in module.variables] == ["a"]


def test_many_changed_files_are_read_by_workers(tmp_path: Path) -> None:
    root = tmp_path / "w"
    many(root)
    index = Index([root])
    index.scan()
    write(root, {f"p{n % 7}/m{n}.py": f"changed{n} = 1\n" for n in range(150)})
    (root / "p0" / "m0.py").unlink()
    refresh(index, None, [str(root / f"p{n % 7}/m{n}.py") for n in range(150)])
    fresh = Index([root])
    fresh.scan()
    assert state(index) == state(fresh)


class Gathered:
    """What a watcher told of."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def take(self, paths: list[str]) -> None:
        self.batches.append(paths)

    def wait_for(self, *paths: Path) -> None:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if {str(path) for path in paths} <= {path for batch in self.batches for path in batch}:
                return
            time.sleep(0.02)
        raise AssertionError(f"{paths} not among {self.batches}")


def test_changes_on_disk_are_told_of_in_batches(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "d/b.py": "", "d/c.py": ""})
    gathered = Gathered()
    watcher = Watcher([tmp_path], gathered.take)
    watcher.start()
    try:
        write(tmp_path, {f"n{n}.py": "x = 1\n" for n in range(300)} | {"no.txt": "", "__pycache__/q.py": ""})
        gathered.wait_for(tmp_path / "n0.py", tmp_path / "n299.py")
        assert len(gathered.batches) <= 3
        (tmp_path / "a.py").rename(tmp_path / "moved.py")
        gathered.wait_for(tmp_path / "a.py", tmp_path / "moved.py")
        (tmp_path / "d").rename(tmp_path / "e")
        gathered.wait_for(tmp_path / "d", tmp_path / "e")
        (tmp_path / "e" / "b.py").unlink()
        gathered.wait_for(tmp_path / "e" / "b.py")
    finally:
        watcher.stop()
    told = [path for batch in gathered.batches for path in batch]
    assert not [path for path in told if path.endswith(("no.txt", "q.py"))]
    count = len(gathered.batches)
    write(tmp_path, {"after.py": ""})
    time.sleep(0.5)
    assert len(gathered.batches) == count


def test_a_system_that_cannot_watch_is_polled_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(self: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(Observer, "start", full)
    gathered = Gathered()
    watcher = Watcher([tmp_path], gathered.take, poll_seconds=0.1)
    with caplog.at_level(logging.WARNING):
        watcher.start()
    try:
        assert watcher.polling
        write(tmp_path, {"a.py": "x = 1\n"})
        gathered.wait_for(tmp_path / "a.py")
    finally:
        watcher.stop()
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1


def test_a_watched_workspace_follows_the_disk(tmp_path: Path) -> None:
    many(tmp_path, 10)
    index = Index([tmp_path])
    index.scan()
    watcher = Watcher([tmp_path], lambda paths: refresh(index, None, paths))
    watcher.start()
    try:
        chance = random.Random(3)
        for _ in range(30):
            file = tmp_path / f"p{chance.randrange(3)}" / f"m{chance.randrange(12)}.py"
            file.parent.mkdir(exist_ok=True)
            if chance.random() < 0.3 and file.exists():
                file.unlink()
            else:
                file.write_text(f"v{chance.randrange(100)} = 1\n")
        (tmp_path / "p1").rename(tmp_path / "q1")
        fresh = Index([tmp_path])
        fresh.scan()
        end = time.monotonic() + 10
        while state(index) != state(fresh) and time.monotonic() < end:
            time.sleep(0.05)
        assert state(index) == state(fresh)
    finally:
        watcher.stop()


def test_newer_syntax_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, {f"m{n}.py": "match = match x y\n    type T[X] = list[X]\n" for n in range(3)})
    newer = "def f[T](x: T) -> T: return x\n" if sys.version_info < (3, 12) else "x = 1\nlazy import a\n"
    index = Index([tmp_path])
    with caplog.at_level(logging.DEBUG, logger="tiercel.index"):
        index.open(str(tmp_path / "a.py"), newer)
        index.open(str(tmp_path / "b.py"), newer)
    told = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == (1 if sys.version_info < (3, 12) else 0)
    assert any(f"{tmp_path / 'b.py'}:" in record.getMessage() for record in caplog.records)
    assert list(index.fallbacks()) == [str(tmp_path / "a.py"), str(tmp_path / "b.py")]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    user = "from b import B\n\ndef f(b: B):\n    return b.save(1)\n"
    write(tmp_path, {"a.py": user, "b.py": "class B:\n    def save(self, n): ...\n", "c.py": "x = (\n"})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert index_command([str(tmp_path), "--json", "--fallbacks"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["files"], found["read"]) == (3, 3)
    assert [(Path(place["path"]).name, place["line"], place["kind"]) for place in found["places"]] == [
        ("c.py", 1, "mended")
    ]
    assert where_command([f"{tmp_path}/a.py:4:10", "--root", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [scope["signature"] for scope in answer["scope"]] == ["def f(b: B)"]
    assert [(place["name"], place["line"]) for place in answer["names"]["b.save"]] == [("B.save", 2)]
    assert index_command([str(tmp_path / "nowhere")]) == 2
    assert where_command([f"{tmp_path}/a.py:99:1"]) == 2
    assert where_command([f"{tmp_path}/a.py"]) == 2


def test_symbols_survive_being_packed() -> None:
    module = parsed(Path(__file__).read_text(encoding="utf-8")).module
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(module), type=type(module)) == module
