"""The head's side of a worker that a task has changed for good: it takes no more tasks, and its user is told why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire.driver_questions import ProcessChanged
from nbaccel.scheduling.events import WorkerSpoiled

if TYPE_CHECKING:
    from nbaccel.local_engine.head.audience import Audience
    from nbaccel.local_engine.head.decisions import Tell
    from nbaccel.local_engine.head.notes import Note
    from nbaccel.local_engine.head.peers import Peer
    from nbaccel.views.question import Row

MOST_TOLD = 1_000


class SpoiledWorkers:
    """Ends them; says so once for each function and deed."""

    def __init__(self, tell: Tell, note: Note, audience: Audience) -> None:
        self._tell = tell
        self._note = note
        self._audience = audience
        self._told: set[tuple[int, str, str]] = set()

    def answers(self) -> list[Row[Peer]]:
        """What workers say of themselves."""
        return [ProcessChanged.answered_by(self.came)]

    def came(self, peer: Peer, said: ProcessChanged) -> None:
        """A worker says of itself which task has done what, what to do about it, and where it was submitted."""
        name, why = said.name, said.why
        worker = peer.worker
        if worker is None:
            return  # a driver, which the head must not end
        self._tell(WorkerSpoiled(worker.worker_id, f"{name} has {why}"))
        told = (worker.setup_job, name, why)
        if told in self._told:
            return
        if len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told.add(told)
        words = (
            f"{name} has {why}. Its process (pid {worker.pid}) is replaced, so that later tasks do not fail. "
            f"{said.advice}"
        )
        self._note(words)
        self._audience.notice(worker.setup_job, wire.NoticeMessage("process", words, said.cell, said.parent))
