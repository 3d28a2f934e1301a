"""A process that may open few more files."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def room_for(descriptors: int) -> Iterator[None]:
    """This process may open so many more descriptors, counted from the lowest that is free."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    free = (fd for fd in range(lowest, hard) if not os.path.exists(f"/proc/self/fd/{fd}"))
    resource.setrlimit(resource.RLIMIT_NOFILE, ([next(free) for _ in range(descriptors + 1)][-1], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
