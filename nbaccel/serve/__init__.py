"""Serving: classes and functions behind a URL and a handle, on fractions of devices, under Ray Serve's names.

```
 driver ── serve.run: a specification ──► door ── makes, watches, ends ──► replica   an actor (num_gpus=.5, …)
   │                                      │ uvicorn, Front, ServeController        ▲ its loop: links, async code
   └── handle.remote ── link ─────────────┴────────── link: frames ───────────┘ its pool: plain methods
```
Requests are no tasks, and the head never sees one: they travel as frames over Unix sockets in the session's directory.

- deployments, config, pickling   what a user writes, checked, as a specification (records)
- serving                         run, delete, status, …: the functions of a driver
- http_server, http_protocol, front  HTTP (the door of the picture), and the limits on strangers
- controller, deployment_state    what is wanted and what there is; controlling decides, purely
- replica, asgi, batching         the user's code and its answers
- handle, callers, routing        calls from Python: one loop a process, one queue a caller
- link                            frames on the wire; nothing else knows of sockets

Serving needs `pip install 'nbaccel[serve]'`; this import does not.
"""

import importlib
from typing import TYPE_CHECKING, Any

from nbaccel import elsewhere

if TYPE_CHECKING:
    from nbaccel.serve.asgi import ingress
    from nbaccel.serve.batching import batch
    from nbaccel.serve.config import HTTPOptions
    from nbaccel.serve.context import get_multiplexed_model_id, get_replica_context, multiplexed
    from nbaccel.serve.deployments import Application, Deployment, deployment
    from nbaccel.serve.records import AutoscalingConfig
    from nbaccel.serve.serving import (
        delete,
        get_app_handle,
        get_deployment_handle,
        run,
        shutdown,
        start,
        status,
        token_of,
    )

__all__ = [
    "Application",
    "AutoscalingConfig",
    "Deployment",
    "HTTPOptions",
    "batch",
    "delete",
    "deployment",
    "get_app_handle",
    "get_deployment_handle",
    "get_multiplexed_model_id",
    "get_replica_context",
    "ingress",
    "multiplexed",
    "run",
    "shutdown",
    "start",
    "status",
    "token_of",
]

_MODULES = {
    "asgi": "ingress",
    "batching": "batch",
    "config": "HTTPOptions",
    "context": "get_multiplexed_model_id get_replica_context multiplexed",
    "deployments": "Application Deployment deployment",
    "records": "AutoscalingConfig",
    "serving": "delete get_app_handle get_deployment_handle run shutdown start status token_of",
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names.split()}
_SUBMODULES = ("config", "context", "exceptions", "handle", "schema")
_ON_RAY = "On a Ray cluster you have it: nbaccel.init(engine='ray'), then `from ray import serve` beside nbaccel."
_REFUSED = {
    "ControllerOptions": _ON_RAY,
    "RunTarget": "call serve.run for each application.",
    "TracingConfig": _ON_RAY,
    "get_deployment_actor": "make the actor in the constructor, or pass its handle to bind().",
    "get_deployment_actor_context": "make the actor in the constructor, or pass its handle to bind().",
    "get_trace_context": _ON_RAY,
    "run_many": "call serve.run for each application.",
    "shutdown_async": "call serve.shutdown() in a thread: await asyncio.to_thread(serve.shutdown).",
}


def __getattr__(name: str) -> Any:
    """A name is loaded when it is first used: `import nbaccel.serve` loads nothing else."""
    if name in _LAZY:
        value = getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
        return globals().setdefault(name, value)
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _REFUSED:
        return elsewhere.refusing(__name__, name, _REFUSED[name])
    raise elsewhere.no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
