"""The engine's order of things: the newest request wins, every job ends once. The generator here is a fake."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tiercel.engine import Engine, Job, Request, Status, Update
from tiercel.index.workspace import Index
from tiercel.settings import Settings


class Progress:
    """What the real generator yields, as far as the engine looks at it."""

    def __init__(self, text: str, done: bool) -> None:
        self.text, self.done = text, done
        self.prompt_tokens = self.reused_tokens = self.new_tokens = 1
        self.prefill_ms = self.decode_ms = 0.0


class FakeTokens:
    """A token a word."""

    def count(self, text: str) -> int:
        return len(text.split())

    def head(self, text: str, tokens: int) -> str:
        return text

    def tail(self, text: str, tokens: int) -> str:
        return text


class FakeGenerator:
    """Says `a`, `ab`, `abc`, one letter each `step` seconds; stops when it is cancelled, as the real one does."""

    def __init__(self, step: float = 0.0) -> None:
        self.step = step
        self.tokens = FakeTokens()
        self.fills = False
        self.started: list[str] = []
        self.error: Exception | None = None

    def stream(self, prompt: Any, *, max_new_tokens: int, cancelled: Callable[[], bool]) -> Iterator[Progress]:
        self.started.append(prompt.prefix)
        if self.error:
            raise self.error
        for length in (1, 2, 3):
            time.sleep(self.step)
            if cancelled():
                return
            yield Progress("abc"[:length], done=length == 3)


class Running:
    """An engine on a fake generator, and the updates of each job."""

    def __init__(self, step: float = 0.0) -> None:
        self.statuses: list[Status] = []
        self.index = Index([])
        self.engine = Engine(Settings(), self.index, self.statuses.append)
        self.generator = FakeGenerator(step)
        # The model is "loaded": nothing but the generator is faked.
        self.engine._reload = False  # noqa: SLF001
        self.engine._generator = self.generator  # type: ignore[assignment]  # noqa: SLF001
        self.engine.start()

    def submit(self, uri: str, text: str = "x = ") -> tuple[Job, list[Update], threading.Event]:
        updates: list[Update] = []
        ended = threading.Event()

        def emit(update: Update) -> None:
            assert not ended.is_set(), "an update after the last one"
            updates.append(update)
            if update.done:
                ended.set()

        self.index.open(uri, text)
        return self.engine.submit(Request(uri, uri, text, len(text)), emit), updates, ended


@pytest.fixture
def slow() -> Iterator[Running]:
    running = Running(step=0.03)
    yield running
    running.engine.stop()


def test_a_completion_grows_to_its_end(slow: Running) -> None:
    _, updates, ended = slow.submit("a")
    assert ended.wait(5)
    assert [(u.text, u.done) for u in updates] == [("a", False), ("ab", False), ("abc", True)]


def test_of_one_document_only_the_newest_lives_and_others_are_left_alone(slow: Running) -> None:
    jobs = [slow.submit("a", f"{n} = ") for n in range(5)] + [slow.submit("b")]
    assert all(ended.wait(5) for _, _, ended in jobs)
    assert [updates[-1].superseded for _, updates, _ in jobs] == [True] * 4 + [False, False]
    assert [updates[-1].text for _, updates, _ in jobs][4:] == ["abc", "abc"]


def test_a_cancelled_job_stops_within_a_step_and_ends_once(slow: Running) -> None:
    job, updates, ended = slow.submit("a")
    time.sleep(0.045)
    slow.engine.cancel(job)
    assert ended.wait(1)
    assert updates[-1] == Update("", done=True, superseded=True)
    assert len(updates) <= 3


def test_stopping_ends_all_that_waits(slow: Running) -> None:
    jobs = [slow.submit(uri) for uri in "abc"]
    slow.engine.stop()
    assert all(ended.wait(2) for _, _, ended in jobs)


def test_a_completion_that_fails_is_reported_and_the_next_one_works() -> None:
    running = Running()
    running.generator.error = RuntimeError("no memory left")
    _, updates, ended = running.submit("a")
    assert ended.wait(5)
    assert updates == [Update("", done=True)]
    assert "no memory left" in running.statuses[-1].message
    assert running.engine.ready
    running.generator.error = None
    _, updates, ended = running.submit("a")
    assert ended.wait(5)
    assert updates[-1].text == "abc"
    assert running.engine.status == Status("ready")
    running.engine.stop()


def test_a_prompt_has_lf_only() -> None:
    running = Running()
    _, _, ended = running.submit("a", "a\r\nb\rc = ")
    assert ended.wait(5)
    assert running.generator.started == ["a\nb\nc = "]
    running.engine.stop()
