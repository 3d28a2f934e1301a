"""The head's part in loans: it connects a driver with the worker that it was lent, and knows who has which.

```
  driver ── AskLoan ──► LoanAsked ──► Lend ──► Lent + descriptor ──► worker;  Connected + descriptor ──► driver
  somebody waits ──► RecallLoan ──► EndLoan ──► worker ── LoanOver ──► LoanEnded
```
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Handler, Send
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.head_records import HeadRecords
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import WorkerProcess
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.scheduling.commands import Lend, RecallLoan
from nbaccel.scheduling.events import LoanAsked, LoanEnded
from nbaccel.scheduling.terms import Terms
from nbaccel.views.question import Row

Acquaint = Callable[[WorkerProcess, Terms], None]  # a worker learns its job and the code of these terms


class LoanEntry(msgspec.Struct):
    """A worker and its driver, until neither of them has a word to say of the loan."""

    loan_id: bytes
    client_id: int
    worker_id: bytes
    node_id: bytes
    terms: Terms
    device_ids: None = None  # as an actor's entry has them
    told_by_driver: bool = False
    told_by_worker: bool = False


class LentWorkers:
    """The loans of one head."""

    def __init__(self, records: HeadRecords, acquaint: Acquaint, send: Send, tell: Tell, *, hide: bool) -> None:
        self._jobs = records.jobs
        self._workers = records.workers
        self._peers = records.peers
        self._acquaint = acquaint
        self._send = send
        self._tell = tell
        self._hide = hide  # tasks are told that they have no device, each by the head
        self.entries: dict[bytes, LoanEntry] = {}

    def of_both(self) -> dict[type, Handler]:
        """The messages that drivers and workers may send, with their handlers."""
        return {wire.LoanOver: self._over}

    def answers(self) -> list[Row[Peer]]:
        """The questions about loans, with their answers."""
        return [asks.AskLoan.answered_by(self._asked)]

    def acts(self) -> dict[type, Callable[[Any], None]]:
        """The scheduler's orders about loans, with what carries them out."""
        return {Lend: self._lend, RecallLoan: self._recall}

    def _asked(self, peer: Peer, asked: asks.AskLoan) -> None:
        if peer.role == "driver" and not self._hide and asked.loan_id not in self.entries:
            self._tell(LoanAsked(asked.loan_id, peer.templates[asked.template]))

    def _lend(self, command: Lend) -> None:
        self._forget_dead()
        driver = self._peers.get(self._jobs[command.terms.job].client_id)
        worker = self._workers.get(command.worker_id)
        if driver is None or driver.left or worker is None or worker.ended:
            self._tell(LoanEnded(command.loan_id, by_driver=True, is_free=worker is not None and not worker.ended))
            return  # a worker that is dying is told of later
        self._acquaint(worker, command.terms)
        ends = socket.socketpair()
        self.entries[command.loan_id] = LoanEntry(
            command.loan_id, driver.client_id, worker.worker_id, worker.node_id, command.terms
        )
        worker.used = True
        with ends[0], ends[1]:  # what has been passed on is not closed
            self._send(worker.peer, wire.Lent(command.loan_id, worker.peer.passes(ends[0])))
            self._send(driver, wire.Connected(command.loan_id, driver.passes(ends[1])))

    def _recall(self, command: RecallLoan) -> None:
        worker = self._workers.get(command.worker_id)
        if worker is not None and not worker.ended:
            self._send(worker.peer, wire.EndLoan(command.loan_id))

    def _over(self, peer: Peer, message: wire.LoanOver) -> None:
        entry = self.entries.get(message.loan_id)
        if entry is None:
            return
        by_driver = peer.client_id == entry.client_id
        if not by_driver and (peer.worker is None or peer.worker.worker_id != entry.worker_id):
            raise ValueError("a loan is ended by somebody else than its driver and its worker")
        entry.told_by_driver |= by_driver
        entry.told_by_worker |= not by_driver
        if entry.told_by_driver and entry.told_by_worker:
            del self.entries[message.loan_id]
        self._tell(LoanEnded(message.loan_id, by_driver, message.is_free))

    def _forget_dead(self) -> None:
        for entry in [entry for entry in self.entries.values() if entry.told_by_driver]:
            if entry.worker_id not in self._workers:
                del self.entries[entry.loan_id]

    def terms(self) -> list[Terms]:
        """Those of the loans of which their drivers may have more to tell."""
        return [entry.terms for entry in self.entries.values()]

    def client_gone(self, client_id: int) -> None:
        """A driver has ended."""
        for entry in [entry for entry in self.entries.values() if entry.client_id == client_id]:
            del self.entries[entry.loan_id]
