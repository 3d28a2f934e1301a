"""`@serve.deployment`, `bind`, and the specification that a bound application becomes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbaccel import cloudpickle
from nbaccel.serve import pickling
from nbaccel.serve.batching import batch_sizes
from nbaccel.serve.config import deployment_options, packed_actor_options, scaling_of
from nbaccel.serve.handle import DeploymentHandle
from nbaccel.serve.records import AppSpec, DeploymentSpec

_DEFAULT_ONGOING = 5


class Deployment:
    """A class or function with options. `.bind(...)` makes an application of it; calling it raises RuntimeError."""

    def __init__(self, target: Any, options: dict[str, Any]) -> None:
        self.func_or_class = target
        self._options = options
        self.__doc__ = getattr(target, "__doc__", None)

    @property
    def name(self) -> str:
        return self._options["name"] or self.func_or_class.__name__  # type: ignore[no-any-return]

    @property
    def num_replicas(self) -> Any:
        return self._options["num_replicas"] or 1

    @property
    def user_config(self) -> Any:
        return self._options["user_config"]

    @property
    def max_ongoing_requests(self) -> int:
        return _ongoing(self)

    @property
    def max_queued_requests(self) -> int:
        return self._options["max_queued_requests"]  # type: ignore[no-any-return]

    @property
    def ray_actor_options(self) -> dict[str, Any]:
        return dict(self._options["ray_actor_options"] or {})

    def options(self, **given: Any) -> Deployment:
        """The same code with other options."""
        return Deployment(self.func_or_class, deployment_options(given, self._options))

    def bind(self, *args: Any, **kwargs: Any) -> Application:
        """An application; the constructor gets these arguments in each replica.

        An application among them, also in a list or dict, arrives there as a DeploymentHandle.
        """
        _ongoing(self)
        if not isinstance(self.func_or_class, type) and (args or kwargs):
            raise TypeError(f"{self.name} is a function: bind() takes no arguments for it. Use a class with __init__.")
        return Application(self, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"The deployment {self.name} is not called directly: serve.run({self.name}.bind(...)) gives a handle, and "
            "handle.remote(...) calls it. The class itself is its .func_or_class."
        )

    def __repr__(self) -> str:
        return f"Deployment(name={self.name})"


class Application:
    """A deployment with the arguments of its constructor, for `serve.run`."""

    def __init__(self, deployment: Deployment, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._deployment = deployment
        self._args = args
        self._kwargs = kwargs

    def __repr__(self) -> str:
        return f"Application({self._deployment.name})"


def deployment(target: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a deployment of a class or function: `@serve.deployment`, or `@serve.deployment(num_replicas=2, ...)`.

    Options: name, num_replicas (a number or "auto"), ray_actor_options ({"num_gpus": 0.5}), user_config (for
    `reconfigure`), max_ongoing_requests (of a replica: 5, or what a batch needs), max_queued_requests (-1: no limit),
    autoscaling_config, graceful_shutdown_timeout_s (20), health_check_period_s (10), health_check_timeout_s (30),
    max_constructor_retry_count; and, not in Ray, `retry_on_death`: a request whose replica dies is sent to another.

    >>> @serve.deployment(num_replicas=2)
    ... class Greeter:
    ...     async def __call__(self, request):
    ...         return f"Hello {request.query_params['name']}"
    >>> application = Greeter.bind()              # serve.run(application) serves it
    """
    checked = deployment_options(options)

    def decorate(decorated: Any) -> Deployment:
        if isinstance(decorated, Deployment):
            raise TypeError(f"{decorated.name} is a deployment already: use its .options(...).")
        if not isinstance(decorated, type) and not inspect.isroutine(decorated):
            raise TypeError(f"@serve.deployment takes a class or a function, not {decorated!r}.")
        return Deployment(decorated, checked)

    return decorate if target is None else decorate(target)


def _ongoing(deployment: Deployment) -> int:
    """The limit of requests in a replica: at least what its batches need."""
    given = deployment._options["max_ongoing_requests"]
    needed = max((size for _, size in batch_sizes(deployment.func_or_class)), default=0)
    if given is None:
        return max(_DEFAULT_ONGOING, needed)
    if given < needed:
        name = next(name for name, size in batch_sizes(deployment.func_or_class) if size == needed)
        raise ValueError(
            f"{deployment.name} lets {given} requests in at once (max_ongoing_requests), but the batches of {name} "
            f"need {needed} (max_batch_size × max_concurrent_batches): they could never fill. Leave "
            "max_ongoing_requests out, or raise it."
        )
    return given  # type: ignore[no-any-return]


# ---- from applications to specifications


def app_spec(
    target: Application, name: str, route_prefix: str | None, tokens: list[str] | None, *, is_open: bool
) -> AppSpec:
    """What the door is asked to serve. Raises TypeError for what cannot be pickled."""
    specs: dict[int, DeploymentSpec] = {}
    names: dict[str, int] = {}
    ingress = _add(target, name, specs, names)
    return AppSpec(name, ingress.name, list(specs.values()), route_prefix, tokens, is_open)


def _add(app: Application, name: str, specs: dict[int, DeploymentSpec], names: dict[str, int]) -> DeploymentSpec:
    """The specification of one bound deployment, after those among its arguments."""
    known = specs.get(id(app))
    if known is not None:
        return known

    def handle(bound: Application) -> DeploymentHandle:
        return DeploymentHandle(_add(bound, name, specs, names).name, name)

    args = _replaced(app._args, handle)
    kwargs = _replaced(app._kwargs, handle)
    given = app._deployment.name
    names[given] = names.get(given, 0) + 1
    unique = given if names[given] == 1 else f"{given}_{names[given] - 1}"
    specs[id(app)] = made = _spec(app._deployment, unique, name, args, kwargs)
    return made


def _replaced(value: Any, handle: Callable[[Application], DeploymentHandle]) -> Any:
    if isinstance(value, Application):
        return handle(value)
    if isinstance(value, Deployment):
        raise TypeError(f"{value.name} is not bound: pass {value.name}.bind(...).")
    if type(value) in (list, tuple, set):
        return type(value)(_replaced(each, handle) for each in value)
    if type(value) is dict:
        return {key: _replaced(each, handle) for key, each in value.items()}
    return value


def _spec(deployment: Deployment, name: str, app: str, args: Any, kwargs: Any) -> DeploymentSpec:
    options = deployment._options
    scaling = scaling_of(options)
    code = (deployment.func_or_class, args, kwargs)
    actor_options, uses_devices = packed_actor_options(options)
    config = options["user_config"]
    number = options["num_replicas"]
    first = (scaling.initial_replicas or max(1, scaling.min_replicas)) if scaling is not None else number or 1
    return DeploymentSpec(
        app,
        name,
        pickling.pickled(code, name),
        pickling.digest(code),
        num_replicas=first,
        max_ongoing_requests=_ongoing(deployment),
        max_queued_requests=options["max_queued_requests"],
        user_config=b"" if config is None else cloudpickle.dumps(config),
        actor_options=actor_options,
        uses_devices=uses_devices,
        graceful_shutdown_timeout_s=float(options["graceful_shutdown_timeout_s"]),
        health_check_period_s=float(options["health_check_period_s"]),
        health_check_timeout_s=float(options["health_check_timeout_s"]),
        max_constructor_retry_count=options["max_constructor_retry_count"],
        retry_on_death=bool(options["retry_on_death"]),
        scaling=scaling,
    )
