"""The sidecar as a language server: one asyncio loop for messages and documents, handlers that call the engine."""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import __version__, parent
from .documents import Document, Documents, OutOfSyncError, path_of
from .engine import Engine, Job, Request, Status, Update
from .indexing import Indexing
from .protocol import (
    CancelCompletionParams,
    CancelParams,
    CompleteParams,
    CompleteResult,
    CompletionItem,
    CompletionList,
    CompletionOptions,
    CompletionParams,
    ContextParams,
    ContextResult,
    DidChangeConfigurationParams,
    DidChangeParams,
    DidCloseParams,
    DidOpenParams,
    InitializeParams,
    InitializeResult,
    InlineCompletionContext,
    InlineCompletionItem,
    InlineCompletionList,
    InlineCompletionParams,
    LogMessageParams,
    NeedTextParams,
    Position,
    SelfCheckResult,
    ServerCapabilities,
    ServerInfo,
    StatusParams,
    TextDocumentSyncOptions,
    UpdateParams,
)
from .rpc import NOT_INITIALIZED, BrokenFrame, Dispatcher, FrameReader, RpcError
from .rules.words import candidates
from .settings import Settings

log = logging.getLogger("tiercel.server")

GRACE_SECONDS = 1.0  # between the end of the input and the hard end of the process


class Server:
    """One editor's sidecar.

    Invariant: `_jobs` holds the jobs of `tiercel/complete` whose last update has not been sent, by token.
    """

    def __init__(self, send: Callable[[bytes], None], loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._rpc = Dispatcher(send)
        self._frames = FrameReader()
        self._documents = Documents()
        self._engine: Engine | None = None
        self._indexing: Indexing | None = None
        self._jobs: dict[int, Job] = {}
        self._lost: set[tuple[str, int]] = set()
        self.shut_down = False
        self.ended = asyncio.Event()
        self._register()

    def _register(self) -> None:
        on = self._rpc.on
        on("initialize", InitializeParams, self._initialize)
        on("initialized", Any, lambda _: None)
        on("shutdown", Any, self._shutdown)
        on("exit", Any, lambda _: self.ended.set())
        on("$/cancelRequest", CancelParams, lambda params: self._rpc.cancel(params.id))
        on("$/setTrace", Any, lambda _: None)
        on("workspace/didChangeConfiguration", DidChangeConfigurationParams, self._configure)
        on("textDocument/didOpen", DidOpenParams, self._did_open)
        on("textDocument/didChange", DidChangeParams, self._did_change)
        on("textDocument/didClose", DidCloseParams, self._did_close)
        on("textDocument/didSave", Any, lambda _: None)
        on("textDocument/inlineCompletion", InlineCompletionParams, self._inline_completion)
        on("textDocument/completion", CompletionParams, self._completion)
        on("tiercel/complete", CompleteParams, self._complete)
        on("tiercel/cancel", CancelCompletionParams, self._cancel)
        on("tiercel/context", ContextParams, self._context)
        on("tiercel/selfCheck", Any, self._self_check)

    def receive(self, data: bytes) -> None:
        """Take bytes from the editor."""
        for body in self._frames.feed(data):
            if isinstance(body, BrokenFrame):
                self._rpc.broken(body.reason)
            elif not self._rpc.receive(body):
                self._frames.push_back(body)

    def log_message(self, level: int, message: str) -> None:
        """Send a line of the log to the editor."""
        kind = 1 if level >= logging.ERROR else 2 if level >= logging.WARNING else 3 if level >= logging.INFO else 4
        self._rpc.notify("window/logMessage", LogMessageParams(type=kind, message=message))  # type: ignore[arg-type]

    # --- life cycle ---

    def _initialize(self, params: InitializeParams) -> InitializeResult:
        if self._engine is None:
            if params.process_id is not None:
                parent.watch(params.process_id)
            settings = params.initialization_options or Settings()
            self._indexing = Indexing(_roots(params), settings.index, lambda done, total: None)
            self._engine = Engine(settings, self._indexing.index, self._from_engine(self._status))
            self._engine.start()
            self._indexing.start()
        return InitializeResult(
            capabilities=ServerCapabilities(
                text_document_sync=TextDocumentSyncOptions(),
                completion_provider=CompletionOptions(trigger_characters=["."]),
            ),
            server_info=ServerInfo(name="tiercel", version=__version__),
        )

    def _shutdown(self, _params: object) -> None:
        self.shut_down = True
        if self._engine is not None:
            self._engine.stop()
        if self._indexing is not None:
            self._indexing.stop()

    def _configure(self, params: DidChangeConfigurationParams) -> None:
        self._running_engine().configure(params.settings)

    def _running_engine(self) -> Engine:
        if self._engine is None:
            raise RpcError(NOT_INITIALIZED, "Send `initialize` first.")
        return self._engine

    def _from_engine(self, handler: Callable[[Any], None]) -> Callable[[Any], None]:
        """Wrap `handler` so that the inference thread may call it: it runs on the loop."""

        def call(value: Any) -> None:
            try:
                self._loop.call_soon_threadsafe(handler, value)
            except RuntimeError:
                log.debug("dropped, the loop has ended: %r", type(value).__name__)

        return call

    def _status(self, status: Status) -> None:
        self._rpc.notify("tiercel/status", StatusParams(status.state, status.message, status.percent))

    async def _self_check(self, _params: object) -> SelfCheckResult:
        from .doctor import examine, unparsed

        index = None if self._indexing is None else self._indexing.index
        findings = await asyncio.to_thread(
            lambda: [*examine(), *([] if index is None else unparsed(index.fallbacks()))]
        )
        return SelfCheckResult(ok=all(finding.ok for finding in findings), findings=[str(f) for f in findings])

    # --- documents ---

    def _did_open(self, params: DidOpenParams) -> None:
        item = params.text_document
        document = self._documents.open(item.uri, item.version, item.text, item.language_id)
        if self._indexing is not None:
            self._indexing.index.open(_index_path(document.uri), document.text)

    def _did_change(self, params: DidChangeParams) -> None:
        uri, version = params.text_document.uri, params.text_document.version
        try:
            edits = self._documents.change(uri, version, params.content_changes)
        except OutOfSyncError as error:
            # Asked for once per version: an editor that cannot send it again shall not be asked for ever.
            if (uri, version) not in self._lost:
                self._lost.add((uri, version))
                log.warning("%s; asking for the whole text", error)
                self._rpc.notify("tiercel/needText", NeedTextParams(uri))
            return
        if self._indexing is not None and edits:
            ranges = [(edit.start, edit.end, len(edit.new)) for edit in edits]
            self._indexing.index.edits(_index_path(uri), edits[-1].text, ranges)

    def _did_close(self, params: DidCloseParams) -> None:
        self._documents.close(params.text_document.uri)
        if self._indexing is not None:
            self._indexing.index.close(_index_path(params.text_document.uri))

    # --- completion ---

    def _complete(self, params: CompleteParams) -> CompleteResult:
        engine = self._running_engine()
        document = self._documents.get(params.text_document.uri)
        if document is None or document.version != params.text_document.version:
            return CompleteResult(status="stale")
        request = self._request(document, params.position, params.context)
        if request is None:
            return CompleteResult(status="stale")
        if not engine.ready:
            return CompleteResult(status="notReady", percent=engine.status.percent)
        token = params.token

        def tell(update: Update) -> None:
            if update.done:
                self._jobs.pop(token, None)
            self._rpc.notify(
                "tiercel/update",
                UpdateParams(token, update.text, update.done, superseded=update.superseded, stats=update.stats),
            )

        self._jobs[token] = engine.submit(request, self._from_engine(tell))
        return CompleteResult(status="ok")

    def _cancel(self, params: CancelCompletionParams) -> None:
        job = self._jobs.get(params.token)
        if job is not None:
            self._running_engine().cancel(job)

    def _inline_completion(self, params: InlineCompletionParams) -> Any:
        engine = self._running_engine()
        document = self._documents.get(params.text_document.uri)
        request = None if document is None else self._request(document, params.position, params.context)
        if request is None or not engine.ready:
            return InlineCompletionList([])
        return self._whole(engine, request, params)

    async def _whole(self, engine: Engine, request: Request, params: InlineCompletionParams) -> InlineCompletionList:
        done: asyncio.Future[Update] = self._loop.create_future()

        def take(update: Update) -> None:
            if update.done and not done.done():
                done.set_result(update)

        job = engine.submit(request, self._from_engine(take))
        try:
            update = await done
        except asyncio.CancelledError:
            engine.cancel(job)
            raise
        selected = params.context.selected_completion_info
        if not update.text:
            return InlineCompletionList([])
        if selected is not None:
            typed = selected.text[: len(selected.text) - len(request.selected)]
            return InlineCompletionList([InlineCompletionItem(typed + update.text, selected.range)])
        return InlineCompletionList([InlineCompletionItem(update.text)])

    def _context(self, params: ContextParams) -> Any:
        engine = self._running_engine()
        document = self._documents.get(params.text_document.uri)
        request = None if document is None else self._request(document, params.position, InlineCompletionContext())
        return ContextResult("") if request is None else self._tell_context(engine, request)

    async def _tell_context(self, engine: Engine, request: Request) -> ContextResult:
        return ContextResult(await asyncio.to_thread(engine.context, request))

    def _request(self, document: Document, position: Position, context: InlineCompletionContext) -> Request | None:
        """Return what is to be completed, None if the position is gone or the selected entry does not continue it."""
        selected = context.selected_completion_info
        try:
            offset = document.offset(position)
            added = ""
            if selected is not None:
                typed = document.text[document.offset(selected.range.start) : offset]
                if not selected.text.startswith(typed):
                    return None
                added = selected.text[len(typed) :]
        except OutOfSyncError:
            return None
        return Request(document.uri, _index_path(document.uri), document.text, offset, document.newline, added)

    def _completion(self, params: CompletionParams) -> CompletionList:
        document = self._documents.get(params.text_document.uri)
        if document is None:
            return CompletionList(is_incomplete=False, items=[])
        try:
            offset = document.offset(params.position)
        except OutOfSyncError:
            return CompletionList(is_incomplete=False, items=[])
        names = candidates(document.text[:offset], document.text[offset:])
        items = [CompletionItem(name, sort_text=f"{rank:04}", insert_text=name) for rank, name in enumerate(names)]
        return CompletionList(is_incomplete=False, items=items)


def _roots(params: InitializeParams) -> list[Path]:
    """Return the folders of the workspace that are on a disk."""
    uris = [folder.uri for folder in params.workspace_folders or []] or [params.root_uri or ""]
    return [path for path in map(path_of, uris) if path is not None and path.is_dir()]


def _index_path(uri: str) -> str:
    """Return what the index knows a document by: its path, or its uri if it is not on the disk."""
    path = path_of(uri)
    return uri if path is None else str(path)


class _ToEditor(logging.Handler):
    """Sends the log to the editor; from any thread."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.INFO)
        self._server = server
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._loop.call_soon_threadsafe(self._server.log_message, record.levelno, self.format(record))
        except RuntimeError:  # the loop has ended; the line is on stderr
            return


def serve() -> int:
    """Run the sidecar on stdin and stdout until the editor ends it or is gone. Returns the exit code."""
    output = _take_stdout()
    code = asyncio.run(_serve(sys.stdin.fileno(), output))
    # The inference thread may be deep in a kernel: there is nothing left to wait for.
    sys.stderr.flush()
    os._exit(code)


def _take_stdout() -> int:
    """Keep stdout for the protocol: return a private descriptor of it, and let whatever prints go to stderr."""
    private = os.dup(sys.stdout.fileno())
    os.set_inheritable(private, False)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(private, os.O_BINARY)
        msvcrt.setmode(sys.stdin.fileno(), os.O_BINARY)
    return private


async def _serve(source: int, output: int) -> int:
    loop = asyncio.get_running_loop()
    outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    server = Server(outgoing.put, loop)
    logging.getLogger("tiercel").addHandler(_ToEditor(server, loop))
    writer = threading.Thread(target=_write, args=(output, outgoing), name="writer", daemon=True)
    writer.start()
    threading.Thread(target=_read, args=(source, server, loop), name="reader", daemon=True).start()
    await server.ended.wait()
    outgoing.put(None)
    await asyncio.to_thread(writer.join, GRACE_SECONDS)
    return 0 if server.shut_down else 1


def _read(source: int, server: Server, loop: asyncio.AbstractEventLoop) -> None:
    while data := os.read(source, 1 << 16):
        loop.call_soon_threadsafe(server.receive, data)
    loop.call_soon_threadsafe(server.ended.set)
    # If the loop does not come to it (the model loads, say), the process ends all the same.
    threading.Event().wait(GRACE_SECONDS)
    os._exit(1)


def _write(output: int, outgoing: queue.SimpleQueue[bytes | None]) -> None:
    try:
        while (data := outgoing.get()) is not None:
            view = memoryview(data)
            while view:
                view = view[os.write(output, view) :]
    except BrokenPipeError:
        os._exit(1)
