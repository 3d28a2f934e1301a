"""Answers to questions about placement groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.groups import GroupNameTaken, Groups
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import Job
from nbaccel.local_engine.head.refusal import Refusal
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.views.question import Row


class GroupAnswers:
    """Answers for the processes of one head."""

    def __init__(
        self, groups: Groups[int], objects: ObjectTables, jobs: Mapping[int, Job], owner_of: Callable[[Peer], int]
    ) -> None:
        self._groups = groups
        self._objects = objects
        self._jobs = jobs
        self._owner_of = owner_of  # whose end withdraws a peer's wait for a group

    def answers(self) -> list[Row[Peer]]:
        """The questions about groups and their answers."""
        groups = self._groups
        return [
            asks.CreateGroup.answered_by(self._create),
            asks.WhenGroupReady.answered_by(self._when_ready),
            asks.RemoveGroup.answered_by(lambda peer, asked: groups.remove(asked.group_id)),
            asks.AskWhyNeverPlaced.answered_by(lambda peer, asked: groups.why_never_placed(asked)),
            asks.ReadGroups.answered_by(lambda peer, asked: groups.table(asked.group_id)),
            asks.FindGroup.answered_by(lambda peer, asked: groups.find(asked.name, asked.namespace)),
        ]

    def _create(self, peer: Peer, asked: asks.CreateGroup) -> None:
        job = self._jobs.get(peer.job)
        try:
            self._groups.create(asked, peer.job, refuses=job is not None and job.hello.infeasible == "raise")
        except GroupNameTaken as error:
            raise Refusal("RaySystemError", str(error)) from None

    def _when_ready(self, peer: Peer, asked: asks.WhenGroupReady) -> None:
        ledger.promise(self._objects, asked.object_id, peer.client_id)
        self._groups.ready(asked.group_id, asked.object_id, self._owner_of(peer), wire.Value(wire.OK, asked.value))
