"""Names and handles of this engine's actors: an actor ends with its last handle, as everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbaccel import exceptions
from nbaccel.handles import option_checks
from nbaccel.handles.options import ActorOptions
from nbaccel.handles.remote import ActorHandle, MethodSpec
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.records import ActorEntry
from nbaccel.local_engine.wire import codec
from nbaccel.scheduling.commands import ActorChanged
from nbaccel.scheduling.events import ActorKillAsked
from nbaccel.scheduling.terms import Task

if TYPE_CHECKING:
    from nbaccel.debug_engine.engine import DebugEngine


class DebugActors:
    """All actors of one engine."""

    def __init__(self, engine: DebugEngine) -> None:
        self._engine = engine
        self.entries: dict[bytes, ActorEntry] = {}
        self._names: dict[tuple[str, str], bytes] = {}

    def handle(
        self, actor_id: bytes, class_name: str, methods: dict[str, MethodSpec], *, counted: bool = True
    ) -> ActorHandle:
        """A handle; one that is not counted does not keep its actor alive."""
        if counted:
            self._engine.values.hold(actor_id)
        return ActorHandle(actor_id, class_name, methods, self._engine, counted=counted)

    def known(self, actor_id: bytes, *, counted: bool) -> ActorHandle:
        """A handle of an actor that was made here."""
        terms = self.entries[actor_id].terms
        return self.handle(actor_id, terms.class_name, codec.load_code(terms.actor.methods), counted=counted)

    def out_of_scope(self, id: bytes) -> None:
        """The last handle has gone, if this is an actor's id."""
        entry = self.entries.get(id)
        if entry is not None and not entry.terms.actor.detached:
            why = "its last handle went out of scope"
            self._engine.stage.tell(ActorKillAsked(id, graceful=True, why=why))

    def add(self, creation: Task) -> None:
        actor_id, terms = creation.actor_id or b"", creation.terms
        name, namespace = terms.actor.name, terms.actor.namespace
        self.entries[actor_id] = ActorEntry(
            actor_id, terms, 0, terms.job, name, namespace, since=creation.submitted_at, creation=creation
        )

    def take_name(self, options: ActorOptions, namespace: str, actor_id: bytes) -> ActorHandle | None:
        """The actor that has the name already, where that is asked for. Raises ActorAlreadyExistsError."""
        if not options.name:
            return None
        self._engine.values.sweep()  # the last handle of the name's former owner may have gone
        key = (namespace, options.name)
        if key not in self._names:
            self._names[key] = actor_id
            return None
        if options.get_if_exists:
            return self.named(options.name, namespace, counted=True)
        raise exceptions.ActorAlreadyExistsError(
            f"The name {options.name} (namespace={namespace!r}) is already taken. Use another name, get the existing "
            f"actor with get_actor({options.name!r}), kill it, or pass get_if_exists=True."
        )

    def check_group(self, actor_id: bytes, group: str) -> None:
        """Raises ValueError for a concurrency group that the actor does not have."""
        entry = self.entries.get(actor_id)
        if entry is not None:
            option_checks.group_of_calls(group, entry.terms.class_name, entry.terms.actor.concurrency_groups)

    def named(self, name: str, namespace: str, *, counted: bool = False) -> ActorHandle:
        """Raises ValueError."""
        self._engine.values.sweep()
        actor_id = self._names.get((namespace, name))
        if actor_id is None:
            raise ValueError(f"Failed to look up actor with name {name!r} in namespace {namespace!r}.")
        return self.known(actor_id, counted=counted)

    def names(self, namespace: str | None) -> list[Any]:
        """Names in a namespace; all of them with their namespaces."""
        self._engine.values.sweep()
        if namespace is None:
            return [{"name": name, "namespace": space} for space, name in self._names]
        return [name for space, name in self._names if space == namespace]

    def changed(self, command: ActorChanged) -> None:
        """What the scheduler says of one of them."""
        outcomes.note_actor(self.entries[command.actor_id], command)
        if command.state == "DEAD":
            self.free_name(command.actor_id)

    def free_name(self, actor_id: bytes) -> None:
        for key, id in list(self._names.items()):
            if id == actor_id:
                del self._names[key]
