"""What a program may have called while a graph runs: subclass RayDaskCallback, or give it functions by name.

>>> with RayDaskCallback(ray_finish=lambda result: print("done")):
...     dask.compute(value, scheduler=ray_dask_get)
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_active: ContextVar[tuple[Any, ...]] = ContextVar("active", default=())
_HOOKS = ("ray_presubmit", "ray_postsubmit", "ray_pretask", "ray_posttask", "ray_postsubmit_all", "ray_finish")


class RayDaskCallback:
    """Active within its `with` block, or between `register` and `unregister`. Each of its methods may be left out.

    _ray_presubmit(task, key, deps)           before a node is submitted; a value other than None stands for the node's
    _ray_postsubmit(task, key, deps, ref)     after it was submitted
    _ray_pretask(key, refs)                   in the worker, before the node runs; returns a state
    _ray_posttask(key, result, pre_state)     in the worker, after it has run
    _ray_postsubmit_all(refs, graph)          after the last was submitted; refs of what is computed
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
