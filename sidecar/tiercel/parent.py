"""Ends this process when the editor's is gone, however it went: an orphan would keep a core and a gigabyte."""

from __future__ import annotations

import os
import sys
import threading
import time

INTERVAL_SECONDS = 0.5


def watch(process_id: int) -> None:
    """End this process within about a second after the process `process_id` has ended.

    The end of stdin says so too, but only if nobody else holds the other end of the pipe.
    """
    threading.Thread(target=_wait, args=(process_id,), name="parent watch", daemon=True).start()


def _wait(process_id: int) -> None:
    while alive(process_id):
        time.sleep(INTERVAL_SECONDS)
    os._exit(1)


if sys.platform == "win32":
    import ctypes

    _SYNCHRONIZE = 0x00100000
    _WAIT_TIMEOUT = 0x102

    def alive(process_id: int) -> bool:
        """Say whether a process runs."""
        handle = ctypes.windll.kernel32.OpenProcess(_SYNCHRONIZE, False, process_id)
        if not handle:
            return False
        try:
            return bool(ctypes.windll.kernel32.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT)
        finally:
            ctypes.windll.kernel32.CloseHandle(handle)

else:

    def alive(process_id: int) -> bool:
        """Say whether a process runs. One of another user counts as running."""
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
