"""Actors on Ray: made on the choice that is free, found by their names, killed."""

from __future__ import annotations

import time
from collections.abc import Sequence

import ray

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.internal_work import NAMESPACE, is_hidden
from nbaccel.handles.options import ActorOptions, demand_of_actor
from nbaccel.handles.remote import ActorClass, ActorHandle
from nbaccel.ray_engine.border.rays import RaysActor
from nbaccel.ray_engine.border.session import RaySession
from nbaccel.ray_engine.submission import pickling
from nbaccel.ray_engine.submission.bookkeeper import Bookkeeper
from nbaccel.ray_engine.submission.choosing import Choosing, RayChoice
from nbaccel.ray_engine.submission.errors import translate
from nbaccel.ray_engine.submission.exports import Exporter
from nbaccel.ray_engine.submission.freshening import Freshening
from nbaccel.ray_engine.submission.handle_maker import HandleMaker
from nbaccel.ray_engine.submission.tasks import Args, Named, unwrapped, unwrapped_named
from nbaccel.ray_engine.submission.undecided_actors import Deciding, UndecidedActor


class RayActors:
    """Makes and finds actors."""

    def __init__(
        self,
        session: RaySession,
        freshening: Freshening,
        choosing: Choosing,
        exporter: Exporter,
        handles: HandleMaker,
        books: Bookkeeper,
    ) -> None:
        self._session = session
        self._freshening = freshening
        self._choosing = choosing
        self._exporter = exporter
        self._handles = handles
        self.class_running_as = exporter.class_running_as
        self.note_actor = books.note_actor

    @property
    def namespace_of_reports(self) -> str:
        return self._session.namespace_of_reports

    def create_actor(self, actor_class: ActorClass, options: ActorOptions, args: Args, kwargs: Named) -> ActorHandle:
        self._session.head.check()
        self._freshening.look(actor_class, actor_class._class)
        choices = self._choosing.choices(options, lambda some: demand_of_actor(some)[0])
        if choices.never and self._session.refuses_infeasible:
            refused = self._exporter.class_that_refuses(actor_class).remote(f"{actor_class._name} {choices.never}")
            return self._handles.actor_made(refused, actor_class)
        given = (unwrapped(args), unwrapped_named(kwargs))
        if len(choices.left) > 1:
            return Deciding(self, self._handles.engine, actor_class, options, choices, given).start()
        running = self.class_running_as(actor_class, choices.left[0].label)
        submitted_at = time.time()
        inner = self.actor_of(running, choices.left[0], *given)
        handle = self._handles.actor_made(inner, running)
        source = engines.cell_source and engines.cell_source()
        self.note_actor(inner, running, choices.left[0], handle, submitted_at, source)
        return handle

    def actor_of(
        self,
        running: ActorClass,
        choice: RayChoice[ActorOptions],
        args: Sequence[object],
        kwargs: Named,
        *,
        claimed: bool = False,
    ) -> RaysActor:
        """Ray's handle of a new actor; `claimed`: its constructor takes a claim before the user's arguments."""
        bound = self._exporter.class_with(running, choice.options, choice.label, claimed=claimed)
        try:
            return bound.remote(*args, **kwargs)
        except Exception as error:  # whatever the pickling of an argument raises
            pickling.name_culprit(error, running._name, running._class, args[1:] if claimed else args, kwargs)
            if isinstance(error, (ValueError, ray.exceptions.RayError)):
                raise self._name_taken(error, choice.options) from None
            raise

    def _name_taken(self, error: Exception, options: ActorOptions) -> BaseException:
        if options.name and (
            "already taken" in str(error) or isinstance(error, ray.exceptions.ActorAlreadyExistsError)
        ):
            return exceptions.ActorAlreadyExistsError(
                f"The namespace {options.namespace or self._session.namespace!r} already has an actor named "
                f"{options.name!r}. Get it with get_actor, kill it, choose another name, or pass get_if_exists=True."
            )
        return translate(error)

    def kill(self, actor: ActorHandle, *, no_restart: bool) -> None:
        if not (isinstance(actor, UndecidedActor) and actor.call_off()):
            ray.kill(actor._inner, no_restart=no_restart)

    def get_actor(self, name: str, namespace: str | None) -> ActorHandle:
        where = namespace or self._session.namespace
        try:
            return self._handles.actor(ray.get_actor(name, namespace=where))
        except ValueError:
            there = sorted(row["name"] for row in self._named_everywhere() if row["namespace"] == where)
            known = f" Named actors there: {', '.join(there)}." if there else " There are no named actors in it."
            raise ValueError(f"Failed to look up actor with name {name!r} in namespace {where!r}.{known}") from None

    def list_named_actors(self, all_namespaces: bool) -> list[str] | list[dict[str, str]]:
        from ray.util import list_named_actors

        return self._named_everywhere() if all_namespaces else list(list_named_actors(all_namespaces=False))

    def _named_everywhere(self) -> list[dict[str, str]]:
        """{"name": …, "namespace": …} of each that is not nbaccel's own."""
        from ray.util import list_named_actors

        own = (self._session.namespace_of_reports, NAMESPACE) if is_hidden() else ()
        return [row for row in list_named_actors(all_namespaces=True) if row["namespace"] not in own]
