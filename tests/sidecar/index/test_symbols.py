"""What is found in a module, and what is made of a text that is still being typed."""

from __future__ import annotations

import sys
import textwrap

import pytest

from tiercel.index.calls import call_sites
from tiercel.index.parse import LARGE, parsed, read
from tiercel.index.symbols import NEWER, Class, Function, Module, walk


def module(text: str) -> Module:
    text = textwrap.dedent(text).lstrip("\n")
    found = read(text)
    assert parsed(text).module == found
    return found


def function(text: str) -> Function:
    found = module(text).scopes[-1]
    assert isinstance(found, Function)
    return found


def klass(text: str) -> Class:
    found = module(text).scopes[-1]
    assert isinstance(found, Class)
    return found


@pytest.mark.parametrize(
    "header",
    [
        "def f()",
        "def f(a, b=1, *args, c: int, d: str = 'x', **more) -> dict[str, int]",
        "def f(a, /, b, *, c)",
        "async def f(self, order: Order | None = None) -> None",
        "def f(a=(1, 2), b=lambda x: x)",
        "def f(é: 'Größe' = 'ß') -> 'Ü'",
    ],
)
def test_a_signature_is_rendered_as_it_was_written(header: str) -> None:
    expected = header.replace("b=lambda", "b=lambda")
    assert function(f"{header}:\n    pass\n").signature() == expected


def test_a_signature_over_several_lines_becomes_one() -> None:
    text = """
        @app.get(
            "/orders",
        )
        def f(
            a: int,  # the first
            b: dict[
                str, int
            ] = {},
        ) -> None:
            '''Say it.

            At length.
            '''
        """
    found = function(text)
    assert found.signature() == "def f(a: int, b: dict[str, int] = {}) -> None"
    assert found.decorators == ('app.get("/orders",)',)
    assert found.doc == "Say it."
    assert (found.start, found.line, found.end, found.body) == (0, 3, 12, 9)


def test_fields_of_a_class_are_those_of_its_body_and_of_its_instances() -> None:
    found = klass("""
        class Order(models.Model, metaclass=Meta):
            '''An order.'''
            __slots__ = ("a", "b")
            total: Decimal = models.DecimalField(max_digits=8)
            status = "new"
            def __init__(self, user, *items):
                self.user = user
                self.first, (self.rest, *self.others) = items
                if user:
                    self.count: int = 0
                for self.item in items:
                    pass
            @property
            def due(this) -> Decimal:
                this.seen += 1
                return this.total
            @staticmethod
            def make(kind):
                kind.nothing = 1
            class Meta:
                ordering = ["id"]
        """)
    fields = {field.name: field for field in found.fields}
    assert list(fields) == ["__slots__", "total", "status", "user", "first", "rest", "others", "count", "item", "seen"]
    assert fields["total"].annotation == "Decimal"
    assert fields["total"].value == "models.DecimalField(max_digits=8)"
    assert fields["user"].method == "__init__"
    assert fields["user"].value == "user"
    assert fields["others"].path == (1, 1)
    assert fields["item"].kind == "for"
    assert fields["seen"].kind == "augmented"
    assert found.slots == ("a", "b")
    assert found.signature() == "class Order(models.Model, metaclass=Meta)"
    assert [scope.name for scope in found.scopes] == ["__init__", "due", "make", "Meta"]


@pytest.mark.parametrize(
    ("line", "name", "kind", "value", "path"),
    [
        ("x = f(1)", "x", "assign", "f(1)", ()),
        ("x: int", "x", "annotation", "", ()),
        ("x: int = 1", "x", "assign", "1", ()),
        ("a = x = b.c", "x", "assign", "b.c", ()),
        ("a, (x, *y) = z", "y", "assign", "z", (1, 1)),
        ("for i, x in pairs: pass", "x", "for", "pairs", (1,)),
        ("with open(p) as x: pass", "x", "with", "open(p)", ()),
        ("with a as b, c as x: pass", "x", "with", "c", ()),
        ("try: pass\nexcept (A, B) as x: pass", "x", "except", "(A, B)", ()),
        ("if (x := f()): pass", "x", "walrus", "f()", ()),
        ("y = [z for a in b if (x := a)]", "x", "walrus", "a", ()),
        ("match s:\n    case A(b=x): pass", "x", "match", "s", ()),
        ("match s:\n    case [1, *x]: pass", "x", "match", "s", ()),
        ("x += 1", "x", "augmented", "1", ()),
        ("while True:\n    x = await g()", "x", "assign", "await g()", ()),
    ],
)
def test_what_binds_a_name(line: str, name: str, kind: str, value: str, path: tuple[int, ...]) -> None:
    found = [variable for variable in module(line + "\n").variables if variable.name == name]
    assert [(one.kind, one.value, one.path) for one in found] == [(kind, value, path)]
    rows = line.split("\n")
    assert all(rows[one.line][one.column :].startswith(name) for one in found)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("import a", [("a", "a", "", 0)]),
        ("import a.b", [("a", "a.b", "", 0)]),
        ("import a.b as c", [("c", "a.b", "", 0)]),
        ("from a.b import c, d as e", [("c", "a.b", "c", 0), ("e", "a.b", "d", 0)]),
        ("from . import a", [("a", "", "a", 1)]),
        ("from ..m import *", [("*", "m", "*", 2)]),
    ],
)
def test_import_forms(line: str, expected: list[tuple[str, str, str, int]]) -> None:
    assert [(i.bound, i.module, i.name, i.level) for i in module(line).imports] == expected


def test_imports_tell_on_what_they_depend() -> None:
    found = module("""
        if TYPE_CHECKING:
            import a
        try:
            import b
        except ImportError:
            b = None
        if sys.platform == "win32":
            import c
        import d
        """)
    assert [(i.bound, i.condition) for i in found.imports] == [
        ("a", "TYPE_CHECKING"), ("b", "try"), ("c", "if"), ("d", "")
    ]  # fmt: skip


def test_exports_are_what_all_says() -> None:
    found = module(
        '__all__ = ["a"] + other.__all__\n__all__ += ["b"]\n__all__.append("c")\n__all__.extend(more.__all__)\n'
    )
    assert found.exports == ("a", "b", "c")
    assert found.exports_from == ("other", "more")


def test_a_long_value_keeps_its_outermost_part_and_stays_an_expression() -> None:
    items = ", ".join(f"'item {number}'" for number in range(100))
    found = module(f"a = make([{items}])\nb = [{items}]\nc = {{'k': [{items}]}}\n")
    assert [variable.value for variable in found.variables] == [
        "make(...)",
        "['item 0', ...]",
        "{'k': ['item 0', ...], **...}",
    ]


def test_what_a_function_returns_and_yields() -> None:
    found = function("""
        def f(a):
            global g
            if a:
                return Order(a)
            yield a.b
            x = yield
            yield from c()
            return None
        """)
    assert found.returned == ("Order(a)", "None")
    assert found.yielded == ("a.b", "None", "*c()")
    assert found.global_names == ("g",)


def test_commented_out_code_is_told_from_prose() -> None:
    found = module("""
        # This function adds. It is old (see below).
        # TODO: rename
        # def total(order):
        #     return order.net + order.tax
        def total(order):
            # x = order.net
            return order.total
        """)
    assert [(c.start, c.end, c.inside, c.before) for c in found.comments] == [(2, 3, "", "total"), (5, 5, "total", "")]


def test_calls_and_uses_leave_out_strings_comments_and_definitions() -> None:
    text = (
        "def f(x):\n    # g(1)\n    s = 'g(2)'\n    self.repo.save(x)\n    g(x).name\n    self.repo.load()\n    f(1)\n"
    )
    found = module(text)
    assert found.calls == {"self.repo.save": 1, "g": 1, "self.repo.load": 1, "f": 1}
    assert found.uses == {"self.repo": {"save": 1, "load": 1}, "self": {"repo": 2}, "()": {"name": 1}}
    assert call_sites(text, "f") == [(6, 4)]


MENDED = [
    ("dot", "def f(order):\n    order.\n    return 1\n", ["f"]),
    ("dot at the end", "class A:\n    def f(self):\n        self.", ["A", "A.f"]),
    ("open bracket", "def f(x):\n    g(x,\n\ndef h(): pass\n", ["f", "h"]),
    ("nested open brackets", "def f(x):\n    y = g(x, b[1\n    return y\ndef h(): pass\n", ["f", "h"]),
    ("def alone", "def f\n\ndef g(): pass\n", ["f", "g"]),
    ("def with open parameters", "class A:\n    def f(self, x\n    def g(self): pass\n", ["A", "A.f", "A.g"]),
    ("no body", "class A:\n    def f(self):\n    def g(self): pass\n", ["A", "A.f", "A.g"]),
    ("half an f-string", "def f(a):\n    x = f'{a.\n    return x\n", ["f"]),
    ("open string", "def f(a):\n    x = 'abc\n    return x\n", ["f"]),
    ("open docstring", 'def f(a):\n    """Doc\n    return x\n\ndef g(): pass\n', ["f", "g"]),
    ("mixed tabs", "def f(a):\n        x = 1\n\ty = 2\n", ["f"]),
    ("if without a colon", "def f(a):\n    if a.b\n        x = 3\n    return x\n", ["f"]),
    ("try alone", "def f():\n    try:\n        x = 1\n    return x\n", ["f"]),
    ("keyword without value", "def f(a):\n    x = g(a, b=)\n", ["f"]),
    ("dict entry without value", "x = {\n    'a': 1,\n    b\n    'c': 2,\n}\ndef f(): pass\n", ["f"]),
    ("list element without comma", "x = [\n    1,\n    b\n    2,\n]\ndef f(): pass\n", ["f"]),
    ("class with open bases", "class A(\n    x = 1\n", ["A"]),
    ("parameter without annotation", "def f(a: ):\n    return a\n", ["f"]),
    ("half an import", "from os import \nimport \ndef f(): pass\n", ["f"]),
]


@pytest.mark.parametrize(("text", "names"), [case[1:] for case in MENDED], ids=[case[0] for case in MENDED])
def test_what_is_being_typed_is_mended(text: str, names: list[str]) -> None:
    found = parsed(text).module
    assert [name for name, _ in walk(found.scopes)] == names
    assert {fallback.kind for fallback in found.fallbacks} == {"mended"}
    assert found.lines == len(text.rstrip("\n").split("\n"))


def test_syntax_of_python_3_12_is_understood_by_any() -> None:
    found = parsed("type X = int\ndef f[T](x: T) -> T: return x\nclass A[T](B): pass\n").module
    assert [v.name for v in found.variables] == ["X"]
    assert [scope.signature() for scope in found.scopes] == ["def f(x: T) -> T", "class A(B)"]
    assert {f.kind for f in found.fallbacks} == ({"mended"} if sys.version_info < (3, 12) else set())
    assert all(f.reason.startswith(NEWER) for f in found.fallbacks)


def test_what_cannot_be_mended_is_left_out_and_the_rest_is_known() -> None:
    found = parsed("class A:\n    x: int = 3\n    foo bar baz\n    def m(self):\n        self.q = 2\n").module
    assert [(f.kind, f.line) for f in found.fallbacks] == [("partial", 2)]
    assert [field.name for scope in found.classes() for field in scope.fields] == ["x", "q"]


def test_what_cannot_be_parsed_at_all_is_known_by_its_lines() -> None:
    text = "import os\nclass A:\n    def f(self):\n        x = " + "-" * 20_000 + "1\n    def g(self): pass\ny = 1\n"
    found = parsed(text).module
    assert [f.kind for f in found.fallbacks] == ["lines"]
    assert [name for name, _ in walk(found.scopes)] == ["A", "A.f", "A.g"]
    assert [i.bound for i in found.imports] == ["os"]
    assert [v.name for v in found.variables] == ["y"]


def test_a_broken_statement_leaves_the_others_alone() -> None:
    found = parsed("def f(a):\n    return a\n\nx = = 1 (\n\nclass B:\n    y: int\n\n@dec\ndef g(): pass\n").module
    assert [name for name, _ in walk(found.scopes)] == ["f", "B", "g"]
    assert {f.line for f in found.fallbacks} == {3}


def test_a_large_class_is_parsed_in_pieces_and_gives_the_same() -> None:
    body = "".join(
        f"    # z = {n}\n    @d\n    def m{n}(self, a: int):\n        self.f{n} = a\n        x = self.m0(a)\n\n"
        for n in range(40)
    )
    head = "import a\n\n@d\nclass A(\n    B,\n):  # it\n    '''Doc.'''\n\n    __slots__ = ['q']\n"
    text = f"{head}{body}\n# after\n\ny = 1\n"
    assert len(text) > LARGE
    whole = parsed(text)
    assert whole.module == read(text)
    assert len(whole.chunk_at(20)[0].pieces) == 42
    statements, source, first = whole.statements_at(12)
    assert [getattr(node, "name", "") for node in statements] == ["m0"]
    assert source.lines[statements[0].lineno - 1].strip() == "def m0(self, a: int):"
    assert statements[0].lineno - 1 + first == text.split("\n").index("    def m0(self, a: int):")


def test_columns_count_code_points() -> None:
    found = module("é = '\U0001f600'; naïve, x = 1, 2\n")
    assert [(v.name, v.column) for v in found.variables] == [("é", 0), ("naïve", 9), ("x", 16)]


def test_line_ends_of_all_kinds_are_counted_alike() -> None:
    text = "def f():\n    return 1\n\nx = '''a\nb'''\n\nclass A:\n    y = 1\n"
    for end in ("\r\n", "\r"):
        other = parsed(text.replace("\n", end)).module
        assert [(s.start, s.end) for s in other.scopes] == [(s.start, s.end) for s in read(text).scopes]
        assert not other.fallbacks
