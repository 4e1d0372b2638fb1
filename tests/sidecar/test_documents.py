"""The documents equal the editor's text after any edits; columns are UTF-16."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercel.documents import Document, Documents, OutOfSyncError, path_of
from tiercel.protocol import Position, Range, TextDocumentContentChangeEvent

TEXT = st.text(alphabet="ab \n\r\té漢😀", max_size=30)


def change(text: str, *place: int) -> TextDocumentContentChangeEvent:
    if not place:
        return TextDocumentContentChangeEvent(text)
    return TextDocumentContentChangeEvent(text, Range(Position(*place[:2]), Position(*place[2:])))


def lines(text: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", text)


def position_of(text: str, offset: int) -> Position:
    """The same by another way: through UTF-16 bytes."""
    before = lines(text[:offset])
    return Position(len(before) - 1, len(before[-1].encode("utf-16-le")) // 2)


@given(TEXT, st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), TEXT), max_size=8))
def test_any_edits_give_the_editors_text(text: str, edits: list[tuple[float, float, str]]) -> None:
    documents = Documents()
    document = documents.open("file:///a.py", 1, text)
    for version, (a, b, new) in enumerate(edits, start=2):
        start, end = sorted(round(x * len(text)) for x in (a, b))
        if "\r\n" in (text[start - 1 : start + 1], text[end - 1 : end + 1]):
            continue  # an editor has no position between CR and LF
        place = Range(position_of(text, start), position_of(text, end))
        text = text[:start] + new + text[end:]
        documents.change("file:///a.py", document.version + 1, [TextDocumentContentChangeEvent(new, place)])
        assert document.text == text, version
        assert document.line_starts == Document("", 0, text).line_starts


@pytest.mark.parametrize(
    ("text", "line", "character", "offset"),
    [
        ("😀x = 1", 0, 2, 1),
        ("😀x = 1", 0, 1, 0),
        ("漢x", 0, 1, 1),
        ("a\r\nb", 0, 9, 1),
        ("a\r\nb", 1, 1, 4),
        ("a\rb\nc", 2, 0, 4),
        ("", 0, 0, 0),
        ("a\n", 1, 5, 2),
    ],
)
def test_columns_are_utf_16_and_end_at_the_lines_end(text: str, line: int, character: int, offset: int) -> None:
    assert Document("", 0, text).offset(Position(line, character)) == offset


@pytest.mark.parametrize(("version", "place"), [(3, (0, 0, 0, 0)), (1, (0, 0, 0, 0)), (2, (9, 0, 9, 1))])
def test_what_does_not_fit_drops_the_document(version: int, place: tuple[int, ...]) -> None:
    documents = Documents()
    documents.open("u", 1, "a")
    with pytest.raises(OutOfSyncError):
        documents.change("u", version, [change("x", *place)])
    assert documents.get("u") is None


def test_a_whole_text_mends_a_gap() -> None:
    documents = Documents()
    document = documents.open("u", 1, "a")
    documents.change("u", 7, [change("b\nc")])
    assert (document.version, document.text, document.line_starts) == (7, "b\nc", [0, 2])


@pytest.mark.parametrize(
    ("uri", "path"),
    [("file:///a%20b/%C3%A9.py", "/a b/é.py"), ("untitled:Untitled-1", None), ("file:///C%3A/x.py", "C:/x.py")],
)
def test_paths(uri: str, path: str | None) -> None:
    found = path_of(uri)
    assert (found and found.as_posix()) == path


def test_the_newline_is_that_of_the_first_line() -> None:
    assert [Document("", 0, t).newline for t in ("a\r\nb\n", "a\n", "a", "a\rb")] == ["\r\n", "\n", "\n", "\r"]
