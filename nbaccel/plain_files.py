"""Reads small files from directories in which others may write, without waiting at a pipe or reading a huge file."""

from __future__ import annotations

import os
import stat


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
