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
    `device`: `auto` takes CUDA, then MPS, then the CPU.
    """

    path: str = ""
    threads: NotNegative = 0
    device: str = "auto"


class CompletionSettings(msgspec.Struct, rename="camel", frozen=True):
    """How long a completion may get, in tokens."""

    max_new_tokens: Positive = 48
    prompt_tokens: Positive = 600


class Settings(msgspec.Struct, rename="camel", frozen=True):
    """All settings, as `initializationOptions` and `workspace/didChangeConfiguration` carry them."""

    model: ModelSettings = msgspec.field(default_factory=ModelSettings)
    completion: CompletionSettings = msgspec.field(default_factory=CompletionSettings)
