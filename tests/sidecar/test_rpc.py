"""Frames and dispatch, without a process."""

import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercel.rpc import BrokenFrame, Dispatcher, FrameReader, RpcError, frame


def bodies(reader: FrameReader, data: bytes) -> list[bytes]:
    return [body for body in reader.feed(data) if isinstance(body, bytes)]


@given(st.lists(st.binary(max_size=60), max_size=5), st.data())
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(messages: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(m), m) for m in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    reader = FrameReader()
    out: list[bytes | BrokenFrame] = []
    for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        out += reader.feed(stream[start:stop])
    assert out == messages


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    reader = FrameReader()
    list(reader.feed(noise))
    good = frame({"id": 1})
    # However wrong a length in the noise is, frames come through again after enough bytes.
    out = [body for _ in range(5) for body in bodies(reader, good)] if b"ontent" not in noise.lower() else [good]
    assert out


@pytest.mark.parametrize(
    "broken",
    [
        b"Content-Length: many\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: -3\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"garbage\r\n\r\n",
    ],
)
def test_after_a_broken_header_the_next_frame_is_read(broken: bytes) -> None:
    reader = FrameReader()
    out = list(reader.feed(broken + frame({"id": 1})))
    assert isinstance(out[0], BrokenFrame)
    assert out[-1] == b'{"id":1}'


@pytest.mark.parametrize("too_long", range(1, 19))
def test_a_length_that_is_too_long_is_mended_at_the_next_header(too_long: int) -> None:
    reader = FrameReader()
    good = frame({"id": 1})
    (body,) = reader.feed(b"Content-Length: %d\r\n\r\n{}" % (2 + too_long) + good[:too_long])
    assert isinstance(body, bytes)
    reader.push_back(body)
    assert bodies(reader, good[too_long:]) == [b'{"id":1}']


class Sent:
    """A dispatcher whose answers are kept."""

    def __init__(self) -> None:
        self.out: list[dict[str, Any]] = []
        self.dispatcher = Dispatcher(lambda data: self.out.append(json.loads(data.split(b"\r\n\r\n", 1)[1])))

    def receive(self, **message: Any) -> None:
        self.dispatcher.receive(msgspec.json.encode({"jsonrpc": "2.0", **message}))


def test_errors_have_their_codes() -> None:
    sent = Sent()

    def refuse(_params: Any) -> None:
        raise RpcError(-32002, "Send `initialize` first.")

    sent.dispatcher.on("refuse", Any, refuse)
    sent.dispatcher.on("broken", Any, lambda _: 1 // 0)
    sent.dispatcher.on("typed", dict[str, int], lambda params: params)
    sent.receive(id=1, method="refuse")
    sent.receive(id=2, method="broken")
    sent.receive(id=3, method="typed", params={"a": "no number"})
    sent.receive(id=4, method="typed", params={"a": 1})
    sent.receive(id=5, method="unknown")
    sent.receive(id=6)
    assert not sent.dispatcher.receive(b"{no json")
    sent.dispatcher.receive(b"[1, 2]")
    codes = [(m["id"], m["error"]["code"]) for m in sent.out if "error" in m]
    assert codes == [(1, -32002), (2, -32603), (3, -32602), (5, -32601), (6, -32600), (None, -32700), (None, -32600)]
    assert {"jsonrpc": "2.0", "id": 4, "result": {"a": 1}} in sent.out


@pytest.mark.parametrize("body", [b'{"jsonrpc":"2.0","id":1,"method":"t","params":{"a":"\xff"}}', b'\xff\xfe{"id":1}'])
def test_invalid_utf_8_is_an_error_and_not_the_end(body: bytes) -> None:
    sent = Sent()
    sent.dispatcher.on("t", dict[str, str], lambda params: params)
    sent.dispatcher.receive(body)
    assert sent.out[0]["error"]["code"] in (-32700, -32602)


def test_a_cancelled_request_is_answered_once_and_stops() -> None:
    sent = Sent()
    stopped: list[bool] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    async def run() -> None:
        sent.dispatcher.on("slow", Any, lambda _: slow())
        sent.receive(id="a", method="slow")
        await asyncio.sleep(0)
        sent.dispatcher.cancel("a")
        sent.dispatcher.cancel("never seen")
        await asyncio.sleep(0.01)

    asyncio.run(run())
    assert stopped == [True]
    assert [(m["id"], m["error"]["code"]) for m in sent.out] == [("a", -32800)]
