"""The head's actors: the worker of each, the outcome of its constructor, and its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.connections import Handler, Later, Peer, QuestionError, id_of
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.records import ActorEntry, TaskEntry, entry_of
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.scheduling.commands import ActorChanged
from nbaccel.scheduling.events import ActorKillAsked
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task, TaskKind, Terms
from nbaccel.views.observer_lines import EndActor, Row

_Key = tuple[str, str]  # namespace, name


class ActorNames:
    """The names of actors. `settled` is called with an actor that exists now or never will: questions may wait."""

    def __init__(
        self,
        actors: Mapping[bytes, ActorEntry],
        *,
        free_unheld: Callable[[], None],
        settled: Callable[[bytes], None],
    ) -> None:
        self._actors = actors
        self._free_unheld = free_unheld  # ends actors whose last handle has gone
        self._settled = settled
        self._taken: dict[_Key, bytes] = {}  # -> actor
        self._reserved: dict[bytes, tuple[_Key, int]] = {}  # actor to come -> (its name, who makes it)

    def answers(self) -> list[Row[Peer]]:
        """The questions about names and their answers."""
        return [
            asks.ReserveName.answered_by(self._reserve),
            asks.ReleaseName.answered_by(lambda peer, asked: self._release(asked.actor_id)),
            asks.FindActor.answered_by(self._find),
            asks.ListNamedActors.answered_by(self._list),
        ]

    def _reserve(self, peer: Peer, asked: asks.ReserveName) -> bool:
        key = (asked.namespace, asked.name)
        if key in self._taken:
            self._free_unheld()  # its last handle may have gone with a message that came just before
        if key in self._taken:
            return False
        self._taken[key] = asked.actor_id
        self._reserved[asked.actor_id] = (key, peer.client_id)
        return True

    def _release(self, actor_id: bytes) -> None:
        """The actor will never exist."""
        key, _client = self._reserved.pop(actor_id, (None, 0))
        if key is not None and self._taken.get(key) == actor_id:
            del self._taken[key]
        self._settled(actor_id)

    def _find(self, peer: Peer, asked: asks.FindActor) -> asks.NamedActor:
        name, namespace = asked.name, asked.namespace
        actor_id = self._taken.get((namespace, name))
        if actor_id in self._reserved:
            raise Later(actor_id)
        actor = self._actors.get(actor_id) if actor_id is not None else None
        if actor is None or actor.scope_ended:
            raise self._unknown(name, namespace)
        terms = actor.terms
        return asks.NamedActor(actor.actor_id, terms.class_name, terms.actor.methods)

    def _unknown(self, name: str, namespace: str) -> QuestionError:
        others = sorted(n for s, n in self._taken if s == namespace)
        known = f" Named actors there: {', '.join(others)}." if others else " There are no named actors in it."
        elsewhere = sorted(s for s, n in self._taken if n == name)
        if elsewhere:
            known += f" An actor of that name lives in namespace {elsewhere[0]!r}: pass namespace=."
        return QuestionError(
            "ValueError", f"Failed to look up actor with name {name!r} in namespace {namespace!r}.{known}"
        )

    def _list(self, peer: Peer, asked: asks.ListNamedActors) -> list[tuple[str, str]]:
        alive = [(n, s, self._actors[id]) for (s, n), id in self._taken.items() if id in self._actors]
        shown = [(n, s) for n, s, actor in alive if not actor.terms.internal]
        return [(n, s) for n, s in shown if asked.namespace is None or s == asked.namespace]

    # ---- events of actors and of their creators

    def came(self, actor_id: bytes) -> None:
        """An actor was submitted, perhaps one with a reserved name."""
        if self._reserved.pop(actor_id, None) is not None:
            self._settled(actor_id)

    def free(self, actor: ActorEntry) -> None:
        """An actor ends: its name becomes free."""
        key = (actor.namespace, actor.name)
        if self._taken.get(key) == actor.actor_id:
            del self._taken[key]

    def client_gone(self, client_id: int) -> None:
        """A client has gone: free the names that it reserved for actors that it did not make."""
        for actor_id, (_key, client) in list(self._reserved.items()):
            if client == client_id:
                self._release(actor_id)

    def job_ended(self, job: int) -> None:
        """A job has ended: free the names of its actors, except detached ones."""
        for key, actor_id in list(self._taken.items()):
            actor = self._actors.get(actor_id)
            if actor is not None and actor.job == job and not actor.terms.actor.detached:
                del self._taken[key]


MOST_DEAD = 1_000  # rows that the cockpit shows; a program that makes millions must not fill the head


class Actors:
    """All actors of the head. Readers may get `by_id`."""

    def __init__(
        self,
        scheduler: Scheduler,
        objects: ObjectTables,
        notify: Notify,
        *,
        unpin: Callable[[TaskEntry, Task], None],
        free_unheld: Callable[[], None],
        settled: Callable[[bytes], None],
        lived: Callable[[ActorEntry], None],
        lives: Callable[[ActorEntry], None],
    ) -> None:
        self._scheduler = scheduler
        self._objects = objects
        self._notify = notify
        self._unpin = unpin  # lets go of a constructor's arguments
        self._lives = lives  # called with an actor whose constructor has returned
        self._lived = lived  # called with an actor that has left its worker
        self.by_id: dict[bytes, ActorEntry] = {}
        self.names = ActorNames(self.by_id, free_unheld=free_unheld, settled=settled)

    def handlers(self) -> dict[type, Handler]:
        """The messages of drivers and workers, with their handlers."""
        return {wire.KillActor: lambda peer, m: self._notify(ActorKillAsked(m.actor_id, m.no_restart, why=m.why))}

    def answers(self) -> list[Row[Peer]]:
        """The questions about actors and their answers."""
        return [
            *self.names.answers(),
            asks.IsActorTask.answered_by(self._is_actor_task),
            asks.ActorLeaves.answered_by(self._leaves),
            EndActor.answered_by(lambda peer, asked: self._notify(ActorKillAsked(id_of(asked.actor_id, "an actor")))),
        ]

    def _is_actor_task(self, peer: Peer, asked: asks.IsActorTask) -> bool:
        record = self._scheduler.task_record(asked.task_id)
        return record is not None and record.task.kind is TaskKind.ACTOR_CALL

    def _leaves(self, peer: Peer, asked: asks.ActorLeaves) -> None:
        """Code of an actor outside of any call has ended the actor: the unfinished calls are its last."""
        actor_id = peer.worker.running_actor if peer.worker is not None else None
        if actor_id is not None:
            self._notify(ActorKillAsked(actor_id, True, graceful=True, why=failures.ENDED_ITSELF))

    # ---- a life

    def submitted(self, peer: Peer, entry: TaskEntry, task: Task) -> None:
        """The creation of an actor was submitted."""
        actor_id, terms = entry.submit.actor_id, task.terms
        self._objects.actor_ids.add(actor_id)
        ledger.promise(self._objects, actor_id, peer.client_id)
        if terms.actor.detached:
            ledger.pin(self._objects, (actor_id,))
        self.by_id[actor_id] = ActorEntry(
            actor_id,
            terms,
            peer.client_id,
            peer.job,
            terms.actor.name,
            terms.actor.namespace,
            since=entry.submitted_at,
            creation=task,
        )
        if terms.actor.name:
            self.names.came(actor_id)

    def placed(
        self, actor_id: bytes, worker_id: bytes, node_id: bytes, device_ids: dict[str, list[str]] | None
    ) -> None:
        """The constructor is sent to this worker, in which the actor lives from now on."""
        actor = self.by_id.get(actor_id)
        if actor is not None:
            actor.worker_id, actor.node_id, actor.device_ids = worker_id, node_id, device_ids

    def creation_failed(self, entry: TaskEntry, value: wire.Value) -> None:
        """The constructor failed: calls of the actor get this value."""
        actor = self.by_id.get(entry.submit.actor_id)
        if actor is not None:
            outcomes.note_failed_creation(actor, value)

    def out_of_scope(self, actor_id: bytes) -> None:
        """No process has a handle of the actor any more."""
        entry = self.by_id.get(actor_id)
        if entry is None:
            self._objects.records.pop(actor_id, None)
            self._objects.actor_ids.discard(actor_id)
        elif not entry.scope_ended and not entry.terms.actor.detached:
            entry.scope_ended = True
            self.names.free(entry)
            self._notify(ActorKillAsked(actor_id, graceful=True, why="its last handle went out of scope"))

    def changed(self, command: ActorChanged) -> None:
        """The scheduler reports a new state of the actor."""
        actor = self.by_id.get(command.actor_id)
        if actor is None:
            return
        if actor.state == "ALIVE" and command.state != "ALIVE":
            self._lived(actor)
        outcomes.note_actor(actor, command)
        if command.state == "ALIVE":
            self._lives(actor)
        if command.state == "DEAD":
            self._died(actor)

    def terms(self) -> list[Terms]:
        """Those of the constructors of all that are not dead: they may be started again."""
        return [actor.terms for actor in self.by_id.values() if actor.state != "DEAD"]

    def _died(self, actor: ActorEntry) -> None:
        self._unpin(entry_of(actor.creation), actor.creation)
        self.names.free(actor)
        actor.scope_ended = True
        dead = [other for other in self.by_id.values() if other.state == "DEAD"]
        for old in dead[:-MOST_DEAD]:
            del self.by_id[old.actor_id]
