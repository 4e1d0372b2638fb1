"""What the model said, made fit to stand at the cursor as ghost text.

Nothing that repeats what follows the cursor, no bracket or quote that the editor has already closed, the file's own
indentation and line endings. Texts here are LF only, except what `shape` returns.
"""

from __future__ import annotations

import re

_OPENERS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = set(_OPENERS.values())
_QUOTE = re.compile(r"'''|\"\"\"|'|\"")


def shape(text: str, before: str, after: str, newline: str = "\n") -> str:
    """Return what of `text` may be inserted between `before` and `after`, "" if nothing is left.

    `text` is LF only; `before` and `after` are the document's text on either side of the cursor, as it is.
    """
    line_before = re.split(r"\r\n|\n|\r", before)[-1]
    rest, following = _following_lines(after)
    text = _without_closers_that_are_there(text, line_before, rest)
    text = _without_overlap(text, rest)
    text = _without_repeated_lines(text, line_before, following)
    if not text.strip():
        return ""
    text = _indented_like(text, before, after)
    # A caret at the end of an empty line shall not get blanks behind the last word, which editors would keep.
    return text.rstrip(" \t\n").replace("\n", newline) if not rest else text.replace("\n", newline)


def _following_lines(after: str) -> tuple[str, str]:
    """Split `after` into the rest of the cursor's line and the first line below it that is not blank."""
    lines = re.split(r"\r\n|\n|\r", after)
    return lines[0], next((line for line in lines[1:] if line.strip()), "")


def _without_closers_that_are_there(text: str, line_before: str, rest: str) -> str:
    """Cut before the first closer (or quote) that closes what was opened before the cursor and is closed after it."""
    next_closer = rest.lstrip()[:1]
    quote = open_quote(line_before)
    if quote and rest.startswith(quote):
        at = _find_unescaped(text, quote)
        return text if at < 0 else text[:at]
    if next_closer not in _CLOSERS:
        return text
    at = _first_unmatched_closer(text)
    return text[:at] if at >= 0 and text[at] == next_closer else text


def open_quote(line: str) -> str:
    """Return the quote that is open at the end of `line`, "" if none is. Knows one line, not docstrings above it."""
    opened = ""
    index = 0
    while index < len(line):
        if opened and line[index] == "\\":
            index += 2
            continue
        if not opened and line[index] == "#":
            return ""
        found = _QUOTE.match(line, index)
        if found and not opened:
            opened = found[0]
            index += len(opened)
        elif found and line.startswith(opened, index):
            index += len(opened)
            opened = ""
        else:
            index += 1
    return opened


def _find_unescaped(text: str, quote: str) -> int:
    index = 0
    while index < len(text):
        if text[index] == "\\":
            index += 2
        elif text.startswith(quote, index):
            return index
        else:
            index += 1
    return -1


def _first_unmatched_closer(text: str) -> int:
    """Return where the first bracket stands that closes none of `text`'s own, -1 if none does. Strings are skipped."""
    depth = 0
    opened = ""
    index = 0
    while index < len(text):
        character = text[index]
        if opened:
            if character == "\\":
                index += 1
            elif text.startswith(opened, index):
                index += len(opened) - 1
                opened = ""
            elif character == "\n" and len(opened) == 1:
                opened = ""
        elif found := _QUOTE.match(text, index):
            opened = found[0]
            index += len(opened) - 1
        elif character in _OPENERS:
            depth += 1
        elif character in _CLOSERS:
            depth -= 1
            if depth < 0:
                return index
        index += 1
    return -1


def _without_overlap(text: str, rest: str) -> str:
    """Drop the longest end of `text` with which `rest` begins, unless that would leave a bracket of `text` open."""
    if not rest.strip():
        return text
    for length in range(min(len(text), len(rest)), 0, -1):
        kept, overlap = text[:-length], text[-length:]
        if overlap != rest[:length]:
            continue
        # One letter in common is chance ("item" before "m"); a bracket, a colon or a whole word is a repetition.
        whole_word = not (kept[-1:].isidentifier() and overlap[:1].isidentifier())
        if whole_word and (overlap[0] not in _CLOSERS or _first_unmatched_closer(text) >= len(kept)):
            return kept
    return text


def _without_repeated_lines(text: str, line_before: str, following: str) -> str:
    """Cut before a line that the document already has right below the cursor."""
    if not following:
        return text
    wanted = following.strip()
    lines = text.split("\n")
    for number, line in enumerate(lines):
        whole = (line_before if number == 0 else "") + line
        if len(wanted) > 2 and whole.strip() == wanted and _indent(whole) == _indent(following):
            return "\n".join(lines[:number])
    return text


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indented_like(text: str, before: str, after: str) -> str:
    """Turn the leading spaces of the lines after the first into tabs where the file is indented by tabs."""
    if "\n" not in text or not uses_tabs(before, after):
        return text
    first, *others = text.split("\n")
    return "\n".join([first, *(_with_tabs(line) for line in others)])


def uses_tabs(before: str, after: str = "") -> bool:
    """Say whether the lines nearest to the cursor that are indented are so by tabs."""
    lines = [*reversed(before.splitlines()), *after.splitlines()]
    return next((line[0] == "\t" for line in lines if line[:1] in ("\t", " ") and line.strip()), False)


def _with_tabs(line: str) -> str:
    indent = _indent(line)
    width = len(indent.expandtabs(4))
    return "\t" * (width // 4) + " " * (width % 4) + line[len(indent) :]
