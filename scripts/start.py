"""Sets Tiercel up and opens a folder in VS Code with it: `scripts/start [FOLDER]`, or `--check` for one completion."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import setup
import vscode_server
from setup import PYTHON, ROOT, SetupError, say
from sidecar_client import Sidecar

SAMPLE = ROOT / "examples" / "shop"
SAMPLE_FILE = SAMPLE / "orders" / "views.py"
TYPED_AFTER = "    order.save()\n"


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/start", description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, default=SAMPLE, help="what to open; default: the sample project"
    )
    parser.add_argument("--check", action="store_true", help="make one completion on the sample, print it and exit")
    options = parser.parse_args()
    if not options.folder.is_dir():
        say(f"{options.folder} is no folder")
        return 2
    try:
        setup.set_up()
        return check() if options.check else open_editor(options.folder.resolve())
    except SetupError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


def check() -> int:
    """Complete `order.` in the sample through a real sidecar over stdio."""
    started = time.monotonic()
    text = SAMPLE_FILE.read_text(encoding="utf-8").replace(TYPED_AFTER, TYPED_AFTER + "    order.\n", 1)
    line = text[: text.index("    order.\n")].count("\n")
    sidecar = Sidecar([str(PYTHON), "-P", "-m", "tiercel", "serve"], setup.sidecar_environment())
    try:
        sidecar.initialize(SAMPLE)
        ready = time.monotonic()
        uri = SAMPLE_FILE.as_uri()
        sidecar.open(uri, text)
        for name in ("cold", "warm"):
            asked = time.monotonic()
            updates = sidecar.complete(uri, 1, line, len("    order."))
            took = time.monotonic() - asked
            print(f"{name:>5}: order.{updates[-1]['text']}   ({took * 1000:.0f} ms)")
            stats = updates[-1]["stats"]
            print(
                f"       {stats['promptTokens']} prompt tokens, {stats['reusedTokens']} of them reused; "
                f"prefill {stats['prefillMs']:.0f} ms, {stats['newTokens']} new tokens in {stats['decodeMs']:.0f} ms"
            )
        sidecar.end()
    except (EOFError, TimeoutError, RuntimeError) as error:
        say(f"The completion failed: {error}")
        say("`scripts/tiercel doctor` says what is wrong.")
        return 1
    finally:
        sidecar.process.kill()
    print(f"model ready {ready - started:.1f} s after the start of the sidecar")
    return 0 if updates[-1]["text"] else 1


def open_editor(folder: Path) -> int:
    """Open the folder in the person's own VS Code, or in one served on this machine's loopback address."""
    vsix = setup.extension_package()
    file = SAMPLE_FILE if folder == SAMPLE else None
    code = shutil.which("code")
    if code is None:
        return vscode_server.serve(folder, file, vsix, trusted=folder == SAMPLE)
    setup.run([code, "--install-extension", str(vsix), "--force"], "installing the extension")
    return subprocess.run([code, str(folder), *([str(file)] if file else [])], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
