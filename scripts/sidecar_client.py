"""A small editor: talks to a real sidecar over stdio. For scripts and tests; standard library only."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Message = dict[str, Any]


class Sidecar:
    """A running sidecar and what it has said.

    Invariant: every message that came is either still in the queue or was returned, or kept in `passed`, by `wait_for`.
    """

    def __init__(self, command: Sequence[str], environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        self.passed: list[Message] = []
        self._ids = itertools.count(1)
        self._tokens = itertools.count(1)
        self._messages: queue.Queue[Message | None] = queue.Queue()
        self.stderr: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while header := out.readline():
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
                while out.readline().strip():
                    pass
                self._messages.put(json.loads(out.read(length)))
            elif header.strip():
                self._messages.put({"garbage": header.decode(errors="replace")})
        self._messages.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr.append(line.decode(errors="replace"))

    def send_bytes(self, data: bytes) -> None:
        """Write bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        """Write one framed message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send({"method": method, "params": params})

    def start_request(self, method: str, params: Any) -> int:
        """Send a request and return its id without waiting."""
        number = next(self._ids)
        self.send({"id": number, "method": method, "params": params})
        return number

    def request(self, method: str, params: Any, timeout: float = 60) -> Message:
        """Send a request and return the whole answer, `result` or `error`."""
        number = self.start_request(method, params)
        return self.wait_for(lambda m: m.get("id") == number and "method" not in m, timeout)

    def wait_for(self, fits: Callable[[Message], bool], timeout: float = 60) -> Message:
        """Return the first message that fits; the others are kept in `passed`. Raises TimeoutError, EOFError."""
        for index, message in enumerate(self.passed):
            if fits(message):
                return self.passed.pop(index)
        while True:
            try:
                message_or_end = self._messages.get(timeout=timeout)
            except queue.Empty:
                raise TimeoutError(f"no fitting message; the last ones: {self.passed[-3:]}") from None
            if message_or_end is None:
                raise EOFError("the sidecar has ended: " + "".join(self.stderr[-20:]))
            if fits(message_or_end):
                return message_or_end
            self.passed.append(message_or_end)

    # --- what an editor does ---

    def initialize(self, folder: Path | None = None, options: Message | None = None, wait: bool = True) -> Message:
        """Open the workspace `folder`; by default wait until the model is there. Raises RuntimeError if it fails."""
        folders = [{"uri": folder.resolve().as_uri(), "name": folder.name}] if folder else None
        params = {"processId": os.getpid(), "workspaceFolders": folders, "initializationOptions": options}
        answer = self.request("initialize", params)
        self.notify("initialized", {})
        if wait:
            self.wait_ready()
        return answer

    def wait_ready(self, timeout: float = 120) -> None:
        """Wait for the model."""
        states = ("ready", "error")
        status = self.wait_for(
            lambda m: m.get("method") == "tiercel/status" and m["params"]["state"] in states, timeout
        )
        if status["params"]["state"] == "error":
            raise RuntimeError(status["params"]["message"])

    def open(self, uri: str, text: str, version: int = 1) -> None:
        """Open a document."""
        item = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def complete(self, uri: str, version: int, line: int, character: int) -> list[Message]:
        """Complete at a position; return the params of all updates, the last one done."""
        token = next(self._tokens)
        document = {"uri": uri, "version": version}
        position = {"line": line, "character": character}
        answer = self.request("tiercel/complete", {"token": token, "textDocument": document, "position": position})
        if "error" in answer or answer["result"]["status"] != "ok":
            raise RuntimeError(str(answer))
        updates: list[Message] = []
        while not updates or not updates[-1]["done"]:
            update = self.wait_for(lambda m: m.get("method") == "tiercel/update" and m["params"]["token"] == token)
            updates.append(update["params"])
        return updates

    def end(self, timeout: float = 5) -> int:
        """Shut the sidecar down as an editor does; returns its exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(timeout)
