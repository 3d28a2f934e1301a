"""Ray's `ray.actor` path: the classes of actors, and exit_actor."""

from nbaccel.handles.remote import ActorClass, ActorClassInheritanceException, ActorHandle, ActorMethod

ActorProxy = ActorHandle  # Ray's name for annotations: `def use(counter: ActorProxy[Counter])`

__all__ = ["ActorClass", "ActorClassInheritanceException", "ActorHandle", "ActorMethod", "ActorProxy", "exit_actor"]


def exit_actor() -> None:
    """End the actor that calls this, after the call. Raises TypeError outside of an actor."""
    from nbaccel import engine

    engine.current().exit_actor()
