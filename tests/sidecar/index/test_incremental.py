"""The incremental index equals one from scratch, whatever is typed; and no text makes it raise."""

from __future__ import annotations

import ast
import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiercel.index.files import decode
from tiercel.index.parse import ParsedModule, edited, merged, parsed, read

LIBRARY = Path(ast.__file__).parent
SOAK = os.environ.get("TIERCEL_HYPOTHESIS") == "soak"
EXAMPLES = 2000 if SOAK else 60
CUTS = int(os.environ.get("TIERCEL_CUTS", "200" if SOAK else "2"))

FRAGMENTS = [
    "", " ", "\n", "\r\n", "\r", "    ", "\t", "(", ")", "[", "]", "{", "}", ":", ".", ",", "=", "'", '"', '"""',
    "'''", "\\", "\\\n", "#", "@", "def f(", "def g(a, b=1):\n    ", "class A:\n",
    "class B(Base):\n    x: int = 1\n", "else:\n", "elif x:\n", "except E as e:\n", "finally:\n", "import os\n",
    "from . import x\n", "@decorator\n", "async ", "lambda x", "f'{x", "\xe9", "\U0001f600", "\ufeff", "\x00",
    "\x0c", "\x0b", "\u2028", "return x\n", "if x:\n", "pass\n", "order.", "self.x = 1\n", "# x = 1\n",
    "type X = int\n", "match x:\n    case [a, *b]:\n        pass\n", "x = (\n", "\ud800",
]  # fmt: skip


def real_texts() -> list[str]:
    names = [
        "bisect.py",
        "colorsys.py",
        "sched.py",
        "queue.py",
        "dataclasses.py",
        "contextlib.py",
        "this.py",
        "types.py",
    ]
    return [(LIBRARY / name).read_text(encoding="utf-8") for name in names]


def large_class() -> str:
    """A class that is parsed in pieces, between other statements."""
    body = "".join(
        f"    # x{n} = ({n})\n    @decorated(\n        {n},\n    )\n    def m{n}(self, a: int = {n}) -> str:\n"
        f'        """Doc {n}.\n        """\n        self.f{n} = a[{n}]\n        if a:\n            return b(a)\n\n'
        f"    c{n} = [{n},\n  1]\n"
        for n in range(12)
    )
    head = 'import a\n\n@d\nclass Large(A, metaclass=B):\n    """Doc."""\n\n'
    return f"{head}{body}\n# after\nx = 1\n\ndef f(): pass\n"


TEXTS = [*real_texts(), *[large_class()] * 3]


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, list[tuple[float, int, str]]]:
    """A text and edits: where (as a share of the text), how many characters go, and what comes."""
    whole = draw(st.sampled_from(TEXTS))
    begin = draw(st.integers(0, max(0, len(whole) - 4000)))
    text = whole[begin : begin + draw(st.integers(0, 4000))] if draw(st.booleans()) else whole[:6000]
    piece = st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=5))
    edit = st.tuples(st.floats(0, 1), st.sampled_from([0, 0, 0, 1, 1, 2, 7, 40, 400]), piece)
    return text, draw(st.lists(edit, min_size=1, max_size=6))


def check(module: ParsedModule) -> None:
    fresh = parsed(module.text)
    assert module.offsets == fresh.offsets
    assert module.first_lines == fresh.first_lines
    assert module.module == fresh.module


@given(edits())
@settings(max_examples=EXAMPLES, deadline=None)
def test_after_any_edits_the_index_is_the_one_from_scratch(case: tuple[str, list[tuple[float, int, str]]]) -> None:
    text, changes = case
    module = parsed(text)
    for where, gone, new in changes:
        start = min(int(where * len(module.text)), len(module.text))
        end = min(start + gone, len(module.text))
        changed = module.text[:start] + new + module.text[end:]
        module = edited(module, changed, start, end, len(new))
        check(module)


@given(edits())
@settings(max_examples=EXAMPLES, deadline=None)
def test_several_edits_at_once_are_one(case: tuple[str, list[tuple[float, int, str]]]) -> None:
    text, changes = case
    module = parsed(text)
    made = []
    for where, gone, new in changes:
        start = min(int(where * len(text)), len(text))
        end = min(start + gone, len(text))
        text = text[:start] + new + text[end:]
        made.append((start, end, len(new)))
    start, end, length = merged(made)
    assert text[:start] == module.text[:start] or "\ufeff" in text
    assert len(text) == len(module.text) + length - (end - start)
    check(edited(module, text, start, end, length))


INSERTED = [
    "y = 1\n",
    "  z\n",
    "    w = 2\n",
    "else:\n",
    "    else: pass\n",
    ")\n",
    "    (\n",
    '"""\n',
    "@d\n",
    "    @d\n",
    "\f\n",
    "#\n",
]


@pytest.mark.parametrize("inserted", INSERTED)
def test_a_line_put_anywhere_into_a_large_class(inserted: str) -> None:
    text = large_class()
    module = parsed(text)
    for at in [0, *[end + 1 for end, character in enumerate(text) if character == "\n"]][::3]:
        changed = text[:at] + inserted + text[at:]
        more = edited(module, changed, at, at, len(inserted))
        check(more)
        assert edited(more, text, at, at + len(inserted), 0).module == module.module


@given(st.text(max_size=300) | st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))
@settings(max_examples=EXAMPLES * 3, deadline=None)
def test_no_text_raises_and_the_quick_way_gives_the_same(text: str) -> None:
    assert read(text) == parsed(text).module


def library_files() -> list[Path]:
    files = sorted([*LIBRARY.glob("*.py"), *LIBRARY.glob("[a-z]*/*.py"), *LIBRARY.glob("test/**/*.py")])
    files = [file for file in files if "site-packages" not in file.parts]
    return files if SOAK else random.Random(5).sample(files, 30)


@pytest.mark.parametrize("file", library_files(), ids=lambda file: str(file.relative_to(LIBRARY)))
def test_chunks_of_real_files_give_what_the_whole_gives(file: Path) -> None:
    text = decode(file.read_bytes())
    if len(text) > 300_000 and not SOAK:
        pytest.skip("large: soak only")
    whole = read(text)
    assert parsed(text).module == whole


@pytest.mark.parametrize("file", library_files(), ids=lambda file: str(file.relative_to(LIBRARY)))
def test_a_real_file_cut_anywhere_is_understood(file: Path) -> None:
    """Typing goes on in the middle of a file: it is cut at random places, and the cut parts put together."""
    text = decode(file.read_bytes())[:100_000]
    chance = random.Random(str(file.name))
    for _ in range(CUTS):
        at = chance.randrange(len(text) + 1)
        until = min(len(text), at + chance.choice([0, 1, 5, 30, 200, len(text)]))
        read(text[:at] + text[until:])
