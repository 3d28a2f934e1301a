"""Names and handles of this engine's actors: an actor ends with its last handle, as everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbaccel import exceptions
from nbaccel.handles import option_checks
from nbaccel.handles.options import ActorOptions
from nbaccel.handles.remote import ActorHandle, MethodSpec
from nbaccel.scheduling.events import ActorKillAsked
from nbaccel.scheduling.terms import Terms

if TYPE_CHECKING:
    from nbaccel.debug_engine.engine import DebugEngine


class Actors:
    """All actors of one engine."""

    def __init__(self, engine: DebugEngine) -> None:
        self._engine = engine
        self.terms: dict[bytes, Terms] = {}
        self._methods: dict[bytes, dict[str, MethodSpec]] = {}
        self._names: dict[tuple[str, str], bytes] = {}

    def handle(
        self, actor_id: bytes, class_name: str, methods: dict[str, MethodSpec], *, counted: bool = True
    ) -> ActorHandle:
        """A handle; one that is not counted does not keep its actor alive."""
        if counted:
            self._engine.values.hold(actor_id)
        return ActorHandle(actor_id, class_name, methods, self._engine, counted=counted)

    def out_of_scope(self, id: bytes) -> None:
        """The last handle has gone, if this is an actor's id."""
        terms = self.terms.get(id)
        if terms is not None and not terms.actor.detached:
            why = "its last handle went out of scope"
            self._engine.stage.tell(ActorKillAsked(id, graceful=True, why=why))

    def add(self, handle: ActorHandle, terms: Terms) -> None:
        self.terms[handle._actor_id_bytes] = terms
        self._methods[handle._actor_id_bytes] = handle._method_specs

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
        terms = self.terms.get(actor_id)
        if terms is not None:
            option_checks.group_of_calls(group, terms.class_name, terms.actor.concurrency_groups)

    def named(self, name: str, namespace: str, *, counted: bool = False) -> ActorHandle:
        """Raises ValueError."""
        self._engine.values.sweep()
        actor_id = self._names.get((namespace, name))
        if actor_id is None:
            raise ValueError(f"Failed to look up actor with name {name!r} in namespace {namespace!r}.")
        return self.handle(actor_id, self.terms[actor_id].class_name, self._methods[actor_id], counted=counted)

    def names(self, namespace: str | None) -> list[Any]:
        """Names in a namespace; all of them with their namespaces."""
        self._engine.values.sweep()
        if namespace is None:
            return [{"name": name, "namespace": space} for space, name in self._names]
        return [name for space, name in self._names if space == namespace]

    def ended(self, actor_id: bytes) -> None:
        """Its name is free again."""
        for key, id in list(self._names.items()):
            if id == actor_id:
                del self._names[key]
