"""JSON-RPC 2.0 over bytes with LSP's framing: split frames, mend the stream after a broken one, dispatch by method.

This room knows nothing of Python source or models. `FrameReader` turns bytes into bodies, `Dispatcher` turns bodies
into calls of handlers and results into bodies.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec

log = logging.getLogger("tiercel.rpc")

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800

MAX_HEADER = 8 * 1024
MAX_BODY = 256 * 1024 * 1024
_LENGTH = re.compile(rb"Content-Length:[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)
_HEADER_NAME = b"content-length:"


class RpcError(Exception):
    """An error that the caller of a request is told: a JSON-RPC code and a message that says what to do."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class BrokenFrame(msgspec.Struct, frozen=True):
    """What stands in the stream where a frame should be."""

    reason: str


class Envelope(msgspec.Struct):
    """Any JSON-RPC message, its payload not yet decoded."""

    jsonrpc: str = ""
    id: int | str | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"null")
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


_envelope = msgspec.json.Decoder(Envelope)


class FrameReader:
    """Cuts a byte stream into message bodies.

    Invariant: what was fed is either yielded as a body, reported as broken once, or still in the buffer; after a
    broken frame reading goes on at the next `Content-Length` header, wherever it stands.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes | BrokenFrame]:
        """Add bytes; yield each body that is complete by now, and each stretch that is none."""
        self._buffer += data
        while (frame := self._next()) is not None:
            yield frame

    def push_back(self, body: bytes) -> None:
        """Take back what of a body that is not JSON may be the next header: its length was wrong."""
        lowered = body.lower()
        at = lowered.find(_HEADER_NAME)
        if at < 0:
            cut = (n for n in range(len(_HEADER_NAME) - 1, 0, -1) if lowered.endswith(_HEADER_NAME[:n]))
            at = len(body) - next(cut, 0)
        self._buffer[:0] = body[at:]

    def _next(self) -> bytes | BrokenFrame | None:
        buffer = self._buffer
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(buffer) > MAX_HEADER:
                return self._skip("no header within 8 KB")
            return None
        length = _LENGTH.search(buffer, 0, end + 2)
        if length is None:
            return self._skip("a header without a Content-Length that is a number")
        if int(length[1]) > MAX_BODY:
            return self._skip(f"a Content-Length of {int(length[1])}, more than {MAX_BODY}")
        stop = end + 4 + int(length[1])
        if len(buffer) < stop:
            return None
        body = bytes(buffer[end + 4 : stop])
        del buffer[:stop]
        return body

    def _skip(self, reason: str) -> BrokenFrame:
        """Drop bytes up to the next header that follows the one at the start."""
        lowered = self._buffer.lower()
        at = lowered.find(_HEADER_NAME, 1)
        # The header's name may itself be cut by the end of what has come so far.
        del self._buffer[: at if at >= 0 else max(1, len(self._buffer) - len(_HEADER_NAME))]
        return BrokenFrame(reason)


def frame(message: object) -> bytes:
    """Encode one message with its header."""
    body = msgspec.json.encode(message)
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


Handler = Callable[[Any], Any]


class Dispatcher:
    """Routes messages to handlers and sends what they return.

    A handler is called at once, in the order of the messages, so that it sees the state that its message was sent
    in; if it returns an awaitable, that runs as a task and its result is the answer.
    Invariant: each request gets exactly one answer; `_running` holds the tasks of those that have none yet.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._handlers: dict[str, tuple[msgspec.json.Decoder[Any], Handler]] = {}
        self._running: dict[int | str, asyncio.Future[object]] = {}

    def on(self, method: str, params: Any, handler: Handler) -> None:
        """Register `handler` for `method`; `params` is the type that its payload is decoded into."""
        self._handlers[method] = (msgspec.json.Decoder(params), handler)

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send(frame({"jsonrpc": "2.0", "method": method, "params": params}))

    def cancel(self, request_id: int | str) -> None:
        """Stop a running request; it is answered with `RequestCancelled`. Unknown ids are ignored."""
        task = self._running.get(request_id)
        if task is not None:
            task.cancel()

    def receive(self, body: bytes) -> bool:
        """Handle one message. Returns False if the body was no JSON at all (its frame may have been cut wrongly)."""
        try:
            message = _envelope.decode(body)
        except msgspec.ValidationError as error:
            self._fail(None, INVALID_REQUEST, f"Not a JSON-RPC message: {error}.")
            return True
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._fail(None, PARSE_ERROR, f"Not JSON: {error}.")
            return False
        if message.method is None:
            if not (bytes(message.result) or bytes(message.error)):
                self._fail(message.id, INVALID_REQUEST, "A message needs a method.")
            return True
        self._call(message.method, message)
        return True

    def broken(self, reason: str) -> None:
        """Answer a stretch of bytes that is no frame."""
        self._fail(None, PARSE_ERROR, f"Not a frame: {reason}. Reading goes on at the next Content-Length header.")

    def _call(self, method: str, message: Envelope) -> None:
        known = self._handlers.get(method)
        if known is None:
            if message.id is not None:
                self._fail(message.id, METHOD_NOT_FOUND, f"There is no method {method!r}.")
            elif not method.startswith("$/"):
                log.warning("ignored the unknown notification %r", method)
            return
        decoder, handler = known
        try:
            result = handler(decoder.decode(message.params))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._refuse(message.id, RpcError(INVALID_PARAMS, f"The params of {method} are wrong: {error}."))
        except RpcError as error:
            self._refuse(message.id, error)
        except Exception as error:  # the outermost frame: one bad request must not end the others
            log.exception("%s failed", method)
            self._refuse(message.id, RpcError(INTERNAL_ERROR, f"{method} failed: {error!r}. See the log."))
        else:
            if inspect.isawaitable(result):
                self._start(message.id, method, result)
            elif message.id is not None:
                self._answer(message.id, result)

    def _start(self, request_id: int | str | None, method: str, result: Awaitable[object]) -> None:
        task = asyncio.ensure_future(result)
        if request_id is not None:
            self._running[request_id] = task
        # A task that is cancelled before its first step never runs a line of its own: only its end is sure to be seen.
        task.add_done_callback(lambda task: self._finish(request_id, method, task))

    def _finish(self, request_id: int | str | None, method: str, task: asyncio.Future[object]) -> None:
        if request_id is not None:
            self._running.pop(request_id, None)
        if task.cancelled():
            self._refuse(request_id, RpcError(REQUEST_CANCELLED, f"{method} was cancelled."))
        elif isinstance(error := task.exception(), RpcError):
            self._refuse(request_id, error)
        elif error is not None:
            log.error("%s failed", method, exc_info=error)
            self._refuse(request_id, RpcError(INTERNAL_ERROR, f"{method} failed: {error!r}. See the log."))
        elif request_id is not None:
            self._answer(request_id, task.result())

    def _answer(self, request_id: int | str, result: object) -> None:
        self._send(frame({"jsonrpc": "2.0", "id": request_id, "result": result}))

    def _refuse(self, request_id: int | str | None, error: RpcError) -> None:
        if request_id is None:
            log.warning("a notification was refused: %s", error.message)
        else:
            self._fail(request_id, error.code, error.message)

    def _fail(self, request_id: int | str | None, code: int, message: str) -> None:
        self._send(frame({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}))
