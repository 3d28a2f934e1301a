"""How much a stranger at the door may have: sizes, times and connections."""

from __future__ import annotations

import resource
from dataclasses import dataclass

HEAD_S = 10.0  # from the first byte of a head to its last
BODY_PAUSE_S = 20.0  # without a byte of a body
BODY_SPAN_S = 30.0  # in which a body has at least so many bytes a second
BODY_BYTES_PER_S = 1024
READER_S = 60.0  # in which a client takes nothing of its answer
HEAD_BYTES = 64 << 10
HEADERS = 200
URL_BYTES = 16 << 10
_SPARE_DESCRIPTORS = 32  # for links, files and what the process has anyway


class OverLimit(Exception):
    """A request that goes over a limit; answered with this status, and its connection is closed."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class TooSlow(OverLimit):
    """A body that stopped coming."""

    def __init__(self, words: str) -> None:
        super().__init__(408, words)


@dataclass(frozen=True)
class Limits:
    """The times are fields, so that a test need not wait for them."""

    head_s: float = HEAD_S
    body_pause_s: float = BODY_PAUSE_S
    body_span_s: float = BODY_SPAN_S
    reader_s: float = READER_S
    max_connections: int = 2000


def connections(wanted: int) -> int:
    """As many connections as wanted, as far as this process may have descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, soft - _SPARE_DESCRIPTORS))
