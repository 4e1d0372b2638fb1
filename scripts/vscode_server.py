"""VS Code in the browser, out of the npm registry: `vscode_server.py install`, or `serve FOLDER [FILE]` on loopback.

code-server is VS Code's own web build with a server around it. It needs Node 24, which comes as an npm package too.
Nothing native is built: what that takes away (the terminal, search by ripgrep) Tiercel does not need.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from setup import SetupError, run, say

CODE_SERVER = "4.139.1"
NODE = "24.21.0"
SETTINGS = {
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "chat.disableAIFeatures": True,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "extensions.autoUpdate": False,
    "extensions.ignoreRecommendations": True,
    "git.openRepositoryInParentFolders": "never",
    "editor.inlineSuggest.enabled": True,
}


@dataclass(frozen=True)
class Server:
    """An installed code-server: the Node that runs it and its entry point."""

    node: Path
    entry: Path


def cache() -> Path:
    """Return the folder that the server is kept in."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tiercel" / f"vscode-server-{CODE_SERVER}"


def install() -> Server:
    """Return the server, installing it if it is not there. Raises SetupError."""
    target = cache()
    if not target.is_dir():
        npm = shutil.which("npm")
        if npm is None:
            raise SetupError("npm is needed to install VS Code: install Node.js 20 or newer.")
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        say("installing VS Code for the browser (code-server, about 570 MB)")
        # Renamed into place when whole: a broken-off installation is never taken for one.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="vscode-server.") as scratch:
            made = Path(scratch) / "server"
            _install_into(made, npm)
            made.rename(target)
    return Server(_node(target), target / "code" / "node_modules" / "code-server" / "out" / "node" / "entry.js")


def _node_package() -> str:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower())
    system = {"linux": "linux", "darwin": "darwin"}.get(sys.platform)
    if machine is None or system is None:
        raise SetupError("VS Code cannot be served on this machine: install VS Code, with `code` on PATH.")
    return f"node-{system}-{machine}"


def _node(folder: Path) -> Path:
    return folder / "node" / "node_modules" / _node_package() / "bin" / "node"


def _install_into(folder: Path, npm: str) -> None:
    def npm_install(where: Path, *packages: str) -> None:
        where.mkdir(parents=True, exist_ok=True)
        manifest = where / "package.json"
        if not manifest.exists():
            manifest.write_text('{"private": true}', encoding="utf-8")
        options = ["--prefix", str(where), "--no-audit", "--no-fund", "--ignore-scripts", "--omit=dev", "--silent"]
        run([npm, "install", *options, *packages], "npm install")

    npm_install(folder / "node", f"{_node_package()}@{NODE}")
    # VS Code's own packages ask for the Node that will run them.
    os.environ["PATH"] = f"{_node(folder).parent}{os.pathsep}{os.environ['PATH']}"
    npm_install(folder / "code", f"code-server@{CODE_SERVER}")
    vscode = folder / "code" / "node_modules" / "code-server" / "lib" / "vscode"
    npm_install(vscode)
    npm_install(vscode / "extensions")
    run([str(_node(folder)), str(vscode / "extensions" / "postinstall.mjs")], "VS Code's extensions")
    for unused in ("extensions/copilot", "node_modules/@github"):
        shutil.rmtree(vscode / unused, ignore_errors=True)


def serve(folder: Path, file: Path | None, vsix: Path, *, trusted: bool) -> int:
    """Serve `folder` with the extension until the person presses Ctrl+C; prints the address.

    A folder that is not `trusted` (our own sample is) is restricted until the person says in VS Code that it may be.
    """
    server = install()
    data = cache().parent / "vscode-data"
    (data / "User").mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = data / "User" / "settings.json"
    if not settings.exists():
        settings.write_text(json.dumps(SETTINGS, indent=2), encoding="utf-8")
    command = [str(server.node), str(server.entry)]
    places = ["--user-data-dir", str(data), "--extensions-dir", str(data / "extensions")]
    places += ["--config", str(data / "config.yaml")]
    run([*command, *places, "--force", "--install-extension", str(vsix)], "installing the extension")
    port = _free_port()
    options = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    options += ["--disable-getting-started-override", *(["--disable-workspace-trust"] if trusted else [])]
    environment = {**os.environ, "EXTENSIONS_GALLERY": "{}"}
    log = (data / "server.log").open("w", encoding="utf-8")
    process = subprocess.Popen([*command, *places, *options], env=environment, stdout=log, stderr=log)
    try:
        _wait_until_up(port, process)
        address = f"http://127.0.0.1:{port}/?folder={urllib.parse.quote(str(folder))}"
        if file is not None:
            payload = [["openFile", f"vscode-remote://127.0.0.1:{port}{file}"]]
            address += f"&payload={urllib.parse.quote(json.dumps(payload))}"
        say("VS Code is served to this machine alone; Ctrl+C ends it. Open:")
        print(address, flush=True)
        if not trusted:
            say("Tiercel waits until you trust the folder: Restricted Mode, below on the left.")
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise SetupError(f"VS Code's server has ended ({process.returncode}); see server.log in {cache().parent}.")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    raise SetupError("VS Code's server does not answer.")


def chromium() -> str:
    """Return a Chromium for the tests, installing Debian's if there is none. Raises SetupError."""
    from setup import install_system_packages

    found = shutil.which("chromium")
    if found is None:
        install_system_packages(["chromium"])
        found = shutil.which("chromium")
    if found is None:
        raise SetupError("chromium is installed but not on PATH.")
    return found


def main() -> int:
    """`install` prints where everything is as JSON (with --browser: a Chromium too)."""
    try:
        if sys.argv[1:2] != ["install"]:
            say("usage: vscode_server.py install [--browser]")
            return 2
        server = install()
        answer = {"node": str(server.node), "entry": str(server.entry), "settings": SETTINGS}
        if "--browser" in sys.argv:
            answer["chromium"] = chromium()
        print(json.dumps(answer))
    except SetupError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
