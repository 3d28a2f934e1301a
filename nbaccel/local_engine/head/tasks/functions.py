"""The functions and classes that drivers have defined, as bytes: workers get each with the first task that needs it."""

from __future__ import annotations

from collections.abc import Iterable

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.peers import Peer
from nbaccel.scheduling.terms import Terms


class Functions:
    """The code of all functions and classes, by key."""

    def __init__(self) -> None:
        self._by_key: dict[bytes, wire.DefineFunction] = {}
        self._of_job: dict[int, set[bytes]] = {}  # what each job has defined

    def define(self, peer: Peer, message: wire.DefineFunction) -> None:
        self._by_key.setdefault(message.key, message)
        self._of_job.setdefault(peer.job, set()).add(message.key)

    def teach(self, peer: Peer, terms: Terms) -> None:
        """Send the terms and their functions to a worker that does not know them."""
        if terms.number in peer.defined:
            return
        for key in terms.functions:
            if key not in peer.functions:
                peer.functions.add(key)
                peer.out.append(self._by_key[key])
        peer.defined.add(terms.number)
        peer.out.append(wire.DefineTemplate(terms.number, terms))

    def job_ended(self, job: int, still_used: Iterable[Terms]) -> None:
        """Forget code that no task uses any more, because a head may outlive many drivers."""
        gone = self._of_job.pop(job, set())
        gone.difference_update(*self._of_job.values())
        for terms in still_used:
            gone.difference_update(terms.functions)
        for key in gone:
            del self._by_key[key]
