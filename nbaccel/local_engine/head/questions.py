"""The head's answers: one function for each thing that a client may ask."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.groups import GroupNameTaken, Groups
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.picture import Picture
from nbaccel.local_engine.head.reasons import Reasons
from nbaccel.local_engine.head.spoiled_workers import SpoiledWorkers
from nbaccel.local_engine.head.state_rows import StateRows
from nbaccel.local_engine.head.virtual_nodes import VirtualNodes
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.scheduling.events import ActorKillAsked, CancelAsked
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import observer_lines, sinks
from nbaccel.views.observer_lines import ErrorLine, ObserverLine, ObserverQuestion
from nbaccel.views.question import table_of

if TYPE_CHECKING:
    from nbaccel.local_engine.head.loop import Head
    from nbaccel.local_engine.head.records import ActorEntry
    from nbaccel.views.snapshot import Snapshot

_TAIL_BYTES = 1 << 20


class Refusal(Exception):
    """A question that gets an error: the class to raise at the asker's, and the words."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Later(Exception):
    """A question on a named actor that is on its way: it is asked again when the actor has come, or will not."""

    def __init__(self, actor_id: bytes) -> None:
        super().__init__()
        self.actor_id = actor_id


class Questions:
    """Everything that is asked and answered."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._picture = Picture(head)
        self._rows = StateRows(head, self._picture)
        self.reasons = Reasons(head)
        self.groups = Groups(head)
        self.nodes = VirtualNodes(head.nodes, head.lineage, head.handle)
        self._reserved: dict[bytes, tuple[tuple[str, str], int]] = {}  # actor to come -> (its name, who makes it)
        self._later: dict[bytes, list[tuple[Peer, wire.Ask]]] = {}
        self._pinned: dict[int, set[bytes]] = {}  # job -> refs that it pickled by hand
        spoiled = SpoiledWorkers(head)
        self.table = table_of(
            asks.Synchronise.answered_by(lambda peer, asked: None),
            asks.Pin.answered_by(self._pin),
            asks.MoveFirst.answered_by(lambda peer, asked: head.objects.last_choice(asked.ids)),
            asks.LocateObjects.answered_by(lambda peer, asked: [self._rows.location(id) for id in asked.ids]),
            asks.GarbageCollected.answered_by(lambda peer, asked: head.garbage.answered(peer.client_id)),
            asks.ProcessChanged.answered_by(spoiled.came),
            asks.ActorLeaves.answered_by(self._leaves),
            asks.IsActorTask.answered_by(self._is_actor_task),
            asks.ReserveName.answered_by(self._reserve_name),
            asks.ReleaseName.answered_by(lambda peer, asked: self._release_name(asked.actor_id)),
            asks.FindActor.answered_by(self._find_actor),
            asks.ListNamedActors.answered_by(self._list_named_actors),
            asks.ListNodes.answered_by(lambda peer, asked: self._picture.nodes_as_dicts()),
            asks.TotalResources.answered_by(lambda peer, asked: self._sum("totals")),
            asks.FreeResources.answered_by(lambda peer, asked: self._sum("available")),
            asks.ProbeChoice.answered_by(lambda peer, asked: self.reasons.probe(asked.choice)),
            asks.ReadState.answered_by(lambda peer, asked: self._rows.of(asked.kind, asked.limit)),
            asks.ReadTimeline.answered_by(lambda peer, asked: self._rows.timeline()),
            asks.Recycle.answered_by(self._recycle),
            asks.CreateGroup.answered_by(self._create_group),
            asks.WhenGroupReady.answered_by(self.groups.ready),
            asks.RemoveGroup.answered_by(self.groups.remove),
            asks.ReadGroup.answered_by(self.groups.table),
            asks.FindGroup.answered_by(self.groups.find),
            observer_lines.TakeSnapshot.answered_by(lambda peer, asked: self.picture()),
            observer_lines.Explain.answered_by(lambda peer, asked: self.reasons.explain(asked.task_id)),
            observer_lines.FindTasks.answered_by(lambda peer, asked: self._picture.rows.found(asked.filter)),
            observer_lines.ReadLogs.answered_by(self._logs),
            observer_lines.ReadNotes.answered_by(lambda peer, asked: list(head.note.lines)),
            observer_lines.CancelTask.answered_by(self._cancel),
            observer_lines.EndActor.answered_by(self._end_actor),
            observer_lines.AddNode.answered_by(self._add_node),
            observer_lines.RemoveNode.answered_by(self._remove_node),
            observer_lines.StopHead.answered_by(self._stop_head),
        )

    def ask(self, peer: Peer, message: wire.Ask) -> None:
        """Answer a client; one that wants to see the devices, when they have been looked at."""
        if message.what == observer_lines.TakeSnapshot.tag():
            self._head.devices.watch.freshen(lambda: None if peer.closed else self._answer(peer, message))
        else:
            self._answer(peer, message)

    def _answer(self, peer: Peer, message: wire.Ask) -> None:
        answer = wire.Answer(message.request)
        try:
            row = self.table.get(message.what)
            if row is None:
                raise Refusal("RaySystemError", f"This head does not know the question {message.what!r}.")
            answer.body = row.encoded_answer(peer, message.body)
        except Later as later:
            self._later.setdefault(later.actor_id, []).append((peer, message))
            return
        except Refusal as refusal:
            answer.error, answer.kind = str(refusal), refusal.kind
        if message.request != asks.NO_ANSWER:
            self._head.send(peer, answer)

    def failed(self, peer: Peer, message: wire.Ask, error: Exception) -> None:
        """A question that nobody foresaw: who asks must not wait for ever."""
        why = f"The head could not answer the question {message.what!r}: {type(error).__name__}: {error}"
        self._head.send(peer, wire.Answer(message.request, error=why, kind="RaySystemError"))

    def of_observer(self, peer: Peer, question: ObserverQuestion[Any]) -> ObserverLine:
        """Answer an observer; its mistakes too."""
        try:
            return question.line(self.table[question.tag()].answer(peer, question))
        except (ValueError, TypeError, Refusal) as error:
            return ErrorLine(str(error))

    def picture(self, rows: int = 0) -> Snapshot:
        return self._picture.snapshot(self._head.watchers.seq, rows)

    # ---- objects and actors

    def _pin(self, peer: Peer, asked: asks.Pin) -> None:
        """A ref was pickled outside of a task or value: it may come back at any time, so it is kept for the
        job's life.
        """
        pinned = self._pinned.setdefault(peer.job, set())
        if asked.id not in pinned:
            pinned.add(asked.id)
            self._head.objects.pin((asked.id,))

    def _is_actor_task(self, peer: Peer, asked: asks.IsActorTask) -> bool:
        record = self._head.scheduler.task_record(asked.task_id)
        return record is not None and record.task.kind is TaskKind.ACTOR_CALL

    def _reserve_name(self, peer: Peer, asked: asks.ReserveName) -> bool:
        key = (asked.namespace, asked.name)
        if key in self._head.names:
            self._head.store.give_back()  # its last handle may have gone with a message that came just before
        if key in self._head.names:
            return False
        self._head.names[key] = asked.actor_id
        self._reserved[asked.actor_id] = (key, peer.client_id)
        return True

    def _release_name(self, actor_id: bytes) -> None:
        """The actor will not come."""
        key, _client = self._reserved.pop(actor_id, (None, 0))
        if key is not None and self._head.names.get(key) == actor_id:
            del self._head.names[key]
        self._ask_again(actor_id)

    def actor_came(self, actor_id: bytes) -> None:
        """An actor that a name was reserved for has been submitted."""
        if self._reserved.pop(actor_id, None) is not None:
            self._ask_again(actor_id)

    def _ask_again(self, actor_id: bytes) -> None:
        for peer, message in self._later.pop(actor_id, ()):
            self.ask(peer, message)

    def name_free(self, actor: ActorEntry) -> None:
        """An actor ends: another may have its name."""
        key = (actor.namespace, actor.name)
        if self._head.names.get(key) == actor.actor_id:
            del self._head.names[key]

    def client_gone(self, client_id: int) -> None:
        """Names that it took for actors which it has not made are free again."""
        for actor_id, (_key, client) in list(self._reserved.items()):
            if client == client_id:
                self._release_name(actor_id)

    def _find_actor(self, peer: Peer, asked: asks.FindActor) -> asks.NamedActor:
        name, namespace = asked.name, asked.namespace
        actor_id = self._head.names.get((namespace, name))
        if actor_id in self._reserved:
            raise Later(actor_id)
        actor = self._head.actors.get(actor_id) if actor_id is not None else None
        if actor is None or actor.scope_ended:
            others = sorted(n for s, n in self._head.names if s == namespace)
            known = f" Named actors there: {', '.join(others)}." if others else " There are no named actors in it."
            elsewhere = sorted(s for s, n in self._head.names if n == name)
            if elsewhere:
                known += f" An actor of that name lives in namespace {elsewhere[0]!r}: pass namespace=."
            raise Refusal(
                "ValueError", f"Failed to look up actor with name {name!r} in namespace {namespace!r}.{known}"
            )
        terms = actor.terms
        return asks.NamedActor(actor.actor_id, terms.class_name, terms.actor.methods)

    def _list_named_actors(self, peer: Peer, asked: asks.ListNamedActors) -> list[tuple[str, str]]:
        alive = [(n, s) for (s, n), id in self._head.names.items() if id in self._head.actors]
        return [(n, s) for n, s in alive if asked.namespace is None or s == asked.namespace]

    def job_ended(self, job: int) -> None:
        """Names of its actors are free again, and what it pickled by hand is let go."""
        self._head.objects.unpin(self._pinned.pop(job, ()))
        for (namespace, name), actor_id in list(self._head.names.items()):
            actor = self._head.actors.get(actor_id)
            if actor is not None and actor.job == job and not actor.terms.actor.detached:
                del self._head.names[(namespace, name)]

    # ---- cluster

    def _sum(self, which: str) -> dict[str, float]:
        total: dict[str, float] = {}
        for row in self._picture.node_rows():
            if row.alive:
                for name, amount in (row.totals if which == "totals" else row.available).items():
                    total[name] = total.get(name, 0.0) + amount
        return {name: amount for name, amount in total.items() if amount or which == "totals"}

    def _task_named(self, id: bytes) -> bytes:
        """A task's own id, its result's, or its actor's."""
        actor = self._head.actors.get(id)
        return bytes(actor.creation.task_id) if actor is not None else id[:24]

    def _logs(self, peer: Peer, asked: observer_lines.ReadLogs) -> str:
        """The last lines that a task's worker (or any worker) has printed."""
        task_id, tail = asked.task_id, asked.tail
        folder = os.path.join(self._head.config.directory, "logs")
        worker_id = ""
        if task_id:
            record = self._head.scheduler.task_record(self._task_named(bytes.fromhex(task_id)))
            if record is None:
                raise Refusal("ValueError", f"Task {task_id} is not known here: it ended long ago, or never was.")
            worker_id = record.task.payload.worker_id.hex()
        try:
            names = sorted(name for name in os.listdir(folder) if name.startswith(f"worker-{worker_id[:16]}"))
        except FileNotFoundError:
            return ""
        lines: list[str] = []
        for name in names:
            lines += _tail(os.path.join(folder, name))
        return "\n".join(lines[-tail:] if tail > 0 else lines)

    def _recycle(self, peer: Peer, asked: asks.Recycle) -> int:
        """Stop idle workers that have run user code."""
        from nbaccel.local_engine.head.records import WorkerProcess

        stopped = 0
        workers: list[WorkerProcess] = list(self._head.workers.by_id.values())
        for worker in workers:
            record = self._head.scheduler.worker_record(worker.worker_id)
            if record is not None and worker.used and record.state.name == "IDLE":
                self._head.workers.stop(worker.worker_id, "it was recycled", force=False)
                stopped += 1
        return stopped

    def _cancel(self, peer: Peer, asked: observer_lines.CancelTask) -> None:
        self._head.handle(CancelAsked(bytes.fromhex(asked.task_id), asked.force))

    def _end_actor(self, peer: Peer, asked: observer_lines.EndActor) -> None:
        self._head.handle(ActorKillAsked(bytes.fromhex(asked.actor_id)))

    def _stop_head(self, peer: Peer, asked: observer_lines.StopHead) -> None:
        self._head.poll.at(time.monotonic(), lambda: self._head.stop("it was told to stop"))

    def _add_node(self, peer: Peer, asked: observer_lines.AddNode) -> str:
        try:
            return self.nodes.add(asked.options)
        except ValueError as error:
            raise Refusal("ValueError", str(error)) from None

    def _remove_node(self, peer: Peer, asked: observer_lines.RemoveNode) -> None:
        try:
            self.nodes.remove(asked.node_id)
        except ValueError as error:
            raise Refusal("ValueError", str(error)) from None

    def _leaves(self, peer: Peer, asked: asks.ActorLeaves) -> None:
        """Code of an actor that belongs to no call has ended the actor: those under way are the last."""
        actor_id = peer.worker.running_actor if peer.worker is not None else None
        if actor_id is not None:
            self._head.handle(ActorKillAsked(actor_id, True, graceful=True, why=failures.ENDED_ITSELF))

    def _create_group(self, peer: Peer, asked: asks.CreateGroup) -> None:
        try:
            self.groups.create(peer, asked)
        except GroupNameTaken as error:
            raise Refusal("RaySystemError", str(error)) from None


def _tail(path: str) -> list[str]:
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - _TAIL_BYTES, 0))
        text = file.read().decode("utf-8", "replace").removesuffix("\n")
    return [sinks.last_frame(line) for line in text.split("\n")] if text else []
