"""From a text to what the index knows of it, whatever the text; and from an edit to the same, sooner.

A text is split into chunks, its top-level statements (`split`). Each chunk is parsed by itself, in this order:
(1) as it is; (2) mended where the parser stopped, with a placeholder, a closed bracket, a `pass` (`mend`); (3) without
its broken lines, all other chunks being what they were; (4) by its `def`, `class` and import lines alone (`lines`).
What was done is in `Module.fallbacks`.

Invariant: what comes of a text depends on the text alone. `edited` is `parsed` made cheaper: it parses the chunks that
the edit touched and moves the others. That is also why no cursor is asked for, and why nothing is kept of an earlier,
better version of a chunk.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from .extract import extract
from .lines import scan
from .mend import mend, parse_text
from .shift import Counts, counted, joined, joined_class, shifted
from .source import LINE_END, Source
from .split import Members, members, resplit, resplit_members, starts
from .symbols import Class, Fallback, Module

LARGE = 1500
"""Characters from which on a class is parsed in pieces."""
_BOM = "\ufeff"
_WRAPPER = "class _:\n"


class Piece:
    """A text that is parsed by itself, and its symbols. Lines count from the text's start.

    `wrapper` is the line put before it to make it parse, with its line end; the tree counts it, the symbols do not.
    The tree is made again when it is asked for: thousands of nodes of each open file would slow every collection.
    """

    __slots__ = ("_moved", "_tree", "has_code", "lines", "symbols", "text", "wrapper")

    def __init__(self, text: str, wrapper: str = "") -> None:
        self.text = text
        self.wrapper = wrapper
        self.lines = len(LINE_END.findall(text))
        statements, _, symbols = _parse_piece(wrapper + text)
        self.has_code = bool(statements)
        self.symbols = shifted(symbols, -1) if wrapper else symbols
        self._moved: tuple[int, Module] = (0, self.symbols)
        self._tree: tuple[list[ast.stmt], Source] | None = None

    def symbols_at(self, line: int) -> Module:
        """Return the symbols as they are when the text starts at that line of something larger."""
        if self._moved[0] != line:
            self._moved = (line, shifted(self.symbols, line))
        return self._moved[1]

    def tree(self) -> tuple[list[ast.stmt], Source]:
        """Return its statements, none if only lines are known, and the text that they are the tree of."""
        if self._tree is None:
            statements, source, _ = _parse_piece(self.wrapper + self.text)
            self._tree = (statements, source)
        return self._tree


class Chunk:
    """One chunk: its text, the pieces that it is parsed in, its symbols. Lines count from its start.

    A large class is parsed in pieces, its header with the first statement of its body and then each further statement;
    any other chunk is one piece. `known` are pieces by their text that need not be parsed again, `split` where the
    class's members start, if that is known already. `symbols` of a class in pieces have no calls and uses: these are
    counted by piece.
    """

    __slots__ = ("_moved", "first_lines", "lines", "members", "pieces", "symbols", "text")

    def __init__(
        self,
        text: str,
        known: Mapping[str, Piece] | None = None,
        split: Members | None = None,
    ) -> None:
        self.text = text
        self.members = split or (members(text) if len(text) > LARGE else None)
        self.pieces, self.symbols = _pieces(text, self.members, known or {})
        self.first_lines = [0]
        for piece in self.pieces[:-1]:
            self.first_lines.append(self.first_lines[-1] + piece.lines)
        self.lines = self.first_lines[-1] + self.pieces[-1].lines
        self._moved: tuple[int, Module] = (0, self.symbols)

    def symbols_at(self, line: int) -> Module:
        """Return the symbols as they are when the chunk starts at that line of the file."""
        if self._moved[0] != line:
            self._moved = (line, shifted(self.symbols, line))
        return self._moved[1]


class ParsedModule:
    """A text and what was found in it; unchangeable, an edit makes a new one.

    Invariant: the chunks' texts, one after the other, are the text; `offsets[i]` (code points) and `first_lines[i]` are
    where chunk i starts.
    """

    chunks: list[Chunk]

    def __init__(
        self, text: str, offsets: list[int], chunks: list[Chunk], previous: ParsedModule | None = None
    ) -> None:
        self.text = text
        self._before: tuple[list[Chunk], Module] | None = None
        if previous is not None and "module" in previous.__dict__:
            self._before = (previous.chunks, previous.module)
        self.offsets = offsets
        self.chunks = chunks
        self.first_lines = [0]
        for chunk in chunks[:-1]:
            self.first_lines.append(self.first_lines[-1] + chunk.lines)

    @cached_property
    def module(self) -> Module:
        """The symbols of the whole text."""
        parts = [chunk.symbols_at(line) for chunk, line in zip(self.chunks, self.first_lines, strict=True)]
        doc = next((chunk.symbols.doc for chunk in self.chunks if chunk.pieces[0].has_code), "")
        old, before = self._before or ([], None)
        self._before = None
        counts = _recounted(_by_piece(self.chunks), before, _by_piece(old))
        return joined(parts, doc, counts)

    def chunk_at(self, line: int) -> tuple[Chunk, int]:
        """Return the chunk that holds a line (0-based) and the line at which it starts."""
        index = max(0, bisect_right(self.first_lines, line) - 1)
        return self.chunks[index], self.first_lines[index]

    def statements_at(self, line: int) -> tuple[list[ast.stmt], Source, int]:
        """Return the statements of the piece of text that holds a line (0-based), and what is needed to read them.

        They are the top-level statement at that line, or a single statement of a large class's body. A node at
        `lineno` stands at line `lineno - 1 + first` of the file, first being the last of what is returned; `Source`
        has the node's columns and text. Empty where only lines are known.
        """
        chunk, first = self.chunk_at(line)
        index = max(0, bisect_right(chunk.first_lines, line - first) - 1)
        piece = chunk.pieces[index]
        statements, source = piece.tree()
        if piece.wrapper and statements and isinstance(statements[0], ast.ClassDef):
            statements = statements[0].body
        return statements, source, first + chunk.first_lines[index] - bool(piece.wrapper)


def parsed(text: str) -> ParsedModule:
    """Parse a text from scratch. Raises nothing, whatever the text."""
    text = _without_bom(text)
    offsets = list(starts(text))
    bounds = [*offsets, len(text)]
    return ParsedModule(text, offsets, [Chunk(text[begin:end]) for begin, end in pairwise(bounds)])


def edited(previous: ParsedModule, text: str, start: int, end: int, new_length: int) -> ParsedModule:
    """Parse a text that came of an edit: `previous.text[start:end]` became `new_length` characters of `text`.

    Offsets in code points. Equal to `parsed(text)`.
    """
    text = _without_bom(text)
    shift = new_length - (end - start)
    old = previous.offsets
    inside = _edited_inside(previous, text, start, end, new_length)
    if inside is not None:
        at, chunk = inside
        chunks = [*previous.chunks[:at], chunk, *previous.chunks[at + 1 :]]
        return ParsedModule(text, old[: at + 1] + [offset + shift for offset in old[at + 1 :]], chunks, previous)
    first, middle, last = resplit(text, old, start, end, new_length)
    stop = old[last] + shift if last < len(old) else len(text)
    known = {chunk.text: chunk for chunk in previous.chunks[first:last]}
    pieces = {piece.text: piece for chunk in previous.chunks[first:last] for piece in chunk.pieces}
    texts = [text[begin:until] for begin, until in pairwise([*middle, stop])]
    chunks = [known.get(part) or Chunk(part, pieces) for part in texts]
    offsets = old[:first] + middle + [at + shift for at in old[last:]]
    return ParsedModule(text, offsets, previous.chunks[:first] + chunks + previous.chunks[last:], previous)


def merged(edits: Sequence[tuple[int, int, int]]) -> tuple[int, int, int]:
    """Return one edit (start, end, new length) that covers edits made one after the other; at least one."""
    start, end, length = edits[0]
    for next_start, next_end, next_length in edits[1:]:
        shift = length - (end - start)
        last = max(end, next_end - shift if next_end > start + length else end)
        total = shift + next_length - (next_end - next_start)
        start, end = min(start, next_start), last
        length = end - start + total
    return start, end, length


def _edited_inside(
    previous: ParsedModule, text: str, start: int, end: int, new_length: int
) -> tuple[int, Chunk] | None:
    """Return the number of the chunk whose class the edit stays inside of, and its new chunk; None for other edits."""
    at = bisect_right(previous.offsets, start) - 1
    chunk = previous.chunks[at]
    base = previous.offsets[at]
    if chunk.members is None or len(chunk.pieces) == 1 or end >= base + len(chunk.text):
        return None
    split = resplit_members(text, base, chunk.members, start, end, new_length)
    if split is None:
        return None
    new = text[base : base + len(chunk.text) + new_length - (end - start)]
    if len(new) <= LARGE:
        return None
    return at, Chunk(new, {piece.text: piece for piece in chunk.pieces}, split)


def read(text: str, version: tuple[int, int] | None = None) -> Module:
    """Return the symbols of a text that is not open: `parsed(text).module`, without keeping trees.

    `version`: the text is a stub, and of its branches those for this version of Python are taken.
    """
    text = _without_bom(text)
    try:
        statements = parse_text(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return parsed(text).module
    return extract(statements, Source(text, version=version))


def _without_bom(text: str) -> str:
    return "\f" + text[1:] if text.startswith(_BOM) else text  # a form feed: as wide, and no indentation


def _by_piece(chunks: Sequence[Chunk]) -> list[Module]:
    return [piece.symbols for chunk in chunks for piece in chunk.pieces]


def _recounted(parts: Sequence[Module], before: Module | None, old: Sequence[Module]) -> Counts:
    """Return the sums of the parts' counts; `before` has those of the old parts, most of which are the same objects."""
    if before is None:
        return counted(parts)
    first = 0
    while first < min(len(parts), len(old)) and parts[first] is old[first]:
        first += 1
    last = 0
    while last < min(len(parts), len(old)) - first and parts[-1 - last] is old[-1 - last]:
        last += 1
    come, gone = parts[first : len(parts) - last], old[first : len(old) - last]
    return counted(come, Counts(before.calls, before.uses), gone)


def _pieces(text: str, split: Members | None, known: Mapping[str, Piece]) -> tuple[list[Piece], Module]:
    """Parse a chunk, a large class in pieces; returns them and the symbols of the whole."""
    if split is not None:
        head = text[: split.offsets[0]]
        header = known.get(head) or Piece(head)
        if len(header.symbols.scopes) == 1 and isinstance(header.symbols.scopes[0], Class):
            texts = [text[begin:end] for begin, end in pairwise([*split.offsets, len(text)])]
            inner = [known.get(part) or Piece(part, _WRAPPER) for part in texts]
            parts, line = [header.symbols], header.lines
            for piece in inner:
                parts.append(piece.symbols_at(line))
                line += piece.lines
            return [header, *inner], joined_class(parts)
    piece = Piece(text)
    return [piece], piece.symbols


def _parse_piece(text: str) -> tuple[list[ast.stmt], Source, Module]:
    try:
        statements, source = parse_text(text), Source(text)
    except SyntaxError as error:
        mended = mend(text, error)
        if mended is None:
            return [], Source(text), scan(text, error)
        symbols = _extract(mended.statements, mended.source, tuple(mended.fallbacks))
        return mended.statements, mended.source, symbols
    except (ValueError, RecursionError, MemoryError) as error:
        return [], Source(text), scan(text, error)
    return statements, source, _extract(statements, source)


def _extract(statements: list[ast.stmt], source: Source, fallbacks: tuple[Fallback, ...] = ()) -> Module:
    found = extract(statements, source)
    if not fallbacks:
        return found
    return Module(
        found.doc, found.variables, found.imports, found.scopes, found.exports, found.exports_from, found.calls,
        found.comments, fallbacks, found.uses, found.lines,
    )  # fmt: skip
