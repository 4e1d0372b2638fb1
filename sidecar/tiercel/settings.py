"""The settings that a user may change, with their defaults. `package.json` documents the same names."""

from __future__ import annotations

from typing import Annotated

import msgspec

Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]


class ModelSettings(msgspec.Struct, rename="camel", frozen=True):
    """Which language model, and on what.

    `path`: empty for the default model, else a local directory or a hub id (safetensors only).
    `threads`: 0 for physical cores less one, at least 1.
    `device`: `auto` or `cpu`; so far there is no other.
    """

    path: str = ""
    threads: NotNegative = 0
    device: str = "auto"


class CompletionSettings(msgspec.Struct, rename="camel", frozen=True):
    """How long a completion may get, in tokens."""

    max_new_tokens: Positive = 48
    prompt_tokens: Positive = 600


class IndexSettings(msgspec.Struct, rename="camel", frozen=True):
    """What of the workspace is indexed, and how.

    `interpreter`: the Python whose packages the workspace uses; empty for the workspace's own virtual environment, or
    the sidecar's. It is run once, alone (`-I`), to ask for its search path.
    `exclude`: patterns as in .gitignore of what is left out, beyond what git ignores.
    `max_file_size`: bytes; larger files are left out.
    `workers`: processes for the first indexing; 0 for the physical cores less one, at least 1 and at most 4.
    `poll_seconds`: how often the disk is looked at where it cannot be watched.
    """

    interpreter: str = ""
    exclude: tuple[str, ...] = ()
    max_file_size: Positive = 1_000_000
    workers: NotNegative = 0
    poll_seconds: Positive = 10


class Settings(msgspec.Struct, rename="camel", frozen=True):
    """All settings, as `initializationOptions` and `workspace/didChangeConfiguration` carry them."""

    model: ModelSettings = msgspec.field(default_factory=ModelSettings)
    completion: CompletionSettings = msgspec.field(default_factory=CompletionSettings)
    index: IndexSettings = msgspec.field(default_factory=IndexSettings)
