"""Where Tiercel keeps its files: caches that only this user can read."""

from __future__ import annotations

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
