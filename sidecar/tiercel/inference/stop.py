"""Where a completion ends, judged by its text alone."""

from __future__ import annotations


def cut(text: str, prefix: str) -> tuple[str, bool]:
    """Return what of `text` belongs to the completion after `prefix`, and whether it ends there.

    In the middle of a line it ends at the line's end; on an empty line before the first line that is indented less,
    or after an empty line.
    """
    line = prefix[prefix.rfind("\n") + 1 :]
    if line.strip():
        end = text.find("\n")
        return (text, False) if end < 0 else (text[:end], True)
    width = len(line.expandtabs(4))
    lines = (line + text).split("\n")
    for number, each in enumerate(lines):
        last = number == len(lines) - 1
        if number and not each.strip() and not last:
            return "\n".join(lines[:number])[len(line) :], True
        if number and each.strip() and len(each.expandtabs(4)) - len(each.expandtabs(4).lstrip()) < width:
            return "\n".join(lines[:number])[len(line) :], True
    return text, False
