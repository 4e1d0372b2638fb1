"""The generator on the real default model: stops, healing, cancelling, and the ghost of a deleted line."""

import itertools
import logging

import pytest

from tiercel.inference.default_model import default_model_dir
from tiercel.inference.generate import Generator
from tiercel.inference.load import load
from tiercel.inference.prompt import Progress, Prompt
from tiercel.inference.stop import cut
from tiercel.settings import ModelSettings


@pytest.fixture(scope="module")
def generator() -> Generator:
    return Generator(load(ModelSettings(path=str(default_model_dir()), threads=2), lambda percent, what: None))


def say(generator: Generator, prefix: str, tokens: int = 16) -> list[Progress]:
    return list(generator.stream(Prompt(prefix), max_new_tokens=tokens, cancelled=lambda: False))


FIB = 'def fib(n):\n    """Return the n-th Fibonacci number."""\n    if n'


def test_a_line_is_completed_to_its_end_and_grows(generator: Generator) -> None:
    said = say(generator, FIB)
    assert said[-1].done
    assert "\n" not in said[-1].text
    assert all(later.text.startswith(earlier.text) for earlier, later in itertools.pairwise(said))


def test_what_is_typed_along_is_not_computed_again_and_says_the_same(generator: Generator) -> None:
    whole = say(generator, FIB)[-1].text
    again = say(generator, FIB + whole[:3])[-1]
    assert whole[3:] == again.text
    assert again.prompt_tokens - again.reused_tokens <= 4


@pytest.mark.parametrize("cut_at", [1, 2, 3])
def test_half_a_word_is_healed(generator: Generator, cut_at: int) -> None:
    prefix = "import math\n\n\ndef area(radius):\n    return math.pi * radi"
    assert say(generator, prefix)[-1].text.startswith("us")
    shorter = prefix[:-cut_at]
    assert (shorter + say(generator, shorter)[-1].text).startswith(
        "import math\n\n\ndef area(radius):\n    return math."
    )


def test_a_deleted_line_leaves_no_ghost(generator: Generator) -> None:
    """The cache once kept the length of a deleted line, so that `user.` was completed as if the line were there."""
    with_line = "order = load()\nuser = order.user\norder.status = 1\nuser."
    without = "order = load()\nuser = order.user\nuser."
    fresh = say(generator, without)[-1].text
    say(generator, with_line)
    assert say(generator, without)[-1].text == fresh


def test_cancelling_stops_at_once_and_keeps_what_was_computed(generator: Generator) -> None:
    say(generator, "x = 1\n")
    calls = 0

    def cancelled() -> bool:
        nonlocal calls
        calls += 1
        return calls > 2

    said = list(generator.stream(Prompt(FIB), max_new_tokens=16, cancelled=cancelled))
    assert len(said) <= 2
    assert not said or not said[-1].done
    assert say(generator, FIB)[-1].reused_tokens > 10


def test_a_cache_that_does_not_fit_its_ids_is_rebuilt_and_logged(
    generator: Generator, caplog: pytest.LogCaptureFixture
) -> None:
    right = say(generator, FIB)[-1].text
    generator._session.cache.length -= 3  # noqa: SLF001 - the fault that must be found
    with caplog.at_level(logging.ERROR):
        said = say(generator, FIB)[-1]
    assert said.text == right
    assert said.reused_tokens == 0
    assert "rebuilt" in caplog.text


@pytest.mark.parametrize("prefix", ["", "\n", "é漢😀 = '"])
def test_no_prompt_breaks_it_and_no_special_token_is_said(generator: Generator, prefix: str) -> None:
    said = say(generator, prefix, 4)[-1]
    assert "<|" not in said.text
    assert "\ufffd" not in said.text


def test_a_prompt_longer_than_the_cache_is_cut_at_its_start(generator: Generator) -> None:
    small = Generator(generator._model, capacity=64)  # noqa: SLF001
    said = say(small, "x = 1\n" * 300 + "x = ", 8)[-1]
    assert said.done
    assert said.prompt_tokens <= 64 - 8


@pytest.mark.parametrize(
    ("text", "prefix", "kept", "ends"),
    [
        ("a + b\nc", "x = ", "a + b", True),
        ("a + b", "x = ", "a + b", False),
        ("y = 1\n    z = 2\nw = 3", "def f():\n    ", "y = 1\n    z = 2", True),
        ("if x:\n        y = 1\n    else:", "def f():\n    ", "if x:\n        y = 1\n    else:", False),
        ("y = 1\n\n    z = 2", "def f():\n    ", "y = 1", True),
        ("def f():\n    pass\n\n\ndef g", "", "def f():\n    pass", True),
        ("\tx = 1\ny", "def f():\n\t", "\tx = 1", True),
    ],
)
def test_where_a_completion_ends(text: str, prefix: str, kept: str, ends: bool) -> None:
    assert cut(text, prefix) == (kept, ends)
