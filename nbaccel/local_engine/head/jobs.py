"""The jobs of a head: each is the session of one driver."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import Job


class Jobs:
    """All jobs, including ended ones. `began` is called with each new job."""

    def __init__(self, began: Callable[[Job], None]) -> None:
        self._began = began
        self.by_number: dict[int, Job] = {}

    def begin(self, peer: Peer, hello: wire.Hello) -> Job:
        """Begin the job of a new driver."""
        number = len(self.by_number) + 1
        namespace = hello.namespace or os.urandom(16).hex()
        job = Job(number, peer.client_id, hello, namespace, started_at=time.time(), name=self._name(hello))
        self.by_number[number] = job
        peer.job = number
        self._began(job)
        return job

    def _name(self, hello: wire.Hello) -> str:
        """The job's name in views. A notebook whose kernel was restarted is another job with another name."""
        name = hello.title.removeprefix("notebook ")
        return f"{name} (pid {hello.pid})" if name in {job.name for job in self.by_number.values()} else name

    def has_driver(self) -> bool:
        """Whether any driver is connected."""
        return any(not job.ended for job in self.by_number.values())
