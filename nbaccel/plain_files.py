"""Reading small files from directories that others may write in: never a pipe to wait at, never a disk's worth."""

from __future__ import annotations

import os
import stat


def read(path: str | os.PathLike[str], most_bytes: int, *, private: bool = False) -> bytes:
    """The first `most_bytes` of a file. Raises OSError for what cannot be read or is no file.

    A pipe of that name is not waited at, and a device is not read. `private`: the name must lead to a file of ours
    that nobody else may read or write, and be no symbolic link.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (os.O_NOFOLLOW if private else 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(f"{os.fspath(path)} is not a file")
        if private and (facts.st_uid != os.getuid() or stat.S_IMODE(facts.st_mode) & 0o077):
            raise PermissionError(f"{os.fspath(path)} belongs to another user, or others may read it")
        return file.read(most_bytes)
