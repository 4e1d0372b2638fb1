"""Budget, slots, privacy: what holds whatever the files are."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercel.context.dependencies import names_used
from tiercel.context.fit import fit
from tiercel.context.order import STRATEGIES, Slots, lay_out
from tiercel.context.parts import Part, Scope, Wanted
from tiercel.context.prompt import build
from tiercel.index.workspace import Index


class Words:
    """A tokenizer whose tokens are words: the budget's rules do not depend on which."""

    def count(self, text: str) -> int:
        return len(text.split())

    def head(self, text: str, tokens: int) -> str:
        words = list(re.finditer(r"\S+\s*", text))
        return text if len(words) <= tokens else text[: words[tokens].start()]

    def tail(self, text: str, tokens: int) -> str:
        words = list(re.finditer(r"\S+\s*", text))
        return text if len(words) <= tokens else text[words[-tokens].start() :] if tokens > 0 else ""


def part(name: str, text: str, worth: float = 1.0, path: str = "/w/a.py") -> Part:
    return Part("interface", name, path, 0, text, "used", worth, Words().count(text))


def wanted(name: str, worth: float, *sizes: int) -> Wanted:
    return Wanted(tuple(part(name, f"{name} " * size + "\n", worth) for size in sizes))


@given(
    st.lists(st.tuples(st.floats(0.1, 9), st.lists(st.integers(1, 30), min_size=1, max_size=4)), max_size=12),
    st.integers(0, 120),
)
def test_the_budget_is_kept_and_all_is_accounted_for(found: list[tuple[float, list[int]]], budget: int) -> None:
    pieces = [wanted(f"n{i}", worth, *sorted(sizes, reverse=True)) for i, (worth, sizes) in enumerate(found)]
    chosen, left_out = fit(pieces, budget, Words())
    assert sum(one.tokens for one in chosen) <= budget
    assert {one.name for one in chosen} | {one.name for one in left_out} == {f"n{i}" for i in range(len(found))}
    assert len(chosen) + len(left_out) == len(found)


def test_what_is_worth_most_comes_first_and_is_shortened_before_it_is_dropped() -> None:
    pieces = [wanted("long", 10, 8, 3), wanted("cheap", 1, 2), wanted("poor", 0.1, 4)]
    chosen, left_out = fit(pieces, 6, Words())
    assert [(one.name, one.tokens) for one in chosen] == [("long", 3), ("cheap", 2)]
    assert [one.name for one in left_out] == ["poor"]
    assert [one.tokens for one in fit(pieces, 100, Words())[0]] == [8, 2, 4]


SCOPE = Scope("def f():\n    x", "", "/w/main.py", 10, "f")


def test_parts_keep_their_slots_new_ones_are_appended_and_gone_ones_stay_while_there_is_room() -> None:
    slots = Slots()

    def arrange(room: int, *names: str) -> list[str]:
        pieces = [wanted(name, 1, 3) for name in names]
        slots.enter(SCOPE)
        return [one.name for one in slots.arrange([one.forms[0] for one in pieces], pieces, room)]

    assert arrange(100, "b", "a") == ["b", "a"]
    assert arrange(100, "a", "c", "b") == ["b", "a", "c"]
    assert arrange(100, "c") == ["b", "a", "c"]
    assert arrange(7, "c") == ["b", "c"]
    slots.enter(Scope("def g():", "", "/w/main.py", 20, "g"))
    assert arrange(100, "x") == ["x"]


def test_a_part_keeps_its_text_while_it_is_one_of_its_forms_and_moves_behind_when_it_is_not() -> None:
    slots = Slots()
    slots.enter(SCOPE)
    full, short = part("a", "a b c d\n"), part("a", "a b\n")
    other = Wanted((part("z", "z\n"),))
    both = Wanted((full, short))
    assert slots.arrange([short, other.forms[0]], [both, other], 50)[0].text == short.text
    assert slots.arrange([full, other.forms[0]], [both, other], 50)[0].text == short.text
    changed = Wanted((part("a", "a q r\n"),))
    assert [one.text for one in slots.arrange([other.forms[0], changed.forms[0]], [changed, other], 50)] == [
        "z\n",
        "a q r\n",
    ]


def test_the_lines_above_begin_where_they_began() -> None:
    slots = Slots()
    slots.enter(SCOPE)
    lines = [f"line {n}" for n in range(50)]
    first = slots.above(lines, 40, Words())
    assert slots.above(lines, 38, Words()) == first
    less = slots.above(lines, 20, Words())
    assert first.endswith(less)
    assert 0 < Words().count(less) <= 20


def test_names_at_the_cursor_count_three_times_and_the_receiver_most() -> None:
    scope = Scope("def f(a: A):\n    b(c)\n    d.e", "\n    g()", "/w/main.py", 0, "f")
    weights = {name: weight for name, weight, _ in names_used(scope, 2)}
    assert weights["d.e"] == 3
    assert weights["d"] == 12
    assert weights["b.__init__"] == weights["c"] == weights["A"] == 1
    assert weights["g.__init__"] == 0.5
    assert [name for name, _, receiver in names_used(scope, 2) if receiver] == ["d"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_order_holds_every_part(strategy: str) -> None:
    parts = [part("b", "class B: ...\n", path="/w/b.py"), part("a", "def a(): ...\n")]
    text = lay_out(strategy, SCOPE, parts, "# names\n", "above\n", Words(), [Path("/w")])  # type: ignore[arg-type]
    for piece in ("class B: ...", "def a(): ...", "# names", "above", "def f():", "# b.py", "# a.py"):
        assert piece in text
    if strategy != "cursor_first":
        assert text.endswith(SCOPE.before)


SECRET = "CANARY_7f3a"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / ".gitignore").write_text("ignored.py\nprivate/\n")
    (tmp_path / ".env").write_text(f"KEY={SECRET}\n")
    (tmp_path / "private").mkdir()
    for name in ("ignored.py", "private/deep.py", "excluded.py"):
        (tmp_path / name).write_text(f"def leak(x={SECRET!r}): ...\nclass Leak:\n    key = {SECRET!r}\n")
    return tmp_path


@pytest.mark.parametrize("module", ["ignored", "private.deep", "excluded"])
def test_private_files_never_enter_a_prompt(workspace: Path, module: str) -> None:
    from tiercel.settings import IndexSettings

    text = f"from {module} import Leak, leak\n\n\ndef f(x: Leak):\n    leak(x.key"
    index = Index([workspace], IndexSettings(exclude=("excluded.py",)))
    index.scan()
    path = str(workspace / "main.py")
    index.open(path, text)
    prompt = build(index, path, text, len(text), 600, Words())
    assert SECRET not in prompt.prefix + prompt.suffix
    assert "def f(x: Leak)" in prompt.prefix
    assert any("private" in one.why for one in prompt.left_out)


@pytest.mark.parametrize("name", ["ignored.py", ".env", "private/deep.py"])
def test_nothing_is_read_of_a_private_file_that_is_open(workspace: Path, name: str) -> None:
    index = Index([workspace])
    path = str(workspace / name)
    text = (workspace / name).read_text()
    index.open(path, text)
    prompt = build(index, path, text, len(text), 600, Words())
    assert (prompt.prefix, prompt.suffix) == ("", "")
    assert "private" in prompt.fallback


@given(st.text(alphabet="abc.()[]:=\n \t'\"#é😀\r", max_size=80), st.floats(0, 1))
def test_no_text_makes_it_raise_and_the_text_at_the_cursor_stays(text: str, place: float) -> None:
    index = Index([])
    index.open("untitled:1", text)
    offset = round(place * len(text))
    prompt = build(index, "untitled:1", text, offset, 50, Words())
    line = text[:offset].replace("\r\n", "\n").replace("\r", "\n").rpartition("\n")[2]
    assert prompt.prefix.endswith(line)
