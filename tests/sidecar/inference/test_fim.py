"""Fill in the middle, by the tokens that a tokenizer has."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tiercel.inference.fim import TOKENS, Fim, encode_fim, find_fim
from tiercel.inference.generate import Generator
from tiercel.inference.load import Model
from tiercel.inference.prompt import Prompt


def tokenizer_with(names: tuple[str, ...]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2, "c": 3, "d": 4}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(names))
    return tokenizer


@pytest.mark.parametrize("names", TOKENS)
def test_the_tokens_of_each_family_are_found(names: tuple[str, ...]) -> None:
    tokenizer = tokenizer_with(names)
    fim = find_fim(tokenizer)
    assert fim is not None
    assert encode_fim(tokenizer, fim, "psm", "a b", "c d", 40) == [fim.prefix, 1, 2, fim.suffix, 3, 4, fim.middle]
    assert encode_fim(tokenizer, fim, "spm", "a b", "c d", 40) == [fim.prefix, fim.suffix, 3, 4, fim.middle, 1, 2]


def test_without_them_there_is_none() -> None:
    assert find_fim(tokenizer_with(("<fim_prefix>",))) is None


def test_the_room_is_kept_and_the_text_next_to_the_cursor_stays() -> None:
    tokenizer = tokenizer_with(TOKENS[0])
    ids = encode_fim(tokenizer, Fim(7, 8, 9), "psm", "a " * 50 + "b", "c " + "d " * 50, 20)
    assert len(ids) <= 20
    assert ids[ids.index(8) - 1] == 2
    assert ids[ids.index(8) + 1] == 3


def test_the_generator_takes_the_suffix_only_with_the_tokens() -> None:
    with_fim = tokenizer_with(TOKENS[0])
    fim = find_fim(with_fim)
    for tokenizer, found in ((with_fim, fim), (tokenizer_with(()), None)):
        model = Model(None, tokenizer, frozenset({0}), 64, None, found)  # type: ignore[arg-type]
        generator = Generator.__new__(Generator)
        generator._model = model  # noqa: SLF001
        ids, again = generator._encode(Prompt("a b", "c d", "psm"), 40)  # noqa: SLF001
        assert again == b""
        assert (3 in ids) == (found is not None)
