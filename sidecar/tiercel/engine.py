"""One completion, top to bottom: from a place in a document to the ghost text that grows there.

`complete` is the story; `Engine` is the one inference thread that tells it, newest request first.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .context.explain import explain
from .context.order import Slots, Strategy
from .context.prompt import DEFAULT_STRATEGY, build
from .index.workspace import Index
from .inference.prompt import Prompt
from .protocol import CompletionStats, State
from .settings import Settings
from .shape import shape

if TYPE_CHECKING:  # torch is imported by the inference thread, while the first messages are answered
    from .inference.generate import Generator

log = logging.getLogger("tiercel.engine")


@dataclass(frozen=True)
class Request:
    """A place to complete: the document as it was, the cursor in code points.

    `path` is what the index knows the document by. `selected` is what the selected entry of the suggest list would
    still add at the cursor; the completion begins with it.
    """

    uri: str
    path: str
    text: str
    offset: int
    newline: str = "\n"
    selected: str = ""


@dataclass(frozen=True)
class Update:
    """The whole text so far, ready to insert at the cursor."""

    text: str
    done: bool
    superseded: bool = False
    stats: CompletionStats | None = None


@dataclass(frozen=True)
class Status:
    """Whether the model is there, and what is being done about it."""

    state: State
    message: str = ""
    percent: int | None = None


@dataclass
class Job:
    """A request on its way. `cancelled` is polled at each decode step and at each chunk of the prefill."""

    request: Request
    emit: Callable[[Update], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    arrived: float = field(default_factory=time.perf_counter)


def complete(
    request: Request,
    index: Index,
    slots: Slots,
    generator: Generator,
    settings: Settings,
    cancelled: Callable[[], bool],
) -> Iterator[Update]:
    """Yield the completion of `request` as it grows; the last update is `done` unless it was cancelled.

    `slots` are the places of the prompt's parts, kept from one completion to the next.
    Raises what the generator raises when the model cannot be run.
    """
    started = time.perf_counter()
    before, after = request.text[: request.offset], request.text[request.offset :]
    budget = settings.completion.prompt_tokens
    strategy: Strategy = "psm" if generator.fills else DEFAULT_STRATEGY
    read = build(
        index, request.path, request.text, request.offset, budget, generator.tokens, strategy=strategy, slots=slots
    )
    if not read.prefix:
        yield Update("", done=True)
        return
    context_ms = (time.perf_counter() - started) * 1000
    prompt = Prompt(read.prefix + request.selected, read.suffix, "psm" if generator.fills else "")
    shown = None
    for progress in generator.stream(prompt, max_new_tokens=settings.completion.max_new_tokens, cancelled=cancelled):
        text = shape(request.selected + progress.text, before, after, request.newline)
        if progress.done or text != shown:
            stats = CompletionStats(
                prompt_tokens=progress.prompt_tokens,
                reused_tokens=progress.reused_tokens,
                new_tokens=progress.new_tokens,
                context_ms=context_ms,
                prefill_ms=progress.prefill_ms,
                decode_ms=progress.decode_ms,
                total_ms=(time.perf_counter() - started) * 1000,
            )
            yield Update(text, progress.done, stats=stats)
            shown = text


class Engine:
    """The inference thread: loads the model, then completes what is asked, the newest request first.

    Invariant: at most one job runs; of each document at most one job is alive, the newest. Every job that was
    submitted gets exactly one last update (`done`), cancelled ones too.
    """

    def __init__(self, settings: Settings, index: Index, on_status: Callable[[Status], None]) -> None:
        self.settings = settings
        self._index = index
        self._slots = Slots()
        self.status = Status("starting")
        self._on_status = on_status
        self._waiting: list[Job] = []
        self._running: Job | None = None
        self._reload = True
        self._stopped = False
        self._generator: Generator | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="inference", daemon=True)

    @property
    def ready(self) -> bool:
        """Whether there is a model to complete with."""
        return self._generator is not None

    def context(self, request: Request) -> str:
        """Return what the model would read for a request, told to a person; "" while there is no model.

        May be called on any thread.
        """
        generator = self._generator
        if generator is None:
            return ""
        budget = self.settings.completion.prompt_tokens
        prompt = build(self._index, request.path, request.text, request.offset, budget, generator.tokens)
        return str(explain(self._index, prompt, generator.tokens))

    def start(self) -> None:
        """Begin to load the model."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the decode step that it is in; jobs that wait get their last update."""
        with self._changed:
            self._stopped = True
            self._cancel_all(lambda _job: True)
            self._changed.notify()

    def configure(self, settings: Settings) -> None:
        """Take new settings; another model is loaded in the place of the old one."""
        with self._changed:
            if settings.model != self.settings.model:
                self._reload = True
                self._cancel_all(lambda _job: True)
            self.settings = settings
            self._changed.notify()

    def submit(self, request: Request, emit: Callable[[Update], None]) -> Job:
        """Queue a completion; what was asked for the same document before is superseded.

        `emit` is called on the inference thread, or on this one for jobs that never got to run.
        """
        job = Job(request, emit)
        with self._changed:
            self._cancel_all(lambda other: other.request.uri == request.uri)
            self._waiting.append(job)
            self._changed.notify()
        return job

    def cancel(self, job: Job) -> None:
        """Stop a job within one decode step."""
        with self._changed:
            self._cancel_all(lambda other: other is job)

    def _cancel_all(self, which: Callable[[Job], bool]) -> None:
        for job in [job for job in self._waiting if which(job)]:
            self._waiting.remove(job)
            job.cancelled.set()
            job.emit(Update("", done=True, superseded=True))
        if self._running is not None and which(self._running):
            self._running.cancelled.set()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._reload or self._waiting)
                if self._stopped:
                    return
                reload, self._reload = self._reload, False
                job = None if reload else self._waiting.pop()
                self._running = job
            if job is None:
                self._load()
            else:
                self._finish(job)
                with self._changed:
                    self._running = None

    def _finish(self, job: Job) -> None:
        """Run one job; whatever happens, its last update is sent."""
        stopped = Update("", done=True, superseded=True)
        last = stopped  # unless the generator comes to its end
        try:
            if self._generator is not None:
                queued_ms = (time.perf_counter() - job.arrived) * 1000
                for update in self._complete(job, self._generator):
                    if update.stats is not None:
                        update.stats.queue_ms = queued_ms
                    if job.cancelled.is_set():
                        last = stopped
                        break
                    if update.done:
                        last = update
                    else:
                        job.emit(update)
        except Exception as error:  # the thread must outlive any one completion
            log.exception("the completion of %s failed", job.request.uri)
            self._report(Status("error", f"A completion failed: {error!r}. See the log; Restart may help."))
            last = Update("", done=True)
        else:
            if self.status.state == "error":
                self._report(Status("ready"))
        job.emit(last)

    def _complete(self, job: Job, generator: Generator) -> Iterator[Update]:
        return complete(job.request, self._index, self._slots, generator, self.settings, job.cancelled.is_set)

    def _load(self) -> None:
        self._report(Status("loading", "Loading the model", 0))
        self._generator = None
        try:
            from .inference.default_model import DefaultModelError
            from .inference.generate import Generator
            from .inference.load import LoadError, load

            try:
                model = load(self.settings.model, lambda percent, what: self._report(Status("loading", what, percent)))
                self._generator = Generator(model)
            except (DefaultModelError, LoadError) as error:
                log.error("%s", error)
                self._report(Status("error", str(error)))
                return
        except ImportError as error:
            log.exception("a package is missing")
            self._report(Status("error", f"{error}. Set the environment up again: `scripts/start`."))
            return
        except (MemoryError, OSError, RuntimeError, ValueError) as error:
            log.exception("the model could not be loaded")
            self._report(Status("error", f"The model could not be loaded: {error}. `tiercel doctor` says more."))
            return
        self._report(Status("ready"))

    def _report(self, status: Status) -> None:
        self.status = status
        self._on_status(status)
