"""Sets up whatever is missing: the Python environment, the default model, npm packages, the extension's build.

Runs on the system's Python, so it uses the standard library alone. Each step leaves a stamp of what it was made from
and is passed over while the stamp fits; a step that was broken off is done again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
TORCH = "torch==2.13.0"
# PyTorch's own index of builds without CUDA, asked only where the user's index would bring the CUDA build.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


class SetupError(Exception):
    """A step failed; the message says which and what to do."""


def say(text: str) -> None:
    """Tell the person what is being done."""
    print(f"tiercel: {text}", file=sys.stderr, flush=True)


def set_up(*, development: bool = False, extension: bool = True) -> None:
    """Make everything that is missing. `development` adds what the tests need; raises SetupError."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this runs on whatever Python the person has
        raise SetupError(f"Python 3.11 or newer is needed; {sys.executable} is {sys.version.split()[0]}.")
    python_environment(development)
    default_model()
    if extension:
        npm_packages()
        extension_build()


def python_environment(development: bool = False) -> None:
    """Make `.venv` with the locked packages and the torch build that fits this machine."""
    locks = [ROOT / "requirements.lock", *([ROOT / "requirements-dev.lock"] if development else [])]
    stamp = Stamp(ENVIRONMENT / ".tiercel-runtime", [locks[0]], TORCH)
    if not (stamp.fits() and PYTHON.exists()):
        if not PYTHON.exists():
            say("making the Python environment (.venv)")
            _make_environment()
        say("installing Python packages (about 300 MB to download)")
        pip("install", "--require-hashes", "-r", str(locks[0]))
        _install_torch()
        stamp.set()
    for lock in locks[1:]:
        stamp = Stamp(ENVIRONMENT / ".tiercel-dev", [lock])
        if not stamp.fits():
            say("installing what the tests need")
            pip("install", "--require-hashes", "-r", str(lock))
            stamp.set()
    remember_environment()


def _make_environment() -> None:
    if importlib.util.find_spec("ensurepip") is None:  # Debian keeps it in a package of its own
        install_system_packages(["python3-venv"])
    try:
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError(f"No Python environment could be made in {ENVIRONMENT}: {error}.") from error


def _install_torch() -> None:
    """Install torch, and never the CUDA build (several GB) on a machine that has no CUDA."""
    if sys.platform == "linux" and shutil.which("nvidia-smi") is None and _brings_cuda([]):
        if _brings_cuda(["--index-url", TORCH_CPU_INDEX]) is not False:
            raise SetupError(
                f"pip would install the CUDA build of {TORCH}, and {TORCH_CPU_INDEX} cannot be reached. "
                f"Install a CPU build yourself (`{PYTHON} -m pip install {TORCH} …`) and start again."
            )
        pip("install", "--no-deps", "--index-url", TORCH_CPU_INDEX, TORCH)
    else:
        pip("install", "--no-deps", TORCH)


def _brings_cuda(options: list[str]) -> bool | None:
    """Say whether pip would take a torch that needs CUDA's libraries; None if it finds no torch at all."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = ["install", "--dry-run", "--ignore-installed", "--no-deps", "--report", str(report), TORCH, *options]
        try:
            pip(*command)
        except SetupError:
            return None
        found = json.loads(report.read_text(encoding="utf-8"))["install"][0]["metadata"]
    return any(need.startswith(("nvidia", "cuda", "triton")) for need in found.get("requires_dist", []))


def pip(*arguments: str) -> None:
    """Run the environment's pip. Raises SetupError with pip's own words."""
    run([str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments], "pip")


def remember_environment() -> None:
    """Tell the extension, wherever it is installed, which Python the set-up made."""
    code = "from tiercel.paths import remember_environment; remember_environment()"
    run([str(PYTHON), "-P", "-c", code], "writing down the environment")


def default_model() -> None:
    """Fetch and convert the default model if it is not there."""
    code = (
        "import sys; from tiercel.inference.default_model import ensure_default_model, DefaultModelError\n"
        "try: ensure_default_model(lambda percent, what: print(f'tiercel: {what} ({percent} %)', file=sys.stderr))\n"
        "except DefaultModelError as error: sys.exit(str(error))"
    )
    done = subprocess.run([str(PYTHON), "-P", "-c", code], env=sidecar_environment(), check=False)
    if done.returncode != 0:
        raise SetupError("The default model could not be set up; the reason stands above.")


def npm_packages() -> None:
    """Install the extension's npm packages as locked."""
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("npm is needed to build the extension: install Node.js 20 or newer.")
    stamp = Stamp(ROOT / "node_modules" / ".tiercel", [ROOT / "package-lock.json"])
    if not stamp.fits():
        say("installing npm packages")
        run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"], "npm ci")
        # --ignore-scripts keeps foreign code from running; esbuild's binary comes as a package of its own.
        stamp.set()


def extension_build() -> None:
    """Bundle the extension if its sources have changed."""
    sources = [*sorted((ROOT / "extension").rglob("*.*s")), ROOT / "package.json"]
    stamp = Stamp(ROOT / "dist" / ".tiercel", sources)
    if not (stamp.fits() and (ROOT / "dist" / "extension.js").exists()):
        say("building the extension")
        run([shutil.which("npm") or "npm", "run", "--silent", "build"], "npm run build")
        stamp.set()


def extension_package() -> Path:
    """Pack the extension with the sidecar's source if either has changed; returns the vsix."""
    vsix = ROOT / "tiercel.vsix"
    texts = [ROOT / name for name in ("package.json", "package.nls.json", "README.md", "CHANGELOG.md", ".vscodeignore")]
    sources = [*sorted((ROOT / "extension").rglob("*.*s")), *sorted((ROOT / "sidecar").rglob("*.py")), *texts]
    stamp = Stamp(
        ROOT / "dist" / ".tiercel-vsix", [*sources, ROOT / "scripts" / "setup.py", ROOT / "requirements.lock"]
    )
    if not (stamp.fits() and vsix.exists()):
        say("packing the extension")
        run([shutil.which("npm") or "npm", "run", "--silent", "package"], "npm run package")
        stamp.set()
    return vsix


def install_system_packages(packages: list[str]) -> None:
    """Install Debian packages; raises SetupError where that cannot be done, saying what to type."""
    apt = shutil.which("apt-get")
    command = [apt or "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    prefix = [] if os.name == "nt" or os.geteuid() == 0 else ["sudo", "-n"]
    say(f"installing {' '.join(packages)} with apt-get")
    try:
        if apt is None:
            raise SetupError(f"Please install {' '.join(packages)} by your system's package manager.")
        run([*prefix, apt, "update", "-qq"], "apt-get update")
        run([*prefix, *command], "apt-get install")
    except (SetupError, FileNotFoundError) as error:
        raise SetupError(
            f"Please run `sudo apt-get install {' '.join(packages)}` and start again. ({error})"
        ) from error


def sidecar_environment() -> dict[str, str]:
    """Return the environment variables that the sidecar is run with."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "sidecar"), "PYTHONUTF8": "1"}


def run(command: list[str], name: str) -> None:
    """Run a command quietly in the project's root. Raises SetupError with the end of what it printed."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=sidecar_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        said = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise SetupError(f"{name} failed ({done.returncode}):\n{said}")


class Stamp:
    """Says whether something was made from what is there now.

    Invariant: the stamp's file is written only after the step has succeeded and holds the digest of its sources.
    """

    def __init__(self, path: Path, sources: Iterable[Path], *more: str) -> None:
        digest = hashlib.sha256()
        for source in sources:
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
        for text in (*more, sys.platform):
            digest.update(text.encode())
        self._path = path
        self._digest = digest.hexdigest()

    def fits(self) -> bool:
        """Say whether the step was done with these sources."""
        return self._path.is_file() and self._path.read_text(encoding="utf-8") == self._digest

    def set(self) -> None:
        """Note that the step is done."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(self._digest, encoding="utf-8")


def main() -> int:
    """Set up what is needed to use Tiercel, or with --dev also what its tests need."""
    started = time.monotonic()
    try:
        set_up(development="--dev" in sys.argv[1:], extension="--no-extension" not in sys.argv[1:])
    except SetupError as error:
        say(str(error))
        return 1
    if time.monotonic() - started > 5:
        say(f"set up in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
