"""Remote functions, and calls of actors' methods, on Ray."""

from __future__ import annotations

import time

import ray

from nbaccel import exceptions
from nbaccel.engine import Returned
from nbaccel.handles.options import MethodOptions, TaskOptions, demand_of_task
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorHandle, ActorMethod, MethodSpec, RemoteFunction
from nbaccel.ray_engine.rays import Bound, RaysRemote, RaysResult, is_stream
from nbaccel.ray_engine.session import RaySession
from nbaccel.ray_engine.submission import errors, groups, handle_maker, options_for_ray
from nbaccel.ray_engine.submission.errors import translate
from nbaccel.ray_engine.submission.exports import Exporter
from nbaccel.ray_engine.submission.objects import Bookkeeper
from nbaccel.ray_engine.submission.options_for_ray import Choosing, quantities
from nbaccel.ray_engine.submission.shipping import Freshening
from nbaccel.ray_engine.submission.submissions import CallFacts, has_ended
from nbaccel.scheduling.terms import TaskKind

Args = tuple[object, ...]
Named = dict[str, object]
PreparedCall = tuple[RaysRemote[RaysResult], CallFacts]  # Ray's method with its options, and what all its calls share


class RayTasks:
    """Submits functions and calls, and cancels them."""

    def __init__(
        self, session: RaySession, freshening: Freshening, choosing: Choosing, exporter: Exporter, books: Bookkeeper
    ) -> None:
        self._session = session
        self._freshening = freshening
        self._choosing = choosing
        self._exporter = exporter
        self._books = books

    def submit(self, function: RemoteFunction, options: TaskOptions, args: Args, kwargs: Named) -> Returned:
        self._session.head.check()
        self._freshening.look(function, function._function)
        cached = function._cache.get(self._session.serial)
        if cached is None or cached[0] is not options:
            cached = function._cache[self._session.serial] = self._prepared(function, options)
        bound, about = cached[1:]
        submitted_at = time.time()
        args, kwargs = unwrapped(args), unwrapped_named(kwargs)
        try:
            inner = bound.remote(*args, **kwargs)
        except Exception as error:  # whatever the pickling of an argument raises
            errors.name_culprit(error, function._short_name, function._function, args, kwargs)
            raise
        return self._books.returned(inner, about, submitted_at)

    def _prepared(self, function: RemoteFunction, options: TaskOptions) -> tuple[TaskOptions | None, Bound, CallFacts]:
        if self._session.through_client:
            _refuse_stream(function._short_name, options.num_returns, function._is_generator)
        choices = self._choosing.choices(options, demand_of_task)
        chosen, label, why = choices.left[0]
        name = options.name or function._short_name
        demand, internal = quantities(demand_of_task(chosen)), chosen.internal
        about = CallFacts(name, TaskKind.TASK, demand, label, why, options=chosen, internal=internal)
        raises = choices.never and self._session.refuses_infeasible
        bound: Bound
        if raises:
            bound = groups.refusing(f"{name} {choices.never}", options, self._exporter.shipping)
        elif len(choices.left) > 1:
            bound = groups.Supervised(function, options, choices, self._exporter)
        else:
            bound = self._exporter.function_with(self._exporter.running_as(function, label), chosen, label)
        lasts = not options.fallback and not self._session.refuses_infeasible
        return options if lasts else None, bound, about

    def call(self, method: ActorMethod, options: MethodOptions, args: Args, kwargs: Named) -> Returned:
        head = self._session.head
        if head.lost:
            head.check()
        handle, spec = method.handle, method._spec
        prepared: PreparedCall | None = handle._cache.get(spec.name) if options is spec.options else None
        bound, about = prepared or self._prepared_call(handle, spec, options)
        for value in args:  # here, since nearly no call has one
            if isinstance(value, ObjectRef):
                args = unwrapped(args)
                break
        submitted_at = time.time()
        try:
            inner = bound.remote(*args, **(unwrapped_named(kwargs) if kwargs else kwargs))
        except ray.exceptions.RayError as error:
            raise translate(error) from None
        except Exception as error:  # what an argument raises; and of Ray, if the handle has outlived its cluster
            if "Can't find actor" not in str(error):
                errors.name_culprit(error, f"{handle._class_name}.{spec.name}", None, args, kwargs)
                raise
            raise exceptions.ActorDiedError(
                f"{handle._class_name}.{spec.name} cannot be called: Ray does not know this actor. Its cluster was "
                "left, or it died long ago. Create it again, or find a detached one with get_actor()."
            ) from None
        return self._books.returned(inner, about, submitted_at, handle._actor_id_bytes)

    def _prepared_call(self, handle: ActorHandle, spec: MethodSpec, options: MethodOptions) -> PreparedCall:
        """The handle keeps it if the call was given no options of its own."""
        if self._session.through_client:
            _refuse_stream(spec.name, options.num_returns, spec.is_generator)
        if options.concurrency_group:
            handle_maker.check_group(handle._inner, handle._class_name, options.concurrency_group)
        bound: RaysRemote[RaysResult] = getattr(handle._inner, spec.name)
        if options is not spec.options:
            keywords = options_for_ray.method_keywords(options)
            bound = options_for_ray.with_keywords(bound, keywords) if keywords else bound
        name = options.name or f"{handle._class_name}.{spec.name}"
        prepared = bound, CallFacts(name, TaskKind.ACTOR_CALL, internal=spec.internal)
        if options is spec.options:
            handle._cache[spec.name] = prepared  # Ray's method refers to Ray's handle, so this makes no cycle
        return prepared

    def cancel(self, ref: ObjectRef[object] | ObjectRefGenerator, *, force: bool, recursive: bool) -> None:
        inner = ref._inner
        if has_ended(inner):
            return
        try:
            ray.cancel(inner, force=force, recursive=recursive)
        except ValueError as error:
            if force:
                raise ValueError("force=True is not supported for actor tasks: kill the actor instead.") from None
            raise error
        if self._session.in_worker:  # a driver sees it at the ref
            end = inner.completed() if is_stream(inner) else inner
            note = {"task_id": end.task_id().binary(), "cancelled_at": time.time()}
            self._session.reporting.reporter.submitted(note)


def _refuse_stream(name: str, num_returns: int | str | None, is_generator: bool) -> None:
    if num_returns == "streaming" or (num_returns is None and is_generator):
        raise exceptions.EngineError(
            f"{name} streams its results, which Ray Client (ray://) does not. Return a list, or join the cluster from "
            "one of its machines with address='host:6379'."
        )


def unwrapped(args: Args) -> Args:
    """Top-level refs as Ray's own, which Ray replaces by their values; those inside of other things stay refs."""
    if any(isinstance(each, ObjectRef) for each in args):
        return tuple([each._inner if isinstance(each, ObjectRef) else each for each in args])
    return args


def unwrapped_named(kwargs: Named) -> Named:
    for value in kwargs.values():
        if isinstance(value, ObjectRef):
            return {name: each._inner if isinstance(each, ObjectRef) else each for name, each in kwargs.items()}
    return kwargs
