"""What is set up, what is wrong, and how to mend it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .index.symbols import Fallback
from .paths import cache_dir
from .settings import Settings

PACKAGES = (
    "asttokens",
    "gguf",
    "msgspec",
    "numba",
    "numpy",
    "pathspec",
    "platformdirs",
    "safetensors",
    "tokenizers",
    "torch",
    "transformers",
    "typeshed_client",
    "watchdog",
)
SET_UP = "run `scripts/start --check`, which sets up what is missing"


@dataclass(frozen=True)
class Finding:
    """One thing looked at: whether it is as it should be, and if not, how to mend it."""

    ok: bool
    what: str
    mend: str = ""

    def __str__(self) -> str:
        return f"ok     {self.what}" if self.ok else f"WRONG  {self.what}: {self.mend}"


def examine(settings: Settings | None = None) -> list[Finding]:
    """Look at everything that a completion needs; nothing is downloaded and nothing is changed."""
    findings = [_python(), *_packages(), _cache(), _model(settings or Settings())]
    if all(finding.ok for finding in findings):
        findings.append(_device())
    return findings


def examine_folder(folder: Path) -> list[Finding]:
    """Index a folder and tell what of it does not parse as it is: these places are known only in part."""
    from .index.cold import fill
    from .index.store import store_of
    from .index.workspace import Index

    index = Index([folder])
    store = store_of(index.roots)
    report = fill(index, store)
    store.close()
    findings = [Finding(True, f"{report.files} files indexed, {report.symbols} symbols")]
    places = {path: module.fallbacks for path in index.paths() if (module := index.module(path)) and module.fallbacks}
    return [*findings, *unparsed(places)]


def unparsed(places: Mapping[str, Sequence[Fallback]]) -> list[Finding]:
    """Return a note for each place that did not parse as it is. Nothing is wrong with Tiercel then."""
    return [
        Finding(True, f"{path}:{one.line + 1} does not parse ({one.reason}); what is known of it: {one.kind}")
        for path, fallbacks in places.items()
        for one in fallbacks
    ]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(
        sys.version_info >= (3, 11), f"Python {version} ({sys.executable})", "Python 3.11 or newer is needed"
    )


def _packages() -> list[Finding]:
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return [Finding(False, f"packages missing: {', '.join(missing)}", SET_UP)]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "transformers", "numba"))
    return [Finding(True, f"packages: {versions}")]


def _cache() -> Finding:
    try:
        folder = cache_dir()
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Finding(
            False, f"the cache directory cannot be written: {error}", "make it writable, or set XDG_CACHE_HOME"
        )
    private = sys.platform == "win32" or folder.stat().st_mode & 0o077 == 0
    return Finding(private, f"cache directory {folder}", f"others can read it: chmod 700 {folder}")


def _model(settings: Settings) -> Finding:
    from .inference.default_model import default_model_dir, is_complete

    if settings.model.path:
        return Finding(True, f"model {settings.model.path}")
    folder = default_model_dir()
    return Finding(is_complete(folder), f"default model in {folder}", SET_UP)


def _device() -> Finding:
    import torch

    if torch.cuda.is_available():
        return Finding(True, f"device cuda ({torch.cuda.get_device_name()})")
    if torch.backends.mps.is_available():
        return Finding(True, "device mps")
    return Finding(True, f"device cpu ({torch.backends.cpu.get_cpu_capability()})")
