"""URLs of remote storage, and the library that reads them."""

from __future__ import annotations

from typing import Any


def is_remote(path: str) -> bool:
    """Whether a path is a URL that fsspec reads, and no path of this machine."""
    return "://" in path and not path.startswith("file://")


def fsspec_for(use: str) -> Any:
    """The library fsspec. Raises ImportError, which names the use and the extra."""
    try:
        import fsspec
    except ImportError:
        raise ImportError(f"{use} needs fsspec: pip install 'nbaccel[train]', or pip install fsspec.") from None
    return fsspec
