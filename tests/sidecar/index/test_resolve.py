"""Where the cursor is, and what names stand for, across files."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tiercel.index.definitions import Definition
from tiercel.index.environment import Environment, find_environment
from tiercel.index.lookup import module_attribute
from tiercel.index.resolve import members, mro, resolve_at, resolve_attribute, resolve_in, told_type
from tiercel.index.symbols import Import
from tiercel.index.workspace import Index

Workspace = Callable[[dict[str, str]], Index]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Write files and index them; "|" in a text is left to `at`."""

    def write(files: dict[str, str]) -> Index:
        for name, text in files.items():
            file = tmp_path / "w" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        index = Index([tmp_path / "w"])
        index.scan()
        return index

    return write


def path(index: Index, name: str) -> str:
    return str(index.roots[0] / name)


def shown(index: Index, found: tuple[Definition, ...]) -> list[str]:
    """Return definitions as file:qualified:line, files relative to the workspace."""
    root = f"{index.roots[0]}/"
    return [f"{one.path.removeprefix(root)}:{one.qualified}:{one.line + 1}" for one in found]


def test_the_scope_at_every_kind_of_place(workspace: Workspace) -> None:
    text = """
        import os

        @decorator(
            one,
        )
        class A(Base):
            x = 1

            @property
            def f(
                self,
            ):
                if x:
                    return 1

                # a comment of f
            # a comment of A

            async def g(self):
                def inner():
                    pass
                return inner


        # a comment of the module
        def last():
            return 1

        """
    index = workspace({"a.py": text})
    rows = textwrap.dedent(text).lstrip("\n").split("\n")
    table = [
        (0, 0, ""), (2, 0, "A"), (3, 4, "A"), (5, 8, "A"), (6, 4, "A"), (7, 4, "A"), (8, 4, "A.f"), (9, 8, "A.f"),
        (10, 8, "A.f"), (13, 12, "A.f"), (14, 8, "A.f"), (14, 12, "A.f"), (14, 4, "A"), (15, 10, "A.f"), (16, 6, "A"),
        (17, 0, "A"), (18, 4, "A.g"), (19, 8, "A.g.inner"), (20, 12, "A.g.inner"), (21, 8, "A.g"), (22, 8, "A.g"),
        (22, 12, "A.g"), (22, 4, "A"), (22, 0, ""), (24, 5, ""), (25, 4, "last"), (26, 4, "last"), (27, 4, "last"),
        (27, 0, ""), (28, 4, "last"),
    ]  # fmt: skip
    index.open(path(index, "a.py"), "\n".join(rows) + "    ")
    for line, column, expected in table:
        chain = index.scopes_at(path(index, "a.py"), line, column)
        assert ".".join(scope.name for scope in chain) == expected, (line, column, rows[line : line + 1])


def test_a_cursor_one_indentation_further_than_the_last_line(workspace: Workspace) -> None:
    index = workspace({"a.py": "class A:\n    def f(self):\n        for x in y:\n            pass\n                "})
    assert [s.name for s in index.scopes_at(path(index, "a.py"), 4, 16)] == ["A", "f"]


IMPORTS = [
    ("import pkg.m", "pkg.m.thing", ["pkg/m.py:thing:1"]),
    ("import pkg.m as q", "q.thing", ["pkg/m.py:thing:1"]),
    ("import pkg", "pkg.Again", ["pkg/m.py:Thing:2"]),
    ("import pkg", "pkg.m.Thing", ["pkg/m.py:Thing:2"]),
    ("from pkg import m", "m.Thing", ["pkg/m.py:Thing:2"]),
    ("from pkg import Again as B", "B", ["pkg/m.py:Thing:2"]),
    ("from pkg.m import thing, Thing", "Thing", ["pkg/m.py:Thing:2"]),
    ("from pkg.star import *", "Thing", ["pkg/m.py:Thing:2"]),
    ("from pkg.star import *", "_hidden", []),
    ("from pkg.closed import *", "open_name", ["pkg/closed.py:open_name:2"]),
    ("from pkg.closed import *", "closed_name", []),
    ("from pkg.closed import *", "thing", ["pkg/m.py:thing:1"]),
    ("from pkg.sub.deep import Up", "Up", ["pkg/m.py:Thing:2"]),
    ("from pkg.sub import deep", "deep.Beside", ["pkg/sub/beside.py:Beside:1"]),
    ("from space.inner.mod import value", "value", ["space/inner/mod.py:value:1"]),
    ("import space.inner.mod", "space.inner.mod.value", ["space/inner/mod.py:value:1"]),
    ("from lib import from_src", "from_src", ["src/lib/__init__.py:from_src:1"]),
    ("try:\n    import missing\nexcept ImportError:\n    missing = None", "missing", ["user.py:missing:4"]),
    ("if TYPE_CHECKING:\n    from pkg.m import Thing", "Thing", ["pkg/m.py:Thing:2"]),
    ("def f():\n    from pkg.m import Thing\nThing = 1", "Thing", ["user.py:Thing:3"]),
    ("from pkg.loop_a import name", "name", ["pkg/loop_b.py:name:3"]),
    ("from pkg.loop_a import real", "real", ["pkg/loop_b.py:real:2"]),
    ("from nowhere import x", "x", ["user.py:x:1"]),
    ("from pkg import typed", "typed.f", ["pkg/typed.pyi:f:1"]),
]


@pytest.mark.parametrize(("line", "name", "expected"), IMPORTS)
def test_each_import_form_leads_to_the_definition(
    workspace: Workspace, line: str, name: str, expected: list[str]
) -> None:
    index = workspace({
        "user.py": line + "\n",
        "pkg/__init__.py": "from .m import Thing as Again\n",
        "pkg/m.py": "thing = 1\nclass Thing:\n    a: int\n_hidden = 2\nrest = 3\n__all__ = ['Thing', 'thing']\n",
        "pkg/star.py": "from .m import *\nfrom .m import __all__\n",
        "pkg/closed.py": "from . import m\nopen_name = 1\nclosed_name = 2\nfrom .m import thing\n"
                         "__all__ = ['open_name'] + m.__all__ + ['thing']\n",
        "pkg/sub/__init__.py": "",
        "pkg/sub/deep.py": "from ..m import Thing as Up\nfrom .beside import Beside\n",
        "pkg/sub/beside.py": "class Beside: pass\n",
        "pkg/loop_a.py": "from .loop_b import *\nfrom .loop_b import name\n",
        "pkg/loop_b.py": "from .loop_a import *\nreal = 1\nfrom .loop_a import name\n",
        "pkg/typed.py": "def f(a): pass\n",
        "pkg/typed.pyi": "def f(a: int) -> str: ...\n",
        "space/inner/mod.py": "value = 1\n",
        "src/lib/__init__.py": "from_src = 1\n",
    })  # fmt: skip
    assert shown(index, resolve_in(index, path(index, "user.py"), name, ())) == expected


def test_scope_rules(workspace: Workspace) -> None:
    text = """
        name = 1
        class A:
            name = 2
            inside = name
            def f(self, param=name):
                use = name
                local = 3
                local = 4
                def g():
                    nonlocal local
                    global name
                    return local, name, param, len
                return [name for name in self.rows]
        """
    index = workspace({"a.py": text})
    file = path(index, "a.py")
    rows = textwrap.dedent(text).lstrip("\n").split("\n")

    def at(line: int, word: str) -> list[str]:
        return shown(index, resolve_at(index, file, line, rows[line].index(word)))

    assert at(3, "name") == ["a.py:A.name:3"]  # a class body sees its own names
    assert at(4, "param") == ["a.py:A.f.param:5"]
    assert at(4, "name") == ["a.py:A.name:3"]  # a default is evaluated in the class body
    assert at(5, "name") == ["a.py:name:1"]  # a method does not see them
    assert at(11, "local") == ["a.py:A.f.local:8", "a.py:A.f.local:7"]
    assert at(11, "name") == ["a.py:name:1"]
    assert at(11, "param") == ["a.py:A.f.param:5"]
    assert at(11, "len")[0].split(":")[1] == "len"


def test_members_and_attributes(workspace: Workspace) -> None:
    index = workspace({
        "base.py": "class Root:\n    def save(self): pass\n    kind = 1\nclass Left(Root):\n    def save(self): pass\n"
                   "class Right(Root):\n    def load(self): pass\n    def save(self): pass\n",
        "user.py": "import base\nfrom base import Left as L\n"
                   "class Both(L, base.Right):\n    def __init__(self, other: 'Both | None' = None):\n"
                   "        self.repo = Repo()\n        self.other = other\n"
                   "class Repo:\n    def get(self) -> 'Both': ...\n    @property\n    def first(self) -> Both: ...\n"
                   "def make() -> Both: ...\n"
                   "x = make()\ny = x.repo\nalias = Both\nz = alias()\nclass Lost(missing.Base): pass\n",
    })  # fmt: skip
    file = path(index, "user.py")

    def one(name: str) -> Definition:
        (found,) = resolve_in(index, file, name, ())
        return found

    order = mro(index, one("Both"))
    assert [c.qualified for c in order.classes] == ["Both", "Left", "Right", "Root", "object"]
    assert order.complete
    assert not mro(index, one("Lost")).complete
    found = members(index, one("Both"))
    assert {"save", "load", "kind", "repo", "other", "__init__", "__class__"} <= set(found)
    assert shown(index, found["save"]) == ["base.py:Left.save:5"]
    assert shown(index, resolve_attribute(index, one("x"), "repo")) == ["user.py:Both.repo:5"]
    assert shown(index, resolve_in(index, file, "x.repo.get", ())) == ["user.py:Repo.get:8"]
    assert shown(index, resolve_in(index, file, "x.repo.first.load", ())) == ["base.py:Right.load:7"]
    assert shown(index, resolve_in(index, file, "x.other.save", ())) == ["base.py:Left.save:5"]
    assert [c.qualified for c in told_type(index, one("y"))] == ["Repo"]
    assert [c.qualified for c in told_type(index, one("z"))] == ["Both"]
    (chain,) = [index.scopes_at(file, 4, 8)]
    assert shown(index, resolve_in(index, file, "self.repo.get", chain, 4)) == ["user.py:Repo.get:8"]


def test_endless_bases_values_and_stars_end(workspace: Workspace) -> None:
    index = workspace({
        "a.py": "from b import *\nfrom b import B\nclass A(B): pass\nx = y\ny = x\nz = z.z\nclass S(S): pass\n",
        "b.py": "from a import *\nfrom a import A\nclass B(A): pass\n",
    })  # fmt: skip
    file = path(index, "a.py")
    assert not mro(index, resolve_in(index, file, "A", ())[0]).complete
    assert not mro(index, resolve_in(index, file, "S", ())[0]).complete
    for name in ("x.q", "z.q", "A.q", "S.q", "nothing"):
        assert resolve_in(index, file, name, ()) == ()


@pytest.mark.parametrize(
    ("line", "name", "qualified"),
    [
        ("import os", "os.path.join", "join"),
        ("from collections import OrderedDict", "OrderedDict.popitem", "OrderedDict.popitem"),
        ("import math", "math.sqrt", "sqrt"),
        ("import sys", "sys.argv", "argv"),
        ("import json.decoder", "json.decoder.JSONDecoder", "JSONDecoder"),
        ("import msgspec", "msgspec.Struct", "Struct"),
        ("from pathlib import Path", "Path.read_text", "Path.read_text"),
        ("x = 'a'", "str.partition", "str.partition"),
        ("import asyncio", "asyncio.Queue", "Queue"),
    ],
)
def test_the_standard_library_and_installed_packages(
    workspace: Workspace, line: str, name: str, qualified: str
) -> None:
    index = workspace({"a.py": line + "\n"})
    found = resolve_in(index, path(index, "a.py"), name, ())
    assert found
    assert found[-1].qualified == qualified
    assert not isinstance(found[-1].symbol, Import)


def test_a_stub_gives_what_the_version_of_python_has(workspace: Workspace, tmp_path: Path) -> None:
    index = workspace({"a.py": ""})
    old = index.environment
    for version, expected in (((3, 11), 0), ((3, 12), 1)):
        environment = Environment(version, old.stdlib, old.site, old.mapped, old.typeshed)
        index = Index([tmp_path / "w"], environment=environment)
        found = index.find("itertools")
        assert found is not None
        assert len(module_attribute(index, found.file, "batched")) == expected


def test_editable_installs_and_pth_files_are_read_and_not_run(tmp_path: Path) -> None:
    site = tmp_path / "w" / ".venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (tmp_path / "w/.venv/pyvenv.cfg").write_text("home = /nowhere/bin\nversion = 3.11.7\n")
    for name in ("linked", "mapped", "plain"):
        (tmp_path / name / name).mkdir(parents=True)
        (tmp_path / name / name / "__init__.py").write_text("here = 1\n")
    ran = tmp_path / "ran"
    (site / "a.pth").write_text(
        f"# a comment\n{tmp_path / 'linked'}\nimport pathlib; pathlib.Path({str(ran)!r}).touch()\n"
    )
    (site / "__editable___mapped_1_0_finder.py").write_text(
        f"MAPPING: dict[str, str] = {{'mapped': {str(tmp_path / 'mapped' / 'mapped')!r}}}\nraise SystemExit\n"
    )
    (site / "dist-stubs").mkdir()
    (site / "dist-stubs" / "__init__.pyi").write_text("stubbed: int\n")
    environment = find_environment([tmp_path / "w"])
    assert environment.site[:2] == (site, tmp_path / "linked")
    index = Index([tmp_path / "w"], environment=environment)
    index.open(str(tmp_path / "w" / "a.py"), "import linked, mapped, dist, plain\n")
    for name in ("linked.here", "mapped.here", "dist.stubbed"):
        assert len(resolve_in(index, str(tmp_path / "w" / "a.py"), name, ())) == 1, name
    assert isinstance(resolve_in(index, str(tmp_path / "w" / "a.py"), "plain", ())[0].symbol, Import)
    assert not ran.exists()
    assert not index.is_private(str(site / "dist-stubs" / "__init__.pyi"))
    assert index.is_private(str(tmp_path / "w" / ".venv" / "notes.py"))
    assert index.is_private(str(site / "dist-stubs" / "id_rsa"))


def test_the_environment_of_an_interpreter(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked = find_environment([tmp_path], sys.executable)
    assert asked.version == sys.version_info[:2]
    assert asked.stdlib is not None
    assert (asked.stdlib / "os.py").is_file()
    assert any(folder.name == "site-packages" for folder in asked.site)
    own = find_environment([tmp_path], str(tmp_path / "no-python"))
    assert own.version == sys.version_info[:2]
    assert "no-python" in caplog.text


def test_several_roots_and_files_in_no_package(tmp_path: Path) -> None:
    for name, text in {
        "one/app/a.py": "import shared\nimport beside\n",
        "one/app/beside.py": "value = 1\n",
        "two/shared.py": "value = 2\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    index = Index([tmp_path / "one", tmp_path / "two"])
    index.scan()
    file = str(tmp_path / "one/app/a.py")
    assert resolve_in(index, file, "shared.value", ())[0].path == str(tmp_path / "two/shared.py")
    assert resolve_in(index, file, "beside.value", ())[0].path == str(tmp_path / "one/app/beside.py")
    assert index.finder.name_of(str(tmp_path / "two/shared.py")) == "shared"
