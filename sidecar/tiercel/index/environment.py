"""Where a Python finds its modules: its standard library, its site-packages, and what is installed there as editable.

All of it is read. Only an interpreter that the user named is run, once, isolated, to ask for its search path; code of
the workspace never is.
"""

from __future__ import annotations

import ast
import json
import logging
import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

log = logging.getLogger("tiercel.index")

_ASK = (
    "import json, sys, sysconfig; "
    "print(json.dumps([sys.path, sysconfig.get_path('stdlib'), list(sys.version_info[:2])]))"
)
_VENV_NAMES = (".venv", "venv", "env", ".env")


@dataclass(frozen=True)
class Environment:
    """What modules besides the workspace's there are.

    `site` are the folders in which packages lie, in the order they are searched; `mapped` single packages that lie
    elsewhere (editable installs): name → folder or file; `stdlib` the standard library; `typeshed` its stubs.
    """

    version: tuple[int, int]
    stdlib: Path | None
    site: tuple[Path, ...]
    mapped: dict[str, Path] = field(default_factory=dict)
    typeshed: Path | None = None


def find_environment(roots: Sequence[Path], interpreter: str = "") -> Environment:
    """Return the environment of a workspace: the interpreter's, else that of a venv in a root, else the sidecar's."""
    if interpreter:
        asked = _ask(interpreter)
        if asked is not None:
            return asked
    for root in roots:
        for name in _VENV_NAMES:
            if (root / name / "pyvenv.cfg").is_file():
                return _of_venv(root / name)
    return _with_links([Path(part) for part in sys.path if part], sysconfig.get_path("stdlib"), sys.version_info[:2])


def _ask(interpreter: str) -> Environment | None:
    try:
        answer = subprocess.run([interpreter, "-I", "-c", _ASK], capture_output=True, timeout=20, check=True, text=True)
        paths, stdlib, version = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        log.warning(
            "%s does not say where its packages are (%s); the sidecar's own are used instead", interpreter, error
        )
        return None
    return _with_links([Path(part) for part in paths if part], stdlib, (version[0], version[1]))


def _of_venv(folder: Path) -> Environment:
    """Read a virtual environment's pyvenv.cfg."""
    lines = (folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    settings = {key.strip().lower(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    found = re.match(r"(\d+)\.(\d+)", settings.get("version", settings.get("version_info", "")))
    version = (int(found[1]), int(found[2])) if found else (sys.version_info[0], sys.version_info[1])
    site = (
        [folder / "Lib" / "site-packages"] if (folder / "Lib").is_dir() else [*folder.glob("lib/python*/site-packages")]
    )
    home = Path(settings.get("home", ""))
    guesses = [home.parent / "lib" / f"python{version[0]}.{version[1]}", home / "Lib"]
    stdlib = next((guess for guess in guesses if (guess / "os.py").is_file()), None)
    if settings.get("include-system-site-packages", "").lower() == "true" and stdlib is not None:
        site.append(stdlib / "site-packages")
    return _with_links(site, str(stdlib) if stdlib else None, version)


def _with_links(paths: Sequence[Path], stdlib: str | None, version: tuple[int, ...]) -> Environment:
    """Add what .pth files and editable installs in the folders point to."""
    site: list[Path] = []
    mapped: dict[str, Path] = {}
    library = Path(stdlib) if stdlib else None
    for folder in paths:
        if not folder.is_dir() or folder == library or folder.name == "lib-dynload" or folder in site:
            continue
        site.append(folder)
        for link in sorted(folder.glob("*.pth")):
            for target in _pth(link, folder):
                if target not in site:
                    site.append(target)
        for finder in sorted(folder.glob("__editable__*_finder.py")):
            mapped.update(_editable(finder))
    return Environment((version[0], version[1]), library, tuple(site), mapped, _typeshed())


def _pth(link: Path, folder: Path) -> list[Path]:
    """Return the folders that a .pth file names; its `import` lines are not run."""
    try:
        lines = link.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        log.warning("%s cannot be read: %s", link, error.strerror)
        return []
    plain = [line.strip() for line in lines]
    named = [folder / line for line in plain if line and not line.startswith(("#", "import ", "import\t"))]
    return [target for target in named if target.is_dir()]


def _editable(finder: Path) -> dict[str, Path]:
    """Read the MAPPING of a finder that setuptools wrote for an editable install."""
    try:
        tree = ast.parse(finder.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        log.warning("%s cannot be read: %s", finder, error)
        return {}
    for node in tree.body:
        target: ast.expr | None = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        if isinstance(target, ast.Name) and target.id == "MAPPING" and isinstance(node, (ast.Assign, ast.AnnAssign)):
            pairs = node.value
            if isinstance(pairs, ast.Dict):
                return {
                    key.value: Path(value.value)
                    for key, value in zip(pairs.keys, pairs.values, strict=True)
                    if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)
                    and isinstance(key.value, str) and isinstance(value.value, str)
                }  # fmt: skip
    return {}


def _typeshed() -> Path | None:
    """Return the stubs of the standard library that typeshed-client brings."""
    spec = find_spec("typeshed_client")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / "typeshed" / "builtins.pyi").is_file():
            return Path(folder) / "typeshed"
    return None
