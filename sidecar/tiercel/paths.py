"""Where Tiercel keeps its files: caches that only this user can read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import platformdirs


def cache_dir(*parts: str) -> Path:
    """Return the user's cache directory for Tiercel, or a folder in it, made with mode 0700.

    Raises OSError if it cannot be made.
    """
    base = Path(platformdirs.user_cache_path("tiercel"))
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = base.joinpath(*parts)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def remember_environment() -> Path:
    """Write down which Python runs this, for the extension to find: {"python": …}. Returns the file."""
    file = Path(platformdirs.user_data_path("tiercel")) / "environment.json"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({"python": sys.executable}) + "\n"
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
    return file
