"""Small files in directories in which others may write: read without waiting at a pipe, written for this user only."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def read(path: str | os.PathLike[str], most_bytes: int, *, private: bool = False) -> bytes:
    """The first `most_bytes` of a file. Raises OSError if the path is not a regular file or cannot be read.

    It does not wait for a pipe and reads no device. With `private`, the file must belong to this user, nobody else may
    read or write it, and the path must not be a symbolic link.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (os.O_NOFOLLOW if private else 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(f"{os.fspath(path)} is not a file")
        if private and (facts.st_uid != os.getuid() or stat.S_IMODE(facts.st_mode) & 0o077):
            raise PermissionError(f"{os.fspath(path)} belongs to another user, or others may read it")
        return file.read(most_bytes)


def write_private(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a new file that only this user can read. Raises OSError, also if the path is there already."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, content)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


def as_typed(path: Path) -> str:
    """The path as one types it in a shell: ~ for the home folder, and quotes where it needs them."""
    from pathlib import Path

    home = Path.home()
    return f"~/{shlex.quote(str(path.relative_to(home)))}" if path.is_relative_to(home) else shlex.quote(str(path))
