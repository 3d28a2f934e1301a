"""One question for all processes of a node: whether somebody watches a job.

Each process wants to know it every two seconds, also an actor that does nothing. Asking Ray's store is a call to the
cluster's head, so a thousand actors would ask it five hundred times a second. Whoever has asked leaves the answer in a
file of Ray's session, and the others read that for half a second. Without the file, each asks for itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from nbaccel_in_ray import internals

FRESH_S = 0.5
_WATCHED, _UNWATCHED = b"1", b"0"


class SharedLook:
    """Answers from the node's file, or by `ask`, which asks the cluster about a job."""

    def __init__(self, ask: Callable[[str], bool], folder: Callable[[], str] = internals.session_folder) -> None:
        self._ask = ask
        self._folder = folder

    def is_watched(self, job_id: str, *, anew: bool = False) -> bool:
        """`anew`: what others have found does not count."""
        try:
            path = os.path.join(self._folder(), f"nbaccel-watched-{job_id}")
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except (OSError, AttributeError):  # no right to write there; or this process belongs to no node
            return self._ask(job_id)
        try:
            now = time.time()
            is_fresh = 0.0 <= now - os.fstat(file).st_mtime < FRESH_S  # before it is read: what is read is no older
            known = os.read(file, 1)
            if known and is_fresh and not anew:
                return known == _WATCHED
            found = self._ask(job_id)
            if not known or anew or not now < os.fstat(file).st_mtime <= time.time():  # else others have asked later
                os.pwrite(file, _WATCHED if found else _UNWATCHED, 0)  # one byte: nobody reads a half of it
                os.utime(file, (now, now))  # it is as old as the question
            return found
        finally:
            os.close(file)
