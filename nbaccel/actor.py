"""Ray's `ray.actor` path: the classes of actors, and exit_actor."""

from typing import TYPE_CHECKING, Annotated

from nbaccel.handles.remote import ActorClass, ActorClassInheritanceException, ActorHandle, ActorMethod

if TYPE_CHECKING:
    from nbaccel.handles.signatures import T

if TYPE_CHECKING:
    # To a checker the handle is an instance: methods that @method marks have `.remote`, with their types.
    ActorProxy = Annotated[T, "a handle of an actor of this class"]
else:
    ActorProxy = ActorHandle  # Ray's name for annotations: `def use(counter: ActorProxy[Counter])`

__all__ = ["ActorClass", "ActorClassInheritanceException", "ActorHandle", "ActorMethod", "ActorProxy", "exit_actor"]


def exit_actor() -> None:
    """End the actor that calls this, after the call. Raises TypeError outside of an actor."""
    from nbaccel import engine

    engine.current().exit_actor()
