"""The text of the open documents: the only truth about them, kept by applying the editor's edits in order.

Positions come as LSP gives them (0-based line, UTF-16 code units) and are used as offsets in code points. Lines end
at LF, CRLF or CR, as LSP has it; the text is kept as it came, line endings untouched.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .protocol import Position, TextDocumentContentChangeEvent

_LINE_END = re.compile(r"\r\n|\n|\r")


class OutOfSyncError(Exception):
    """An edit does not fit the text that is here: the editor must send the whole document again."""


@dataclass(frozen=True)
class Edit:
    """One replacement in code points: `[start:end]` of the text before became `new`; `text` is what came of it."""

    start: int
    end: int
    new: str
    text: str


@dataclass
class Document:
    """An open document.

    Invariant: `line_starts[i]` is the offset in code points of line i of `text`; the first is 0.
    """

    uri: str
    version: int
    text: str
    language_id: str = "python"
    line_starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.line_starts = _line_starts(self.text)

    @property
    def path(self) -> Path | None:
        """The file behind the document, None for an untitled one."""
        return path_of(self.uri)

    @property
    def newline(self) -> str:
        """The line ending of the file: that of its first line, LF if it has one line."""
        found = _LINE_END.search(self.text)
        return found[0] if found else "\n"

    def offset(self, position: Position) -> int:
        """Return the offset in code points. A column past the line's end means its end, as LSP has it.

        Raises OutOfSyncError for a line that does not exist.
        """
        if not 0 <= position.line < len(self.line_starts) or position.character < 0:
            raise OutOfSyncError(
                f"{self.uri} has {len(self.line_starts)} lines, there is no position "
                f"{position.line}:{position.character}"
            )
        start = self.line_starts[position.line]
        last = position.line + 1 == len(self.line_starts)
        line = self.text[start : len(self.text) if last else self.line_starts[position.line + 1]]
        line = line.rstrip("\r\n")
        if line.isascii():
            return start + min(position.character, len(line))
        return start + _code_points(line, position.character)

    def apply(self, change: TextDocumentContentChangeEvent) -> Edit:
        """Apply one change and return it in code points. Raises OutOfSyncError if its range does not exist."""
        if change.range is None:
            start, end = 0, len(self.text)
        else:
            start, end = sorted((self.offset(change.range.start), self.offset(change.range.end)))
        edit = Edit(start, end, change.text, self.text[:start] + change.text + self.text[end:])
        self._take(edit)
        return edit

    def _take(self, edit: Edit) -> None:
        # Only the lines from the one before the edit to the one after it are counted again: CR and LF may have been
        # joined or parted by it.
        starts = self.line_starts
        first = max(0, _line_at(starts, edit.start) - 1)
        last = min(len(starts), _line_at(starts, edit.end) + 2)
        shift = len(edit.new) - (edit.end - edit.start)
        self.text = edit.text
        stop = starts[last] + shift if last < len(starts) else len(self.text)
        base = starts[first]
        middle = [base + at for at in _line_starts(self.text[base:stop])]
        if last < len(starts):
            middle.pop()  # it ends with a line ending: its last line is starts[last]
        self.line_starts = starts[:first] + middle + [at + shift for at in starts[last:]]


class Documents:
    """All open documents by uri.

    Invariant: a document that is here has exactly the text of its version in the editor. One that cannot be kept so
    is dropped, and `change` says so.
    """

    def __init__(self) -> None:
        self._open: dict[str, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._open.values()))

    def get(self, uri: str) -> Document | None:
        """Return the open document, None if there is none."""
        return self._open.get(uri)

    def open(self, uri: str, version: int, text: str, language_id: str = "python") -> Document:
        """Take the whole text of a document; one of the same uri is replaced."""
        document = Document(uri, version, text, language_id)
        self._open[uri] = document
        return document

    def change(self, uri: str, version: int, changes: list[TextDocumentContentChangeEvent]) -> list[Edit]:
        """Apply the changes that led to `version`, in order.

        Raises OutOfSyncError, and drops the document, if it is not open, if a version is missing or goes back, or if
        a range does not exist in it.
        """
        document = self._open.get(uri)
        if document is None:
            raise OutOfSyncError(f"{uri} was edited but is not open here")
        whole = any(change.range is None for change in changes)
        if version <= document.version or (version != document.version + 1 and not whole):
            del self._open[uri]
            raise OutOfSyncError(f"{uri} was at version {document.version} when the edit to {version} came")
        try:
            edits = [document.apply(change) for change in changes]
        except OutOfSyncError:
            del self._open[uri]
            raise
        document.version = version
        return edits

    def close(self, uri: str) -> None:
        """Forget a document; unknown ones are ignored."""
        self._open.pop(uri, None)


def path_of(uri: str) -> Path | None:
    """Return the local path of a `file:` uri, None for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    path = unquote(parts.path)
    if re.match(r"/[A-Za-z]:", path):
        path = path[1:]  # file:///C:/x
    elif parts.netloc and parts.netloc != "localhost":
        path = f"//{parts.netloc}{path}"
    return Path(path)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in _LINE_END.finditer(text))]


def _line_at(starts: list[int], offset: int) -> int:
    return bisect.bisect_right(starts, offset) - 1


def _code_points(line: str, units: int) -> int:
    """Count the code points in the first `units` UTF-16 units; half of a surrogate pair counts as none of it."""
    for index, character in enumerate(line):
        units -= 2 if ord(character) > 0xFFFF else 1
        if units < 0:
            return index
    return len(line)
