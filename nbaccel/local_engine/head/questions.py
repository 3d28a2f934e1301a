"""The head's answers: one function for each thing that a client may ask."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.found_tasks import found_tasks
from nbaccel.local_engine.head.groups import GroupNameTaken, Groups
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.picture import Picture
from nbaccel.local_engine.head.reasons import Reasons
from nbaccel.local_engine.head.records import choice_of
from nbaccel.local_engine.head.spoiled_workers import SpoiledWorkers
from nbaccel.local_engine.head.state_rows import StateRows
from nbaccel.local_engine.head.virtual_nodes import VirtualNodes
from nbaccel.local_engine.wire import failures
from nbaccel.scheduling.events import ActorKillAsked, CancelAsked
from nbaccel.views import sinks
from nbaccel.views.task_filter import TaskFilter

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
        self.nodes = VirtualNodes(head)
        self._reserved: dict[bytes, tuple[tuple[str, str], int]] = {}  # actor to come -> (its name, who makes it)
        self._later: dict[bytes, list[tuple[Peer, wire.Ask]]] = {}
        self._pinned: dict[int, set[bytes]] = {}  # job -> refs that it pickled by hand
        self._table: dict[str, Callable[[Peer, Any], Any]] = {
            "sync": lambda peer, body: None,
            "pin": self._pin,
            "collected": lambda peer, body: self._head.garbage.answered(peer.client_id),
            "spoiled": SpoiledWorkers(head).came,
            "leaves": self._leaves,
            "only_in_history": lambda peer, ids: self._head.objects.last_choice(ids),
            "is_actor_task": self._is_actor_task,
            "reserve_name": self._reserve_name,
            "release_name": lambda peer, actor_id: self._release_name(actor_id),
            "get_actor": self._get_actor,
            "list_named_actors": self._list_named_actors,
            "nodes": lambda peer, body: self._picture.nodes_as_dicts(),
            "cluster_resources": lambda peer, body: self._sum("totals"),
            "available_resources": lambda peer, body: self._sum("available"),
            "snapshot": lambda peer, body: self.picture(),
            "explain": lambda peer, body: self.reasons.explain(body),
            "probe": lambda peer, body: self.reasons.probe(choice_of(msgspec.convert(body, wire.ChoiceSpec))),
            "logs": self._logs,
            "state": lambda peer, body: self._rows.of(body[0], body[1]),
            "tasks": lambda peer, body: found_tasks(self._head, self._picture, msgspec.convert(body, TaskFilter)),
            "object_locations": lambda peer, ids: [self._rows.location(id) for id in ids],
            "timeline": lambda peer, body: self._rows.timeline(),
            "create_group": self._create_group,
            "group_ready": self.groups.ready,
            "remove_group": self.groups.remove,
            "group_table": self.groups.table,
            "find_group": self.groups.find,
            "add_node": lambda peer, body: self._of_nodes(self.nodes.add, body),
            "remove_node": lambda peer, body: self._of_nodes(self.nodes.remove, body),
            "recycle": self._recycle,
            "notes": lambda peer, body: self._head.note.lines,
            "stop_head": self._stop_head,
            "detection": lambda peer, body: self._head.node.detection.to_dict() if self._head.node.detection else None,
        }

    def ask(self, peer: Peer, message: wire.Ask) -> None:
        """Answer a client; one that wants to see the devices, when they have been looked at."""
        if message.what == "snapshot":
            self._head.node.watch.freshen(lambda: None if peer.closed else self._answer(peer, message))
        else:
            self._answer(peer, message)

    def _answer(self, peer: Peer, message: wire.Ask) -> None:
        answer = wire.Answer(message.request)
        try:
            function = self._table.get(message.what)
            if function is None:
                raise Refusal("RaySystemError", f"This head does not know the question {message.what!r}.")
            answer.body = msgspec.msgpack.encode(function(peer, wire.unpack(message.body)))
        except Later as later:
            self._later.setdefault(later.actor_id, []).append((peer, message))
            return
        except Refusal as refusal:
            answer.error, answer.kind = str(refusal), refusal.kind
        if message.request:
            self._head.send(peer, answer)

    def failed(self, peer: Peer, message: wire.Ask, error: Exception) -> None:
        """A question that nobody foresaw: who asks must not wait for ever."""
        why = f"The head could not answer the question {message.what!r}: {type(error).__name__}: {error}"
        self._head.send(peer, wire.Answer(message.request, error=why, kind="RaySystemError"))

    def of_observer(self, what: str, request: dict[str, Any]) -> dict[str, Any]:
        """Answer an observer: cancel, kill, explain, logs, nodes, stop."""
        try:
            if what == "cancel":
                self._head.handle(CancelAsked(bytes.fromhex(request["task_id"]), bool(request.get("force"))))
            elif what == "kill":
                self._head.handle(ActorKillAsked(bytes.fromhex(request["actor_id"])))
            elif what == "explain":
                return {"kind": "explanations", "explanations": self.reasons.explain(request.get("task_id"))}
            elif what == "logs":
                return {
                    "kind": "logs",
                    "text": self._logs(None, [request.get("task_id"), int(request.get("tail", 100))]),
                }
            elif what == "tasks":
                wanted = msgspec.convert(request.get("filter", {}), TaskFilter)
                return {"kind": "tasks", **msgspec.to_builtins(found_tasks(self._head, self._picture, wanted))}
            elif what == "notes":
                return {"kind": "notes", "notes": self._head.note.lines}
            elif what == "add_node":
                return {"kind": "done", "ask": what, "node_id": self.nodes.add(request["options"])}
            elif what == "remove_node":
                self.nodes.remove(str(request["node_id"]))
            elif what == "stop":
                self._head.poll.at(time.monotonic(), lambda: self._head.stop("it was told to stop"))
            else:
                return {"kind": "error", "message": f"This head does not know the question {what!r}."}
        except (KeyError, ValueError, TypeError, Refusal) as error:  # the asker's mistakes
            lacks = f"The question {what!r} lacks {error}." if isinstance(error, KeyError) else str(error)
            return {"kind": "error", "message": lacks}
        return {"kind": "done", "ask": what}

    def picture(self, rows: int = 0) -> Snapshot:
        return self._picture.snapshot(self._head.watchers.seq, rows)

    # ---- objects and actors

    def _pin(self, peer: Peer, id: bytes) -> None:
        """A ref was pickled outside of a task or value: it may come back at any time, so it is kept for the
        job's life.
        """
        pinned = self._pinned.setdefault(peer.job, set())
        if id not in pinned:
            pinned.add(id)
            self._head.objects.pin((id,))

    def _is_actor_task(self, peer: Peer, task_id: bytes) -> bool:
        record = self._head.scheduler.task_record(task_id)
        return record is not None and record.task.actor_id is not None and record.task.kind.value == "actor call"

    def _reserve_name(self, peer: Peer, body: Any) -> bool:
        """Take a name for an actor that is about to be made; False when it is taken."""
        name, namespace, actor_id = body
        key = (namespace, name)
        if key in self._head.names:
            self._head.store.give_back()  # its last handle may have gone with a message that came just before
        if key in self._head.names:
            return False
        self._head.names[key] = actor_id
        self._reserved[actor_id] = (key, peer.client_id)
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

    def _get_actor(self, peer: Peer, body: Any) -> Any:
        name, namespace = body
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
        template = actor.record.template
        return actor.actor_id, template.class_name, template.methods

    def _list_named_actors(self, peer: Peer, namespace: str | None) -> list[tuple[str, str]]:
        alive = [(n, s) for (s, n), id in self._head.names.items() if id in self._head.actors]
        return [(n, s) for n, s in alive if namespace is None or s == namespace]

    def job_ended(self, job: int) -> None:
        """Names of its actors are free again, and what it pickled by hand is let go."""
        self._head.objects.unpin(self._pinned.pop(job, ()))
        for (namespace, name), actor_id in list(self._head.names.items()):
            actor = self._head.actors.get(actor_id)
            if actor is not None and actor.job == job and not actor.record.template.detached:
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

    def _logs(self, peer: Peer | None, body: Any) -> str:
        """The last lines that a task's worker (or any worker) has printed."""
        task_id, tail = body
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

    def _recycle(self, peer: Peer, body: Any) -> int:
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

    def _stop_head(self, peer: Peer, body: Any) -> None:
        self._head.poll.at(time.monotonic(), lambda: self._head.stop("it was told to stop"))

    def _of_nodes(self, act: Callable[[Any], Any], body: Any) -> Any:
        try:
            return act(body)
        except ValueError as error:
            raise Refusal("ValueError", str(error)) from None

    def _leaves(self, peer: Peer, body: Any) -> None:
        """Code of an actor that belongs to no call has ended the actor: those under way are the last."""
        actor_id = peer.worker.running_actor if peer.worker is not None else None
        if actor_id is not None:
            self._head.handle(ActorKillAsked(actor_id, True, graceful=True, why=failures.ENDED_ITSELF))

    def _create_group(self, peer: Peer, body: Any) -> None:
        try:
            self.groups.create(peer, body)
        except GroupNameTaken as error:
            raise Refusal("RaySystemError", str(error)) from None


def _tail(path: str) -> list[str]:
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - _TAIL_BYTES, 0))
        text = file.read().decode("utf-8", "replace").removesuffix("\n")
    return [sinks.last_frame(line) for line in text.split("\n")] if text else []
