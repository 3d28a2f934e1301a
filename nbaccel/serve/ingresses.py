"""`@serve.ingress(app)`: a FastAPI app, a router, any ASGI app, or a function that makes one, answers by HTTP.

Methods of the class that are routes of the app (`@app.get("/")`) get the replica's object as `self`.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, get_type_hints

from nbaccel.serve.asgi import APP_ATTRIBUTE

C = TypeVar("C", bound=type)


def ingress(app: Any) -> Callable[[C], C]:
    """Decorate the class below `@serve.deployment`. Its handle calls methods as any other does.

    `app`: an ASGI app (FastAPI, Starlette, …), a FastAPI APIRouter, or a function without arguments, async or not, that
    returns an app in the replica.

    >>> app = FastAPI()
    >>> @serve.deployment
    ... @serve.ingress(app)
    ... class Api:
    ...     @app.get("/hello")
    ...     def hello(self, name: str) -> str:
    ...         return f"Hello {name}"
    """

    def decorate(cls: C) -> C:
        if not isinstance(cls, type):
            raise ValueError(f"@serve.ingress decorates a class, not {cls!r}. It stands below @serve.deployment.")
        if "__call__" in vars(cls):
            raise ValueError(
                f"{cls.__name__} has __call__, and an ingress has none: its app answers. Make it a route of the app."
            )
        _resolve_annotations(app, cls)
        setattr(cls, APP_ATTRIBUTE, AppMaker(app))
        return cls

    return decorate


class AppMaker:
    """Makes the app of a replica. It travels with the class, so that routes and methods stay the same functions."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def __call__(self, made: Any) -> Any:
        """The app for this object; a coroutine that gives it, for an async builder."""
        if _is_builder(self._app):
            app = self._app()
            return _bound_later(app, made) if inspect.isawaitable(app) else _bound(app, made)
        return _bound(self._app, made)


def _is_builder(app: Any) -> bool:
    """Whether it is a function without arguments, rather than an app of three."""
    if not inspect.isroutine(app):
        return False
    needed = [
        each
        for each in inspect.signature(app).parameters.values()
        if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    return not needed


async def _bound_later(app: Any, made: Any) -> Any:
    return _bound(await app, made)


def _bound(app: Any, made: Any) -> Any:
    """The app, in which the methods of the class are bound to this object."""
    methods = {function: name for name, function in _functions(type(made)).items()}
    for route in list(_routes(app)):
        if route.endpoint in methods:
            _bind(route, getattr(made, methods[route.endpoint]))
    if any(cls.__name__ == "APIRouter" for cls in type(app).__mro__):
        from fastapi import FastAPI

        whole = FastAPI()
        whole.include_router(app)
        return whole
    return app


def _functions(cls: type) -> dict[str, Any]:
    """The functions of a class and its bases, by their names."""
    return {
        name: getattr(member, "__func__", member)
        for each in reversed(cls.__mro__)
        for name, member in vars(each).items()
        if inspect.isroutine(member)
    }


def _routes(app: Any) -> Iterator[Any]:
    """The routes of an app, and of routers inside of it, that have an endpoint."""
    for route in getattr(app, "routes", ()):
        if hasattr(route, "endpoint"):
            yield route
        else:
            yield from _routes(getattr(route, "original_router", None) or getattr(route, "app", None))


def _resolve_annotations(app: Any, cls: type) -> None:
    """Put classes in the place of texts (`from __future__ import annotations`), which mean nothing in a replica."""
    functions = set(_functions(cls).values())
    for route in _routes(app):
        if route.endpoint in functions:
            with contextlib.suppress(NameError):  # FastAPI has not found it either
                route.endpoint.__annotations__ = get_type_hints(route.endpoint, include_extras=True)


def _bind(route: Any, method: Any) -> None:
    """Make a route anew with a bound method in the place of the function, and all else as it was."""
    kept = {
        name: getattr(route, name)
        for name in inspect.signature(type(route).__init__).parameters
        if name not in ("self", "endpoint") and hasattr(route, name)
    }
    route.__init__(endpoint=method, **kept)
