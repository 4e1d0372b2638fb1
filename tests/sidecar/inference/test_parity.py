"""Our forward pass and sessions against transformers' own modules, each architecture by its real class, small weights."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tiercel.inference.kv_cache import Session
from tiercel.inference.llama import Llama, fits
from tiercel.inference.load import LoadError, Model, load
from tiercel.settings import ModelSettings

VOCABULARY = 300
SMALL: dict[str, Any] = {"vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
LLAMA: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
GPT2: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
ARCHITECTURES: dict[str, Any] = {
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, **LLAMA)),
    "llama, tied": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**SMALL, **LLAMA, tie_word_embeddings=True)
    ),
    "llama, scaled rotary": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            **SMALL, **LLAMA, rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
        )
    ),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**SMALL, **LLAMA)),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SMALL, **LLAMA, head_dim=8)),
    "mistral": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(**SMALL, **LLAMA, sliding_window=None)
    ),
    "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**SMALL, **GPT2)),
    "gpt_bigcode": lambda: transformers.GPTBigCodeForCausalLM(transformers.GPTBigCodeConfig(**SMALL, **GPT2)),
    "starcoder2": lambda: transformers.Starcoder2ForCausalLM(
        transformers.Starcoder2Config(**SMALL, **LLAMA, sliding_window=None)
    ),
    "codegen": lambda: transformers.CodeGenForCausalLM(
        transformers.CodeGenConfig(**SMALL, **GPT2, rotary_dim=8, n_ctx=256)
    ),
}
BY_HAND = {"llama", "llama, tied", "qwen2", "mistral"}


def write_tokenizer(folder: Path) -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<s>": 0, "<b>": 1, "</s>": 2, **{character: 3 + n for n, character in enumerate(alphabet)}}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "<b>", "</s>"])
    tokenizer.save(str(folder / "tokenizer.json"))


@pytest.fixture(scope="module", params=ARCHITECTURES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Model]:
    """The reference module and the same weights loaded by us."""
    torch.manual_seed(0)
    reference = ARCHITECTURES[request.param]().eval()
    with torch.no_grad():  # weights of a size at which a wrong attention shows in the logits
        for weight in reference.parameters():
            weight.normal_(0, 0.3)
    folder = tmp_path_factory.mktemp("model")
    reference.save_pretrained(folder)
    write_tokenizer(folder)
    return request.param, reference, load(ModelSettings(path=str(folder), threads=1), lambda percent, what: None)


def expected(reference: Any, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = reference(input_ids=torch.tensor([ids])).logits[0, -1].float()
    return logits


def same(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert float((ours - theirs).abs().max()) <= 1e-4 * max(1.0, float(theirs.abs().max()))
    assert int(ours.argmax()) == int(theirs.argmax())


def test_each_architecture_takes_the_path_it_should(pair: tuple[str, Any, Model]) -> None:
    name, _, model = pair
    assert isinstance(model.forward, Llama) == (name in BY_HAND)
    assert model.window == 256


def test_logits_equal_those_of_transformers(pair: tuple[str, Any, Model]) -> None:
    _, reference, model = pair
    ids = [5, 9, 200, 17, 44, 130, 8, 8, 91]
    cache = model.forward.new_cache(64)
    same(model.forward.forward(ids[:6], cache)[-1], expected(reference, ids[:6]))
    for n in (7, 8, 9):
        same(model.forward.forward(ids[n - 1 : n], cache)[-1], expected(reference, ids[:n]))


@settings(max_examples=15)
@given(data=st.data())
def test_after_any_edits_the_session_equals_a_fresh_prefill(pair: tuple[str, Any, Model], data: st.DataObject) -> None:
    """Insertions, deletions, jumps: the ids change anywhere, and what is left of the KV is still right."""
    _, reference, model = pair
    session = Session(model.forward.new_cache(64))
    ids = data.draw(st.lists(st.integers(3, 255), min_size=2, max_size=20))
    for _ in range(4):
        start = data.draw(st.integers(0, len(ids)))
        end = data.draw(st.integers(start, len(ids)))
        ids = (ids[:start] + data.draw(st.lists(st.integers(3, 255), max_size=6)) + ids[end:]) or [7]
        kept = session.resync(ids)
        assert kept < len(ids)
        logits = model.forward.forward(ids[kept:], session.cache)
        session.appended(ids[kept:])
        assert session.cache.length == len(session.ids) == len(ids)
        same(logits[-1], expected(reference, ids))


def test_only_the_logits_asked_for_are_computed(pair: tuple[str, Any, Model]) -> None:
    _, _, model = pair
    assert model.forward.forward([5, 6, 7], model.forward.new_cache(8), last=2).shape == (2, VOCABULARY)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config.json": None}, "config.json"),
        ({"config.json": b"{"}, "not JSON"),
        ({"tokenizer.json": None}, "tokenizer.json"),
        ({"model.safetensors": None}, "pickle"),
        ({"model.safetensors": None, "pytorch_model.bin": b"x"}, "pickle"),
        ({"model.safetensors": b"\0" * 50}, "Fetch the model again"),
        ({"config.json": json.dumps({"model_type": "made_up"}).encode()}, "cannot be loaded"),
    ],
)
def test_what_cannot_be_loaded_names_the_fix(tmp_path: Path, change: dict[str, bytes | None], message: str) -> None:
    ARCHITECTURES["llama"]().save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    for name, content in change.items():
        if content is None:
            (tmp_path / name).unlink()
        else:
            (tmp_path / name).write_bytes(content)
    with pytest.raises(LoadError, match=message):
        load(ModelSettings(path=str(tmp_path)), lambda percent, what: None)


def test_a_device_that_there_is_not_is_refused() -> None:
    with pytest.raises(LoadError, match="set it to `auto`"):
        load(ModelSettings(device="cuda"), lambda percent, what: None)


def test_a_name_that_is_neither_a_directory_nor_a_hub_id_is_refused() -> None:
    with pytest.raises(LoadError, match="no directory and no hub id"):
        load(ModelSettings(path="/no/such/place"), lambda percent, what: None)


def test_fits_refuses_what_the_hand_written_pass_does_not_compute() -> None:
    good = {"model_type": "llama", "hidden_act": "silu"}
    assert fits(good)
    for other in ({"model_type": "gemma"}, {"hidden_act": "gelu"}, {"attention_bias": True}, {"sliding_window": 64}):
        assert not fits({**good, **other})
