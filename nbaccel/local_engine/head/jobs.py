"""The jobs of a head: each is one driver's stay."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import Job


class Jobs:
    """All of them, also those that have ended. `began` is called with each new one."""

    def __init__(self, began: Callable[[Job], None]) -> None:
        self._began = began
        self.by_number: dict[int, Job] = {}

    def begin(self, peer: Peer, hello: wire.Hello) -> Job:
        """A driver has come."""
        number = len(self.by_number) + 1
        namespace = hello.namespace or secrets.token_hex(16)
        job = Job(number, peer.client_id, hello, namespace, started_at=time.time(), name=self._name(hello))
        self.by_number[number] = job
        peer.job = number
        self._began(job)
        return job

    def _name(self, hello: wire.Hello) -> str:
        """What views call it; a notebook whose kernel was restarted is another job, and named apart."""
        name = hello.title.removeprefix("notebook ")
        return f"{name} (pid {hello.pid})" if name in {job.name for job in self.by_number.values()} else name

    def has_driver(self) -> bool:
        """Whether a driver is still here."""
        return any(not job.ended for job in self.by_number.values())
