"""Loads a model: safetensors by mmap, tokenizer, config. Weights in other forms are refused, no code is run."""

from __future__ import annotations

import json
import os
import re
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
from .fim import Fim, find_fim
from .forward import Forward, TransformersModel
from .heal import Vocabulary
from .llama import Llama, fits

Progress = Callable[[int, str], None]
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_WANTED = ["*.safetensors", "*.json", "tokenizer*", "vocab*", "merges*"]


class LoadError(Exception):
    """The model cannot be loaded; the message names the file or setting and the fix."""


@dataclass(frozen=True)
class Model:
    """A model ready to run: its forward pass, its tokenizer, the ids that end a text and the window in tokens.

    `vocabulary` is None where the tokenizer is not a byte-level one: prompts are then taken as they are. `fim` is None
    where it has no fill-in-the-middle tokens.
    """

    forward: Forward
    tokenizer: Tokenizer
    end_ids: frozenset[int]
    window: int
    vocabulary: Vocabulary | None
    fim: Fim | None


def load(settings: ModelSettings, progress: Progress) -> Model:
    """Load the model that the settings name. Raises LoadError, DefaultModelError."""
    if settings.device not in ("auto", "cpu"):
        raise LoadError(f"tiercel.model.device is {settings.device!r}; so far there is only the CPU: set it to `auto`.")
    torch.set_num_threads(settings.threads or default_threads())
    folder = _folder(settings.path, progress) if settings.path else ensure_default_model(progress)
    progress(10, "Reading the model")
    config = _config(folder)
    tokenizer_file = folder / "tokenizer.json"
    if not tokenizer_file.is_file():
        raise LoadError(f"{folder} has no tokenizer.json. Point tiercel.model.path to a whole model directory.")
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    progress(30, "Reading the weights")
    if not any(folder.glob("*.safetensors")):
        raise LoadError(f"{folder} has no .safetensors file; weights in other formats (pickle) are not loaded.")
    forward: Forward = Llama(config, _weights(folder)) if fits(config) else _any_model(folder)
    progress(100, "The model is loaded")
    special = _special_ids(tokenizer)
    vocabulary = Vocabulary(tokenizer, special) if "ByteLevel" in type(tokenizer.decoder).__name__ else None
    window = next((config[key] for key in ("max_position_embeddings", "n_positions", "n_ctx") if config.get(key)), 2048)
    return Model(forward, tokenizer, special, int(window), vocabulary, find_fim(tokenizer))


def _folder(path: str, progress: Progress) -> Path:
    """Return the directory of a local path, or of a hub id, fetched if it is not in the hub's cache."""
    folder = Path(path).expanduser()
    if folder.is_dir():
        return folder
    if not _HUB_ID.fullmatch(path):
        raise LoadError(f"{path} is no directory and no hub id. Set tiercel.model.path to one, or to nothing.")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    progress(0, f"Fetching {path}")
    try:
        return Path(snapshot_download(path, allow_patterns=_WANTED))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise LoadError(
            f"{path} is no local directory, and it could not be fetched from the hub: {str(error).splitlines()[0]} "
            "Check the name and the network, or set tiercel.model.path to a directory."
        ) from error


def _any_model(folder: Path) -> TransformersModel:
    """Load a model of another architecture with transformers: safetensors only, no code of the model's own."""
    from transformers import AutoModelForCausalLM

    try:
        module = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, trust_remote_code=False, local_files_only=True
        )
    except (ValueError, OSError, KeyError, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0]
        raise LoadError(f"{folder} cannot be loaded: {reason}. Choose another model, or fetch it again.") from error
    return TransformersModel(module)


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
    return config


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    weights: dict[str, torch.Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        try:
            weights |= load_file(file)
        except (SafetensorError, OSError) as error:
            raise LoadError(f"{file} cannot be read: {error}. Fetch the model again.") from error
    return weights


def _special_ids(tokenizer: Tokenizer) -> frozenset[int]:
    return frozenset(i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special)
