"""What a prompt is made of: plain data between the steps of this room, and what the person is shown of it."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

Kind = Literal["interface", "old version", "imports", "types", "class", "scope", "lines"]
Key = tuple[str, str, str]


class Tokens(Protocol):
    """The model's tokenizer, as far as this room needs it."""

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        ...

    def head(self, text: str, tokens: int) -> str:
        """Return the start of a text that has about so many tokens, whole characters."""
        ...

    def tail(self, text: str, tokens: int) -> str:
        """Return the end of a text that has about so many tokens, whole characters."""
        ...


class Part(msgspec.Struct, frozen=True):
    """A piece of the prompt, in the words that the model reads, ending with a line end. LF only.

    `path` and `line` (0-based) say where it comes from, `why` why it is there, `worth` how much it is worth having.
    """

    kind: Kind
    name: str
    path: str
    line: int
    text: str
    why: str
    worth: float = 0.0
    tokens: int = 0

    @property
    def key(self) -> Key:
        """What makes it the same part in the next prompt, whatever its text is by then."""
        return self.kind, self.path, self.name


class LeftOut(msgspec.Struct, frozen=True):
    """Something that was found and is not in the prompt, and why."""

    name: str
    path: str
    line: int
    why: str


class Wanted(msgspec.Struct, frozen=True):
    """Something worth having: the ways to say it, the fullest first, all of the same place."""

    forms: tuple[Part, ...]


class Scope(msgspec.Struct, frozen=True):
    """Stage 1: the code around the cursor. `before` ends at the cursor, `after` begins there. LF only.

    `first` is the line at which `before` starts, `name` the enclosing function's or class's, "" at the module's top.
    `header` is the class line of a method and `fields` its fields, `header_line` the line that it stands on.
    """

    before: str
    after: str
    path: str
    first: int
    name: str = ""
    imports: str = ""
    header: str = ""
    fields: str = ""
    header_line: int = -1
    fallback: str = ""
