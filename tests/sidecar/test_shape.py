"""What the model says, fitted to the cursor."""

import pytest

from tiercel.shape import open_quote, shape


def at(text: str, place: str, newline: str = "\n") -> str:
    """Shape `text` for the cursor that `|` marks."""
    before, after = place.split("|")
    return shape(text, before, after, newline)


@pytest.mark.parametrize(
    ("said", "place", "wanted"),
    [
        # brackets and quotes that the editor has closed
        ("x)", "f(|)", "x"),
        ("g(x))", "f(|)", "g(x)"),
        ("g(x)", "f(|)", "g(x)"),
        ("x) + 1", "f(|)", "x"),
        ("x", "f(|", "x"),
        ("x)", "f(|", "x)"),
        ("{x}')", "print(f'{x}|')", "{x}"),
        ("a' + b", "s = '|'", "a"),
        ("a\\'b' + c", "s = '|'", "a\\'b"),
        ("')')", "print(|)", "')'"),
        ("a[0]]", "x[|]", "a[0]"),
        # what follows the cursor
        ("user.id)", "print(|)", "user.id"),
        (" + tax:", "if total|:", " + tax"),
        ("name == 'x' and y", "if | and y:", "name == 'x'"),
        ("item", "for |m in x", "item"),
        # lines that are there already
        ("a = 1\n    return a", "def f():\n    |\n    return a\n", "a = 1"),
        ("return a", "def f():\n    |\n    return a\n", ""),
        ("    ", "x = 1|", ""),
        # blank results
        ("\n", "x|", ""),
    ],
)
def test_shape(said: str, place: str, wanted: str) -> None:
    assert at(said, place) == wanted


def test_tabs_stay_tabs_and_line_ends_stay() -> None:
    assert at("if x:\n        y = 1", "def f():\r\n\tz = 0\r\n\t|", "\r\n") == "if x:\r\n\t\ty = 1"
    assert at("if x:\n        y = 1", "def f():\n    z = 0\n    |") == "if x:\n        y = 1"


@pytest.mark.parametrize(
    ("line", "quote"),
    [
        ("x = '", "'"),
        ("x = 'a'", ""),
        ("x = 'a\\'", "'"),
        ('x = """a', '"""'),
        ("x = 'a' + \"b", '"'),
        ("# it's", ""),
        ("f('#", "'"),
    ],
)
def test_open_quote(line: str, quote: str) -> None:
    assert open_quote(line) == quote
