"""Candidates from the text alone: the names that this document has used in the same place before."""

from __future__ import annotations

import keyword
import re
from collections import Counter

_MEMBER = re.compile(r"([A-Za-z_][\w.\[\]()'\"]*)\.([A-Za-z_]\w*)?$")
_NAME = re.compile(r"[A-Za-z_]\w*$")
_ATTRIBUTE = re.compile(r"\.([A-Za-z_]\w*)")
_WORD = re.compile(r"[A-Za-z_]\w*")
LIMIT = 100


def candidates(before: str, after: str) -> list[str]:
    """Return the names that may stand at the cursor, likeliest first; at most `LIMIT`, [] inside a number or after ")".

    After a dot these are the attributes used on the same receiver text, then the attributes used on any; elsewhere
    the names of the document, by how often they occur.
    """
    line = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    text = before + " " + after
    member = _MEMBER.search(line)
    if member is not None:
        receiver, typed = member[1], member[2] or ""
        same = re.compile(rf"(?<![\w.]){re.escape(receiver)}\.([A-Za-z_]\w*)")
        ranked = [*_by_count(same.findall(text)), *_by_count(_ATTRIBUTE.findall(text))]
    else:
        name = _NAME.search(line)
        if name is None:
            return []
        typed = name[0]
        ranked = _by_count(_WORD.findall(text))
    fitting = (word for word in ranked if word.startswith(typed) and word != typed and not keyword.iskeyword(word))
    return list(dict.fromkeys(fitting))[:LIMIT]


def _by_count(words: list[str]) -> list[str]:
    return [word for word, _ in Counter(words).most_common()]
