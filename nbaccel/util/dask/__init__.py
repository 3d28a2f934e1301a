"""Dask's graphs run as nbaccel tasks: a task for each node of the graph, whose value goes from worker to worker.

>>> from nbaccel.util.dask import enable_dask_on_ray
>>> with enable_dask_on_ray():
...     frame.groupby("key").value.sum().compute()
>>> with dask.annotate(ray_remote_args={"num_gpus": 1}):  # options for what is written here
...     scores = dask.delayed(score)(model, batch)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import nbaccel
from nbaccel.handles.remote import ObjectRef

try:
    import dask
    from dask._task_spec import Alias, DataNode, convert_legacy_graph
    from dask.core import flatten
    from dask.order import order
except ImportError as error:
    raise ImportError("nbaccel.util.dask needs dask, which is not installed: pip install dask.") from error

__all__ = ["RayDaskCallback", "disable_dask_on_ray", "enable_dask_on_ray", "ray_dask_get", "ray_dask_get_sync"]


# The scheduler that Dask is given submits a whole graph at once; a node runs when its inputs are there. Its function
# and its own arguments travel as Dask wrote them; what it takes from others comes as refs, so that no value passes
# through the driver but the results.

_NO_RESOURCES = (
    "Dask's `resources` mean a distributed cluster's. Say dask.annotate(ray_remote_args={'num_gpus': 1}) for parts of "
    "a graph, or compute(ray_remote_args={...}) for all of it."
)


def ray_dask_get(
    dsk: Any,
    keys: Any,
    *,
    ray_callbacks: Any = None,
    ray_persist: bool = False,
    ray_remote_args: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Compute the values of `keys`: `dask.compute(x, scheduler=ray_dask_get)`.

    `ray_remote_args` are options of all tasks, {"num_gpus": 0.5} for instance. `ray_persist` leaves the values in the
    cluster and returns refs, which further graphs take: `x.persist(ray_persist=True)`. Raises what a node raised,
    ValueError for `resources`. Keywords for Dask's own schedulers have no meaning here.
    """
    annotations = dask.get_annotations()
    if "resources" in kwargs or "resources" in annotations:
        raise ValueError(_NO_RESOURCES)
    written = _graph(dsk)
    everywhere = {**(ray_remote_args or {}), **annotations.get("ray_remote_args", {})}
    hooks = Hooks(ray_callbacks)
    nodes = convert_legacy_graph(dict(written))
    refs = _submitted(nodes, _options_by_key(written), everywhere, hooks)
    wanted = {key: refs[key] for key in flatten([keys])}
    del refs  # intermediate values are released when their last reader has ended
    hooks.call("ray_postsubmit_all", list(wanted.values()), nodes)
    if ray_persist:
        found = wanted
    else:
        asked = {key: ref for key, ref in wanted.items() if isinstance(ref, ObjectRef)}
        found = wanted | dict(zip(asked, nbaccel.get(list(asked.values())), strict=True))
    result = _packed(keys, found)
    hooks.call("ray_finish", result)
    return result


def ray_dask_get_sync(dsk: Any, keys: Any, **kwargs: Any) -> Any:
    """The same as `ray_dask_get`, which submits a graph from one thread anyway."""
    return ray_dask_get(dsk, keys, **kwargs)


def enable_dask_on_ray(shuffle: str | None = "tasks", use_shuffle_optimization: bool | None = True) -> Any:
    """Make this Dask's scheduler, from now on or within a `with` block. `use_shuffle_optimization` changes nothing."""
    return dask.config.set({"scheduler": ray_dask_get, "dataframe.shuffle.method": shuffle})


def disable_dask_on_ray() -> Any:
    """Give Dask its own scheduler back, from now on or within a `with` block."""
    return dask.config.set({"scheduler": None, "dataframe.shuffle.method": None})


def _graph(dsk: Any) -> Mapping[Any, Any]:
    """Dask's graph as a mapping, of whatever newer versions hand over."""
    if isinstance(dsk, Mapping):
        return dsk
    optimized: Mapping[Any, Any] | None = getattr(dsk, "_optimized_dsk", None)
    return optimized if optimized is not None else dsk.__dask_graph__()


def _options_by_key(written: Mapping[Any, Any]) -> dict[Any, dict[str, Any]]:
    """What dask.annotate(ray_remote_args=...) says of single layers."""
    found: dict[Any, dict[str, Any]] = {}
    for layer in getattr(written, "layers", {}).values():
        options = (layer.annotations or {}).get("ray_remote_args")
        if options:
            found |= dict.fromkeys(layer.get_output_keys(), options)
    return found


def _submitted(
    nodes: Mapping[Any, Any], options_by_key: Mapping[Any, dict[str, Any]], everywhere: dict[str, Any], hooks: Hooks
) -> dict[Any, Any]:
    """A ref for each node, or its value where the graph has it as such; inputs come before who takes them."""
    before, after = hooks.of("ray_pretask"), hooks.of("ray_posttask")
    run = nbaccel.remote(_run_node)
    places = order(nodes)
    refs: dict[Any, Any] = {}
    for key in sorted(nodes, key=places.__getitem__):
        node = nodes[key]
        if isinstance(node, DataNode):
            refs[key] = node.value
            continue
        if isinstance(node, Alias):
            refs[key] = refs[node.target]
            continue
        inputs = {name: refs[name] for name in node.dependencies}
        instead = next((value for value in hooks.call("ray_presubmit", node, key, inputs) if value is not None), None)
        if instead is not None:
            refs[key] = instead
            continue
        options = {"name": _name(key), **everywhere, **options_by_key.get(key, {})}
        refs[key] = run.options(**options).remote(node, key, before, after, list(inputs), *inputs.values())
        hooks.call("ray_postsubmit", node, key, inputs, refs[key])
    return refs


def _name(key: Any) -> str:
    """A node's name in the views: without the hash that Dask puts behind it."""
    return f"dask:{dask.utils.key_split(key)}"


def _run_node(
    node: Any,
    key: Any,
    before: list[Callable[..., Any]],
    after: list[Callable[..., Any]],
    names: list[Any],
    *values: Any,
) -> Any:
    """In a worker: one node, with the values of those that it takes."""
    states = [function(key, list(values)) for function in before]
    with dask.config.set(scheduler="sync"):  # a node that computes something itself does it here
        result = node(dict(zip(names, values, strict=True)))
    for number, function in enumerate(after):
        function(key, result, states[number] if number < len(states) else None)
    return result


def _packed(keys: Any, found: Mapping[Any, Any]) -> Any:
    """The values in the nesting of the keys; lists become tuples, as Dask expects."""
    return tuple(_packed(key, found) for key in keys) if isinstance(keys, list) else found[keys]


# ---- what a program may have called while a graph runs: subclass RayDaskCallback, or give it functions by name
#
# >>> with RayDaskCallback(ray_finish=lambda result: print("done")):
# ...     dask.compute(value, scheduler=ray_dask_get)


_active: ContextVar[tuple[Any, ...]] = ContextVar("active", default=())
_HOOKS = ("ray_presubmit", "ray_postsubmit", "ray_pretask", "ray_posttask", "ray_postsubmit_all", "ray_finish")


class RayDaskCallback:
    """Active within its `with` block, or between `register` and `unregister`. Each of its methods may be left out.

    _ray_presubmit(task, key, deps)           before a node is submitted; if it returns a value, the node does not run
    _ray_postsubmit(task, key, deps, ref)     after it was submitted
    _ray_pretask(key, refs)                   in the worker, before the node runs; returns a state
    _ray_posttask(key, result, pre_state)     in the worker, after it has run
    _ray_postsubmit_all(refs, graph)          after the last was submitted; refs of the wanted keys
    _ray_finish(result)                       when the result is there
    """

    def __init__(self, **hooks: Callable[..., Any]) -> None:
        for name, function in hooks.items():
            if name not in _HOOKS:
                raise TypeError(f"RayDaskCallback has no {name!r}; it has {', '.join(_HOOKS)}.")
            setattr(self, f"_{name}", function)

    def register(self) -> None:
        _active.set((*_active.get(), self))

    def unregister(self) -> None:
        _active.set(tuple(each for each in _active.get() if each is not self))

    def __enter__(self) -> RayDaskCallback:
        self.register()
        return self

    def __exit__(self, *exc: object) -> None:
        self.unregister()


class Hooks:
    """The callbacks of one computation, asked by hook."""

    def __init__(self, callbacks: Any = None) -> None:
        self._callbacks = _active.get() if callbacks is None else tuple(callbacks)

    def of(self, hook: str) -> list[Callable[..., Any]]:
        """The functions that were given for this hook, in order."""
        found = (getattr(each, f"_{hook}", None) for each in self._callbacks)
        return [function for function in found if function is not None]

    def call(self, hook: str, *args: Any) -> list[Any]:
        return [function(*args) for function in self.of(hook)]
