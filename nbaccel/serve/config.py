"""Options of serving: of a deployment, of its scaling, and of the HTTP server."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from nbaccel import cloudpickle
from nbaccel.handles import option_checks
from nbaccel.handles.options import actor_options
from nbaccel.serve.records import AutoscalingConfig


class HTTPOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where the HTTP server listens, and its limits. `port`: None takes the first free one from 8000 on.

    >>> options = HTTPOptions(host="0.0.0.0", port=8123)     # serve.start(http_options=options)
    """

    host: str = "127.0.0.1"
    port: int | None = None
    root_path: str = ""
    request_timeout_s: float | None = None
    keep_alive_timeout_s: float = 90.0
    ssl_keyfile: str | None = None
    ssl_certfile: str | None = None
    max_body_mb: float = 100.0
    max_connections: int = 2000


_ON_RAY = "On a Ray cluster, `from ray import serve` beside nbaccel has it."


def http_options(given: Any) -> HTTPOptions:
    """Checked options of the HTTP server. Raises TypeError and ValueError."""
    if isinstance(given, HTTPOptions):
        given = msgspec.structs.asdict(given)
    settings = dict(given or {})
    for name in ("location", "num_cpus", "middlewares", "root_url"):
        if settings.pop(name, None):
            raise ValueError(f"http_options has no {name} here: there is one door, on the driver's machine. {_ON_RAY}")
    unknown = settings.keys() - set(HTTPOptions.__struct_fields__)
    if unknown:
        raise TypeError(
            f"http_options has no {', '.join(sorted(unknown))}; it has {', '.join(HTTPOptions.__struct_fields__)}."
        )
    if bool(settings.get("ssl_keyfile")) != bool(settings.get("ssl_certfile")):
        raise ValueError("ssl_keyfile and ssl_certfile are given together.")
    try:
        return msgspec.convert(settings, HTTPOptions)
    except msgspec.ValidationError as error:
        raise TypeError(f"http_options: {error}") from None


# ---- deployments

_DEFAULTS: dict[str, Any] = {
    "name": None,
    "num_replicas": None,
    "ray_actor_options": None,
    "user_config": None,
    "max_ongoing_requests": None,
    "max_queued_requests": -1,
    "autoscaling_config": None,
    "graceful_shutdown_wait_loop_s": 2.0,
    "graceful_shutdown_timeout_s": 20.0,
    "health_check_period_s": 10.0,
    "health_check_timeout_s": 30.0,
    "max_constructor_retry_count": 20,
    "retry_on_death": False,
}

# Options of Ray Serve's that are accepted at their defaults: (default, what to do instead).
_ELSEWHERE: dict[str, tuple[Any, str]] = {
    "placement_group_bundles": (None, f"A replica is one actor. {_ON_RAY}"),
    "placement_group_strategy": (None, f"A replica is one actor. {_ON_RAY}"),
    "placement_group_bundle_label_selector": (None, f"A replica is one actor. {_ON_RAY}"),
    "max_replicas_per_node": (None, f"Ask for a resource of the node in ray_actor_options. {_ON_RAY}"),
    "backpressure_config": (None, "A full queue is answered by 503 with Retry-After: 1."),
    "logging_config": (None, "What replicas print is shown as that of any actor."),
    "request_router_config": (None, f"The replica with the least requests under way is chosen. {_ON_RAY}"),
    "gang_scheduling_config": (None, _ON_RAY),
    "deployment_actors": (None, f"Make the actor in the constructor, or pass its handle to bind(). {_ON_RAY}"),
    "rolling_update_percentage": (
        0.2,
        "Replicas that hold devices are exchanged one at a time, others all at once.",
    ),
    "max_surge_percent": (0, "New replicas start first where devices suffice."),
}
_ACTOR_OPTIONS = {
    "accelerator_type", "fallback", "fallback_after_s", "fallback_strategy", "gpu_memory", "hide_unassigned",
    "label_selector", "memory", "num_cpus", "num_gpus", "object_store_memory", "resources", "runtime_env",
}  # fmt: skip


def deployment_options(given: dict[str, Any], before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Checked options of a deployment, on top of those that it has. Raises TypeError and ValueError."""
    options = dict(before or _DEFAULTS)
    for name, value in given.items():
        _check_known(name, value)
        if name in _DEFAULTS:
            options[name] = value
    if given.get("autoscaling_config") and "num_replicas" not in given:
        options["num_replicas"] = None
    if options["num_replicas"] not in (None, "auto") and options["autoscaling_config"] is not None:
        raise ValueError('Give num_replicas="auto" with autoscaling_config, or a number without it.')
    _check_values(options)
    return options


def _check_known(name: str, value: Any) -> None:
    if name in _DEFAULTS:
        return
    if name == "version":
        raise ValueError(
            "version= is gone, as in Ray Serve: code and bound values are compared, and the same ones change nothing."
        )
    if name == "route_prefix":
        raise TypeError("route_prefix= belongs to serve.run(app, route_prefix=...), as in Ray Serve since 2.8.")
    if name not in _ELSEWHERE:
        raise TypeError(f"A deployment has no option {name}; it has {', '.join(_DEFAULTS)}.")
    default, instead = _ELSEWHERE[name]
    if value != default and value is not None:
        raise ValueError(f"{name}={value!r} is not built here. {instead}")


def _check_values(options: dict[str, Any]) -> None:
    name = options["name"]
    if name is not None and (not isinstance(name, str) or not name or "#" in name):
        raise ValueError(f"A deployment's name is a text without '#', not {name!r}.")
    option_checks.word("name", name)
    number = options["num_replicas"]
    if number is not None and number != "auto" and (not isinstance(number, int) or number < 1):
        raise ValueError(f"num_replicas is a number of at least 1, or 'auto', not {number!r}.")
    limit = options["max_ongoing_requests"]
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ValueError(f"max_ongoing_requests is a number of at least 1, not {limit!r}.")
    queue = options["max_queued_requests"]
    if not isinstance(queue, int) or queue < -1:
        raise ValueError(f"max_queued_requests is a number of at least 0, or -1 for no limit, not {queue!r}.")
    for each in ("graceful_shutdown_wait_loop_s", "graceful_shutdown_timeout_s", "health_check_period_s",
                 "health_check_timeout_s"):  # fmt: skip
        seconds = options[each]
        if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or seconds < 0 or math.isnan(seconds):
            raise ValueError(f"{each} is a number of seconds, not {seconds!r}.")
    _check_actor_options(options["ray_actor_options"] or {})
    scaling_of(options)


def _check_actor_options(given: dict[str, Any]) -> None:
    if not isinstance(given, dict):
        raise TypeError(f"ray_actor_options is a dict, not {given!r}.")
    if refused := given.keys() - _ACTOR_OPTIONS:
        raise ValueError(
            f"ray_actor_options has no {', '.join(sorted(refused))} for a replica; it has "
            f"{', '.join(sorted(_ACTOR_OPTIONS))}."
        )
    actor_options(**_given(given))


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """What a replica's actor is asked for: Ray's object_store_memory has no meaning here."""
    return {name: value for name, value in options.items() if name != "object_store_memory"}


def packed_actor_options(options: dict[str, Any]) -> tuple[bytes, bool]:
    """The options of a replica's actor, pickled, and whether it holds devices or other counted resources."""
    requested = _given(options["ray_actor_options"] or {})
    counted = any(requested.get(name) for name in ("num_cpus", "num_gpus", "resources", "memory", "gpu_memory"))
    requested.setdefault("num_cpus", 0)  # it mostly waits; Ray Serve reserves one CPU
    return cloudpickle.dumps(dict(sorted(requested.items()))), counted


_NOT_OF_SCALING = {
    "metrics_interval_s", "look_back_period_s", "smoothing_factor", "upscaling_factor", "downscaling_factor",
    "upscale_smoothing_factor", "downscale_smoothing_factor", "downscale_to_zero_delay_s", "aggregation_function",
    "policy",
}  # fmt: skip


def scaling_of(options: dict[str, Any]) -> AutoscalingConfig | None:
    """The bounds of a deployment that grows and shrinks. Raises TypeError and ValueError."""
    config = options["autoscaling_config"]
    if config is None and options["num_replicas"] != "auto":
        return None
    given = dict(msgspec.structs.asdict(config) if isinstance(config, AutoscalingConfig) else config or {})
    if options["num_replicas"] == "auto":
        given = {"max_replicas": 100, **given}
    if refused := given.keys() & _NOT_OF_SCALING:
        raise ValueError(
            f"autoscaling_config: {', '.join(sorted(refused))} is not built here. A deployment grows when what is "
            f"under way has asked for more replicas for upscale_delay_s, and shrinks after downscale_delay_s. {_ON_RAY}"
        )
    if unknown := given.keys() - set(AutoscalingConfig.__struct_fields__):
        raise TypeError(
            f"autoscaling_config has no {', '.join(sorted(unknown))}; it has "
            f"{', '.join(AutoscalingConfig.__struct_fields__)}."
        )
    try:
        scaling = msgspec.convert(
            {name: value for name, value in given.items() if value is not None}, AutoscalingConfig
        )
    except msgspec.ValidationError as error:
        raise TypeError(f"autoscaling_config: {error}") from None
    if scaling.target_ongoing_requests <= 0 or scaling.min_replicas < 0 or scaling.max_replicas < 1:
        raise ValueError(
            "autoscaling_config: target_ongoing_requests and max_replicas are above 0, and min_replicas is not below."
        )
    if scaling.max_replicas < max(scaling.min_replicas, scaling.initial_replicas or 0):
        raise ValueError(f"max_replicas={scaling.max_replicas} is below min_replicas or initial_replicas.")
    return scaling
