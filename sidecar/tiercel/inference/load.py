"""Loads a model directory: safetensors by mmap, the tokenizer, the config. Weights in other forms are refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer

from tiercel.settings import ModelSettings

from .default_model import ensure_default_model
from .heal import Vocabulary
from .llama import SUPPORTED, Llama

Progress = Callable[[int, str], None]


class LoadError(Exception):
    """The model cannot be loaded; the message names the file or setting and the fix."""


@dataclass(frozen=True)
class Model:
    """A model ready to run: its forward pass, its tokenizer, the ids that end a text and the window in tokens.

    `vocabulary` is None where the tokenizer is not a byte-level one: prompts are then taken as they are.
    """

    llama: Llama
    tokenizer: Tokenizer
    end_ids: frozenset[int]
    window: int
    vocabulary: Vocabulary | None


def load(settings: ModelSettings, progress: Progress) -> Model:
    """Load the model that the settings name. Raises LoadError, DefaultModelError."""
    torch.set_num_threads(settings.threads or default_threads())
    folder = Path(settings.path).expanduser() if settings.path else ensure_default_model(progress)
    progress(10, "Reading the model")
    config = _config(folder)
    tokenizer_file = folder / "tokenizer.json"
    if not tokenizer_file.is_file():
        raise LoadError(f"{folder} has no tokenizer.json. Point tiercel.model.path to a whole model directory.")
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    progress(30, "Reading the weights")
    llama = Llama(config, _weights(folder))
    progress(100, "The model is loaded")
    special = _special_ids(tokenizer)
    vocabulary = Vocabulary(tokenizer, special) if "ByteLevel" in type(tokenizer.decoder).__name__ else None
    return Model(llama, tokenizer, special, int(config["max_position_embeddings"]), vocabulary)


def default_threads() -> int:
    """Physical cores less one, at least one, so that typing never waits for the model."""
    return max(1, _physical_cores() - 1)


def _physical_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    siblings = set()
    for cpu in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list"):
        siblings.add(cpu.read_text(encoding="ascii").strip())
    return min(cores, len(siblings)) if siblings else cores


def _config(folder: Path) -> dict[str, Any]:
    file = folder / "config.json"
    if not file.is_file():
        raise LoadError(
            f"{folder} has no config.json. Point tiercel.model.path to a model directory, or leave it empty."
        )
    try:
        config: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LoadError(f"{file} is not JSON: {error}. Fetch the model again.") from error
    if config.get("model_type") not in SUPPORTED:
        raise LoadError(f"{file} is of the type {config.get('model_type')!r}; supported are {', '.join(SUPPORTED)}.")
    return config


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise LoadError(f"{folder} has no .safetensors file; weights in other formats (pickle) are not loaded.")
    weights: dict[str, torch.Tensor] = {}
    for file in files:
        try:
            weights |= load_file(file)
        except (SafetensorError, OSError) as error:
            raise LoadError(f"{file} cannot be read: {error}. Fetch the model again.") from error
    return weights


def _special_ids(tokenizer: Tokenizer) -> frozenset[int]:
    return frozenset(i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special)
