"""The names of actors: each is taken before its actor is made, and free again when the actor ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import ActorEntry
from nbaccel.local_engine.head.refusal import Later, Refusal
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.views.question import Row

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

    def _unknown(self, name: str, namespace: str) -> Refusal:
        others = sorted(n for s, n in self._taken if s == namespace)
        known = f" Named actors there: {', '.join(others)}." if others else " There are no named actors in it."
        elsewhere = sorted(s for s, n in self._taken if n == name)
        if elsewhere:
            known += f" An actor of that name lives in namespace {elsewhere[0]!r}: pass namespace=."
        return Refusal("ValueError", f"Failed to look up actor with name {name!r} in namespace {namespace!r}.{known}")

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
