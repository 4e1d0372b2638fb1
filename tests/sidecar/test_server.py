"""The real sidecar as a process, with the real default model, over stdio."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar_client import Message, Sidecar

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-P", "-m", "tiercel", "serve"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "sidecar"), "PYTHONUTF8": "1"}
URI = "file:///tmp/sample.py"
FIB = 'def fib(n):\n    """Return the n-th Fibonacci number."""\n    if n'
END = {"line": 2, "character": 8}


def start() -> Sidecar:
    return Sidecar(COMMAND, ENVIRONMENT)


@pytest.fixture(scope="module")
def ready() -> Iterator[Sidecar]:
    sidecar = start()
    sidecar.initialize()
    yield sidecar
    assert sidecar.end() == 0


def inline(line: int, character: int, uri: str = URI, **context: Any) -> Message:
    position = {"line": line, "character": character}
    return {"textDocument": {"uri": uri}, "position": position, "context": {"triggerKind": 2, **context}}


def answer_to(sidecar: Sidecar, number: int) -> Message:
    return sidecar.wait_for(lambda m: m.get("id") == number and "method" not in m, 5)


def last_update(sidecar: Sidecar, token: int) -> Message:
    def is_it(message: Message) -> bool:
        params = message.get("params", {})
        return message.get("method") == "tiercel/update" and params["token"] == token and params["done"]

    params: Message = sidecar.wait_for(is_it)["params"]
    return params


def test_initialize_says_what_the_sidecar_can_do() -> None:
    sidecar = start()
    result = sidecar.initialize(wait=False)["result"]
    assert result["serverInfo"]["name"] == "tiercel"
    assert result["capabilities"]["textDocumentSync"] == {"openClose": True, "change": 2}
    assert result["capabilities"]["inlineCompletionProvider"] is True
    # The model still loads: answers come all the same.
    sidecar.open(URI, FIB)
    params = {"token": 1, "textDocument": {"uri": URI, "version": 1}, "position": END}
    assert sidecar.request("tiercel/complete", params, timeout=5)["result"]["status"] == "notReady"
    assert sidecar.request("textDocument/inlineCompletion", inline(2, 8), timeout=5)["result"] == {"items": []}
    sidecar.wait_ready()
    loading = [m["params"] for m in sidecar.passed if m.get("method") == "tiercel/status"]
    assert any(status["state"] == "loading" and status["percent"] is not None for status in loading)
    assert sidecar.end() == 0


def test_a_completion_grows_and_ends(ready: Sidecar) -> None:
    ready.open(URI, FIB)
    updates = ready.complete(URI, 1, 2, 8)
    assert updates[-1]["text"].startswith((" ==", " <", " >")), updates[-1]
    assert "\n" not in updates[-1]["text"]
    assert updates[-1]["stats"]["newTokens"] >= 2
    assert all("<|" not in update["text"] for update in updates)
    assert [update["done"] for update in updates] == [False] * (len(updates) - 1) + [True]
    again = ready.complete(URI, 1, 2, 8)
    assert again[-1]["text"] == updates[-1]["text"]
    assert again[-1]["stats"]["reusedTokens"] >= again[-1]["stats"]["promptTokens"] - 1


def test_the_standard_inline_completion_gives_the_same_text(ready: Sidecar) -> None:
    ready.open(URI, FIB)
    text = ready.complete(URI, 1, 2, 8)[-1]["text"]
    items = ready.request("textDocument/inlineCompletion", inline(2, 8))["result"]["items"]
    assert [item["insertText"] for item in items] == [text]


def test_a_selected_entry_is_extended_or_nothing_is_said(ready: Sidecar) -> None:
    ready.open(URI, "import math\n\nx = math.sq")
    start, end = {"line": 2, "character": 9}, {"line": 2, "character": 11}
    selected = {"range": {"start": start, "end": end}, "text": "sqrt"}
    (item,) = ready.request("textDocument/inlineCompletion", inline(2, 11, selectedCompletionInfo=selected))["result"][
        "items"
    ]
    assert item["insertText"].startswith("sqrt")
    assert item["range"] == selected["range"]
    other = {**selected, "text": "floor"}
    assert ready.request("textDocument/inlineCompletion", inline(2, 11, selectedCompletionInfo=other))["result"] == {
        "items": []
    }


def test_names_of_the_document_are_completed(ready: Sidecar) -> None:
    ready.open(URI, "user.name = 1\nuser.email = 2\nuser.name = other.thing\nuser.")
    items = ready.request("textDocument/completion", inline(3, 5))["result"]["items"]
    assert [item["label"] for item in items] == ["name", "email", "thing"]


def test_edits_are_followed_and_a_gap_asks_for_the_text(ready: Sidecar) -> None:
    ready.open(URI, "x = 1\r\n")
    place = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}}
    changes = [{"range": place, "text": "😀 = x.a\r\ny = x."}]
    document = {"uri": URI, "version": 2}
    ready.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
    labels = [i["label"] for i in ready.request("textDocument/completion", inline(2, 6))["result"]["items"]]
    assert labels == ["a"]
    ready.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 9}, "contentChanges": changes})
    need = ready.wait_for(lambda m: m.get("method") == "tiercel/needText", 5)
    assert need["params"] == {"uri": URI}


@pytest.mark.parametrize(("version", "line"), [(7, 0), (1, 99)])
def test_a_version_or_position_that_is_gone_is_stale(ready: Sidecar, version: int, line: int) -> None:
    ready.open(URI, "x = 1")
    document = {"uri": URI, "version": version}
    params = {"token": 1, "textDocument": document, "position": {"line": line, "character": 0}}
    assert ready.request("tiercel/complete", params)["result"]["status"] == "stale"


def test_a_newer_request_supersedes_the_older(ready: Sidecar) -> None:
    ready.open(URI, "def f():\n    ")
    for token in (1001, 1002):
        document = {"uri": URI, "version": 1}
        ready.start_request(
            "tiercel/complete",
            {"token": token, "textDocument": document, "position": {"line": 1, "character": 4}},
        )
    ends = [last_update(ready, token) for token in (1001, 1002)]
    assert [end["superseded"] for end in ends] == [True, False]


def test_fifty_cancels_and_the_fifty_first_answers(ready: Sidecar) -> None:
    ready.open(URI, FIB)
    numbers = []
    for _ in range(50):
        numbers.append(ready.start_request("textDocument/inlineCompletion", inline(2, 8)))
        ready.notify("$/cancelRequest", {"id": numbers[-1]})
    last = ready.request("textDocument/inlineCompletion", inline(2, 8), timeout=20)
    assert last["result"]["items"]
    for number in numbers:
        assert answer_to(ready, number)["error"]["code"] == -32800


@pytest.mark.parametrize(
    "broken",
    [
        b"Content-Length: 5\r\n\r\n{}\r\n\r\n",
        b"Content-Length: no\r\n\r\n{}",
        b"noise\r\n\r\n",
        b'Content-Length: 18\r\n\r\n{"method": "\xff\xfe\xfd"}',
        b"Content-Length: 2\r\n\r\n[]",
        b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0"}',  # longer than what follows: swallows the next header
    ],
)
def test_after_a_broken_frame_the_next_request_works(ready: Sidecar, broken: bytes) -> None:
    ready.open(URI, "import os\nos.x\nos.")
    ready.send_bytes(broken)
    answer = ready.request("textDocument/completion", inline(2, 3), timeout=5)
    assert [item["label"] for item in answer["result"]["items"]] == ["x"]
    error = ready.wait_for(lambda m: "error" in m and m["id"] is None, 5)
    assert error["error"]["code"] in (-32700, -32600)


def test_frames_may_come_in_pieces_and_glued(ready: Sidecar) -> None:
    ready.open(URI, "import os\nos.x\nos.")
    frames = b""
    for number in (9001, 9002):
        message = {"jsonrpc": "2.0", "id": number, "method": "textDocument/completion", "params": inline(2, 3)}
        body = json.dumps(message).encode()
        frames += (
            b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" % len(body) + body
        )
    for at in range(0, 60, 7):
        ready.send_bytes(frames[at : at + 7])
        time.sleep(0.005)
    ready.send_bytes(frames[63:])
    for number in (9001, 9002):
        assert answer_to(ready, number)["result"]["items"]


def test_wrong_params_and_methods_are_errors(ready: Sidecar) -> None:
    assert ready.request("textDocument/inlineCompletion", {"position": 3})["error"]["code"] == -32602
    assert ready.request("no/such", {})["error"]["code"] == -32601


def test_before_initialize_a_request_is_refused() -> None:
    sidecar = start()
    params = {"token": 1, "textDocument": {"uri": URI, "version": 1}, "position": END}
    assert sidecar.request("tiercel/complete", params)["error"]["code"] == -32002
    sidecar.notify("exit", None)
    assert sidecar.process.wait(3) == 1


def test_what_a_dependency_prints_goes_to_stderr() -> None:
    code = (
        "import sys, os\n"
        "from tiercel import server\n"
        "register = server.Server._register\n"
        "def noisy(self):\n"
        "    print('from python'); sys.stdout.flush(); os.write(1, b'from C\\n'); os.system('echo from a child')\n"
        "    register(self)\n"
        "server.Server._register = noisy\n"
        "from tiercel.__main__ import main\n"
        "main(['serve'])\n"
    )
    sidecar = Sidecar([sys.executable, "-P", "-c", code], ENVIRONMENT)
    assert sidecar.request("initialize", {})["result"]
    assert not any("garbage" in message for message in sidecar.passed)
    sidecar.end()
    printed = "".join(sidecar.stderr)
    assert all(line in printed for line in ("from python", "from C", "from a child"))


@pytest.mark.parametrize("when", ["loading", "decoding"])
def test_the_end_of_stdin_ends_the_process(when: str) -> None:
    sidecar = start()
    sidecar.initialize(wait=when == "decoding")
    if when == "decoding":
        sidecar.open(URI, "def f():\n    ")
        sidecar.start_request("textDocument/inlineCompletion", inline(1, 4))
    assert sidecar.process.stdin is not None
    sidecar.process.stdin.close()
    sidecar.process.wait(2)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_parent_ends_the_process_though_the_pipe_stays_open() -> None:
    """A grandchild holds the other end of stdin: only the watch on the parent tells that the editor is gone."""
    editor = subprocess.Popen(["sleep", "60"])
    sidecar = start()
    sidecar.request("initialize", {"processId": editor.pid})
    editor.send_signal(signal.SIGKILL)
    editor.wait()
    sidecar.process.wait(2)


def test_settings_of_another_model_that_is_not_there_say_so(tmp_path: Path) -> None:
    sidecar = start()
    with pytest.raises(RuntimeError, match=str(tmp_path)):
        sidecar.initialize(options={"model": {"path": str(tmp_path)}})
    sidecar.end()
