"""Making a statement parse that is being typed: what the parser trips over is completed, or left out.

The cursor is not asked for: the parser's own error says where the text is unfinished, so that what the index knows of a
file depends on its text alone, however it came about. Every change keeps the number of lines, and keeps the columns of
what stands before it on its line.
"""

from __future__ import annotations

import ast
import gc
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

from .source import Source
from .symbols import NEWER, PLACEHOLDER, Fallback

ROUNDS = 30
"""How often a text is changed and parsed again, at most."""
_TRIES = 4  # how often the same line is completed
_CHARACTERS = 100_000  # and how many characters are parsed for it, at most

_STRINGS_AND_COMMENTS = re.compile(
    r"'''(?:[^\\']|\\.|'(?!''))*+'''|\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*+\"\"\"|'(?:[^'\\]|\\.)*+'?|\"(?:[^\"\\]|\\.)*+\"?|#.*"
)
_BRACKETS = re.compile(
    r"'''(?:[^\\']|\\.|'(?!''))*+'''|\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*+\"\"\""
    r"|'(?:[^'\\\n]|\\.)*+'?|\"(?:[^\"\\\n]|\\.)*+\"?|#[^\n]*|[()\[\]{}\n]",
    re.DOTALL,
)
_HEADER = re.compile(r"(?:async[ \t]+)?(?:def|class|if|elif|else|for|while|with|try|except|finally|match|case)\b|@")
_DEFINITION = re.compile(r"(?:(?P<is_async>async)[ \t]+)?(?P<keyword>def|class)[ \t]+(?P<name>[^\W\d]\w*)")
_WANTS_MORE = re.compile(
    r"(?:[-+*/%@&|^~<>=(\[{,:.]|\b(?:and|or|not|in|is|if|else|return|await|yield|lambda|import|from|as|for|while|with|"
    r"assert|raise|del|elif|except|class|def|case|match|:=))[ \t]*$"
)
_NEW_SYNTAX = re.compile(r"[ \t]*(?:type[ \t]+\w+[^=(]*=(?!=)|(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*\[)")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


@dataclass
class Mended:
    """What became of a text: its statements, the text that they are the tree of, and what had to be done."""

    statements: list[ast.stmt]
    source: Source
    fallbacks: list[Fallback] = field(default_factory=list)


def parse_text(text: str) -> list[ast.stmt]:
    """Parse. Raises SyntaxError, ValueError (NUL, lone surrogates), RecursionError or MemoryError as `ast` does."""
    collects = gc.isenabled()
    gc.disable()  # a tree is many objects and no cycle: a collection in the middle of it takes as long as the parser
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    finally:
        if collects:
            gc.enable()


def mend(text: str, error: SyntaxError) -> Mended | None:
    """Change the text until it parses, from the error that it gave; None if that does not succeed.

    Each round mends at the parser's error; a line at which the error stays is left out.
    """
    source = Source(text)
    lines = list(source.lines) or [""]
    fallbacks: list[Fallback] = []
    shifts: dict[int, int] = {}
    rounds = max(3, min(ROUNDS, _CHARACTERS // (len(text) + 1)))
    tried: dict[int, int] = {}
    for _ in range(rounds):
        line = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
        reason = error.msg or "invalid syntax"
        if isinstance(error, TabError):
            changed = _expand_tabs(lines, shifts)
        else:
            tried[line] = tried.get(line, 0) + 1
            stuck = bool(fallbacks) and (fallbacks[-1].line, fallbacks[-1].reason) == (line, reason)
            changed = not stuck and tried[line] <= _TRIES and _complete(lines, line, error)
        if not changed and not _leave_out(lines, line, reason):
            return None
        if _has_newer_syntax(source.lines, line):
            reason = f"{NEWER} {sys.version_info.major}.{sys.version_info.minor}: {reason}"
        fallbacks.append(Fallback("mended" if changed else "partial", line, reason))
        mended = "\n".join(lines) + "\n"
        try:
            return Mended(parse_text(mended), Source(mended, shifts), fallbacks)
        except SyntaxError as again:
            error = again
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


def _expand_tabs(lines: list[str], shifts: dict[int, int]) -> bool:
    changed = False
    for number, line in enumerate(lines):
        rest = line.lstrip(" \t")
        if "\t" in line[: len(line) - len(rest)]:
            wide = line[: len(line) - len(rest)].expandtabs(8) + rest
            shifts[number] = len(wide) - len(line)
            lines[number] = wide
            changed = True
    return changed


def _complete(lines: list[str], line: int, error: SyntaxError) -> bool:
    """Put in what is missing at the error; False if nothing is known to help."""
    reason = error.msg or ""
    if _has_newer_syntax(lines, line):
        return _old_syntax(lines, line)
    if isinstance(error, IndentationError):
        return "expected an indented block" in reason and _append(lines, _code_before(lines, line), " pass")
    for part, mended in _BY_REASON.items():
        if part in reason:
            return mended(lines, line, error)
    if "forgot a comma" in reason and _add_comma(lines, line, (error.end_lineno or 0) - 1):
        return True
    if re.match(r"[ \t]*from\b[ \t]*[\w.]*$", _code(lines[line])):
        return _append(lines, line, f"{_after_from(lines[line])} import {PLACEHOLDER}")
    return _placeholder(lines, line, error) or _close_brackets(lines, line)


def _has_newer_syntax(lines: list[str], line: int) -> bool:
    """Tell whether a line has what came with Python 3.12 and this one is older."""
    return sys.version_info < (3, 12) and line < len(lines) and _NEW_SYNTAX.match(lines[line]) is not None


def _close_string(lines: list[str], line: int, error: SyntaxError) -> bool:
    quote = re.search(r"['\"]", lines[line][max((error.offset or 1) - 1, 0) :])
    lines[line] = lines[line].rstrip("\\") + (quote[0] if quote else "'")
    return True


def _blank_bracket(lines: list[str], line: int, error: SyntaxError) -> bool:
    at = (error.offset or 1) - 1
    lines[line] = lines[line][:at] + " " + lines[line][at + 1 :]
    return True


def _code(line: str) -> str:
    """Return the line up to its comment, without the spaces after it."""
    end = len(line)
    for found in _STRINGS_AND_COMMENTS.finditer(line):
        if found[0].startswith("#"):
            end = found.start()
    return line[:end].rstrip()


def _append(lines: list[str], line: int, text: str) -> bool:
    lines[line] = _code(lines[line]) + text
    return True


def _code_before(lines: list[str], line: int) -> int:
    """Return the last line before `line` with code on it; `line` itself if it is the end of an unfinished header."""
    at = line if line == len(lines) - 1 and _code(lines[line]).endswith(":") else line - 1
    while at > 0 and not _code(lines[at]).strip():
        at -= 1
    return max(at, 0)


def _old_syntax(lines: list[str], line: int) -> bool:
    """Turn `type X = …` into `type;X = …`, and blank type parameters."""
    text = lines[line]
    text = re.sub(r"^([ \t]*type)[ \t]", r"\1;", text)
    opened = text.find("[")
    if opened >= 0 and re.match(r"[ \t]*(?:(?:async[ \t]+)?(?:def|class)[ \t]+|type;)\w+[ \t]*$", text[:opened]):
        depth = 0
        for at in range(opened, len(text)):
            depth += {"[": 1, "]": -1}.get(text[at], 0)
            if depth == 0:
                text = text[:opened] + " " * (at + 1 - opened) + text[at + 1 :]
                break
    if text == lines[line]:
        return False
    lines[line] = text
    return True


def _plain_string(lines: list[str], line: int) -> bool:
    """Make the f-strings of a line plain ones, of the same length."""
    text = re.sub(r"\b[fF](?=['\"])", "u", lines[line])
    text = re.sub(r"\b(?:[fF][rR]|[rR][fF])(?=['\"])", " r", text)
    if text == lines[line]:
        return False
    lines[line] = text
    return True


def _add_comma(lines: list[str], first: int, last: int) -> bool:
    """Put a comma where an element of a list ends with its line, and the next follows on another line."""
    for line in range(first, min(last, len(lines))):
        code = _code(lines[line])
        if code and not code.endswith((",", "(", "[", "{")) and not _WANTS_MORE.search(code):
            return _append(lines, line, ",")
    return False


def _missing_value(lines: list[str], line: int) -> bool:
    """Put a name after the first `=` or `:` of a line that has nothing after it before the next comma or bracket."""
    text, found = re.subn(r"(?<=[=:])[ \t]*(?=[,)\]}]|$)", PLACEHOLDER, lines[line], count=1)
    lines[line] = text
    return found > 0


def _after_from(text: str) -> str:
    """Return the module's name that is missing in `from` and `from a.`."""
    words = text.split()
    return f" {PLACEHOLDER}" if len(words) == 1 else PLACEHOLDER if words[1].strip(".") and words[1][-1] == "." else ""


def _close_triple(lines: list[str], line: int, offset: int) -> bool:
    found = re.search(r"'''|\"\"\"", lines[line][max(0, offset - 4) :])
    if found is None:
        return False
    lines[line] = lines[line].rstrip("\\") + found[0]
    return True


def _without_try(lines: list[str], line: int) -> bool:
    """Turn the `try:` that lacks its `except` into `if 1:`, which needs none."""
    for at in range(min(line, len(lines) - 1), -1, -1):
        found = re.match(r"[ \t]*try(?=[ \t]*:)", lines[at])
        if found and not _has_handler(lines, at, found.end() - 3):
            lines[at] = f"{lines[at][: found.end() - 3]}if 1{lines[at][found.end() :]}"
            return True
    return False


def _has_handler(lines: list[str], at: int, indent: int) -> bool:
    for text in lines[at + 1 :]:
        stripped = text.strip()
        if stripped and not stripped.startswith("#") and len(text) - len(text.lstrip()) <= indent:
            return re.match(r"except\b|finally\b", stripped) is not None
    return False


def _placeholder(lines: list[str], line: int, error: SyntaxError) -> bool:
    """Put a name where the text before the error ends with an operator, a dot or a keyword that wants more."""
    at = max((error.offset or 1) - 1, 0)
    while line > 0 and not lines[line][:at].strip():
        line -= 1
        at = len(_code(lines[line]))
    before = lines[line][:at].rstrip()
    if not _WANTS_MORE.search(before):
        code = _code(lines[line])  # the error stands at the start of the expression that is unfinished
        if not _WANTS_MORE.search(code) or code.endswith((":", ",", "(", "[", "{")):
            return False
        before, at = code, len(lines[line])
    elif before.endswith((",", "(", "[", "{")):
        return False
    elif before.endswith(":") and not before.endswith(":="):
        header = _HEADER.match(before.lstrip()) or "lambda" in before
        if lines[line][at : at + 1] not in (")", "]", "}", ",") and (header or lines[line][at:].strip()):
            return False
    space = "" if before.endswith((".", "@")) else " "
    name = f"{space}{PLACEHOLDER}"
    word = before.split()[-1]
    if word == "def":
        name += "():"
    elif word == "class":
        name += ":"
    lines[line] = f"{before}{name} {lines[line][at:]}".rstrip()
    return True


def _close_brackets(lines: list[str], line: int) -> bool:
    """Close what is open at the error's line, after the lines that still belong to it."""
    first = line  # the bracket may have been opened on a line before
    while first > 0 and line - first < 40 and not _HEADER.match(lines[first].lstrip()):
        first -= 1
    opened = _open_brackets(lines, first, line)
    if not opened:
        return False
    begin = opened[-1][1]
    indent = len(lines[begin]) - len(lines[begin].lstrip())
    last = begin
    while last + 1 < len(lines):
        text = lines[last + 1]
        deeper = len(text) - len(text.lstrip()) > indent
        if not text.strip() or not deeper or _HEADER.match(text.lstrip()) or _looks_like_statement(text):
            break
        last += 1
    opened = _open_brackets(lines, begin, last)
    if not opened:
        return False
    code = _code(lines[last])
    if _WANTS_MORE.search(code) and not code.endswith((",", "(", "[", "{")):
        code += PLACEHOLDER if code.endswith((".", "=")) else f" {PLACEHOLDER}"
    elif code.endswith("["):
        code += PLACEHOLDER
    return _append_code(lines, last, code + "".join(_CLOSERS[bracket] for bracket, _ in reversed(opened)))


def _append_code(lines: list[str], line: int, text: str) -> bool:
    if lines[line] == text:
        return False
    lines[line] = text
    return True


def _looks_like_statement(text: str) -> bool:
    return (
        re.match(r"[ \t]*(?:(?:return|raise|import|from|pass|break|continue|del|assert)\b|[\w.]+[ \t]+=[ \t])", text)
        is not None
    )


def _open_brackets(lines: list[str], first: int, last: int) -> list[tuple[str, int]]:
    """Return the brackets that are open at the end of the last line, each with its line."""
    opened: list[tuple[str, int]] = []
    line = first
    for found in _BRACKETS.finditer("\n".join(lines[first : last + 1])):
        token = found[0]
        if token in _CLOSERS:
            opened.append((token, line))
        elif token in ")]}":
            if opened:
                opened.pop()
        else:
            line += token.count("\n")
    return opened


def _leave_out(lines: list[str], line: int, reason: str) -> bool:
    """Replace the line at the error, and what hangs on it, by nothing; False if there is nothing left to leave out."""
    while line > 0 and (not lines[line].strip() or lines[line].strip() == "pass"):
        line -= 1
    text = lines[line]
    indent = text[: len(text) - len(text.lstrip())]
    stripped = text.strip()
    if not stripped or stripped == "pass":
        return False
    if "unexpected indent" in reason or "unindent does not match" in reason:
        while line < len(lines) and (lines[line].startswith(indent) or not lines[line].strip()):
            lines[line] = ""
            line += 1
        return True
    definition = _DEFINITION.match(stripped)
    if definition and stripped.endswith(":"):
        plain = f"{definition[0]}(): " if definition["keyword"] == "def" else f"{definition[0]}:"
        if stripped != plain.strip():
            lines[line] = indent + plain.strip()
            return True
    if stripped.endswith(":") and _HEADER.match(stripped) and stripped != "if 1:":
        lines[line] = indent + "if 1:"
        return True
    lines[line] = indent + "pass"
    return True


_BY_REASON: dict[str, Callable[[list[str], int, SyntaxError], bool]] = {
    "f-string": lambda lines, line, error: _plain_string(lines, line),
    "unterminated triple-quoted": lambda lines, line, error: _close_triple(lines, line, error.offset or 1),
    "unterminated string": _close_string,
    "':' expected after dictionary key": lambda lines, line, error: _append(lines, line, f": {PLACEHOLDER},"),
    "expected ':'": lambda lines, line, error: _append(lines, line, ":"),
    "expected '('": lambda lines, line, error: _append(lines, line, "():"),
    "never closed": lambda lines, line, error: _close_brackets(lines, line),
    "expected argument value": lambda lines, line, error: _missing_value(lines, line),
    "expected default value": lambda lines, line, error: _missing_value(lines, line),
    "expression expected after": lambda lines, line, error: _missing_value(lines, line),
    "expected 'except' or 'finally'": lambda lines, line, error: _without_try(lines, line),
    "unmatched": _blank_bracket,
    "does not match": _blank_bracket,
}
"""What helps, by a part of what the parser (CPython's, 3.11 and later) says; the first that is found counts."""
