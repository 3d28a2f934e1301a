"""Around the user's code: a note at its start and end. What is wrapped keeps its kind, which Ray inspects."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from nbaccel_in_ray.reporting import devices_here, reporter

_WHERE = "_nbaccel_where"


@dataclass(frozen=True)
class About:
    """What is known of a piece of code before it runs."""

    name: str
    kind: str = "task"  # "task", "actor creation", "actor call"
    families: tuple[str, ...] = ()  # of accelerators that it asks for
    choice: str = ""  # the words of the fallback that was taken
    last_of_process: bool = False  # Ray ends the process after it


class noted:
    """Note the start and the end of the block. (A function under `contextmanager` would cost five times as much.)"""

    __slots__ = ("_about", "_note")

    def __init__(self, about: About) -> None:
        self._about = about

    def __enter__(self) -> None:
        about = self._about
        families = () if about.kind == "actor call" else about.families  # its actor's note has them
        self._note = reporter.began(about.name, about.kind, families, about.choice)

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, GeneratorExit):
            error = None  # nobody reads on: the generator ends early, and well
        if error is not None:
            _mark(error, self._about, self._note)
        reporter.ended(self._note, error)
        if self._about.last_of_process:
            reporter.flush()


def _mark(error: BaseException, about: About, note: dict[str, Any]) -> None:
    """Let the exception say where it was raised; the driver takes this off again."""
    if hasattr(error, "__dict__") and _WHERE not in error.__dict__:
        devices = note.get("devices")
        if devices is None and about.kind == "actor call" and about.families:
            devices = devices_here(about.families)
        where = {"task_id": note["task_id"].hex(), "device_ids": devices or {}, "name": about.name, "pid": os.getpid()}
        error.__dict__[_WHERE] = where


def wrap(code: Callable[..., Any], about: About) -> Callable[..., Any]:
    """The same function with notes: plain, generator, async or async generator, as it was."""
    if inspect.isasyncgenfunction(code):
        wrapped = _async_generator(code, about)
    elif inspect.iscoroutinefunction(code):
        wrapped = _coroutine(code, about)
    elif inspect.isgeneratorfunction(code):
        wrapped = _generator(code, about)
    else:
        wrapped = _plain(code, about)
    try:
        inspect.signature(wrapped)
    except (TypeError, ValueError):  # compiled code that tells no signature
        wrapped.__signature__ = inspect.signature(_anything)  # type: ignore[attr-defined]
    return wrapped


def _anything(*args: Any, **kwargs: Any) -> None:
    """Has the signature that takes everything."""


def _plain(code: Callable[..., Any], about: About) -> Callable[..., Any]:
    @functools.wraps(code)
    def run(*args: Any, **kwargs: Any) -> Any:
        with noted(about):
            return code(*args, **kwargs)

    return run


def _generator(code: Callable[..., Any], about: About) -> Callable[..., Any]:
    @functools.wraps(code)
    def run(*args: Any, **kwargs: Any) -> Any:
        with noted(about):
            items = code(*args, **kwargs)
            try:
                for item in items:  # noqa: UP028  (with `yield from`, what Ray sends in would reach the user's generator)
                    yield item
            finally:
                items.close()

    return run


def _coroutine(code: Callable[..., Any], about: About) -> Callable[..., Any]:
    @functools.wraps(code)
    async def run(*args: Any, **kwargs: Any) -> Any:
        with noted(about):
            return await code(*args, **kwargs)

    return run


def _async_generator(code: Callable[..., Any], about: About) -> Callable[..., Any]:
    @functools.wraps(code)
    async def run(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        with noted(about):
            async for item in code(*args, **kwargs):
                yield item

    return run


def wrap_class(cls: type, families: tuple[str, ...], choice: str, marks: dict[str, dict[str, Any]]) -> type:
    """A subclass of an actor's class whose constructor and methods are noted.

    `marks` has the attributes by which Ray knows a method's options, by the method's name.
    """
    members: dict[str, Any] = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    members["__init__"] = _constructor(cls, About(f"{cls.__name__}.__init__", "actor creation", families, choice))
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if inspect.isfunction(member) and (not name.startswith("__") or name == "__call__"):
            members[name] = _as_itself(wrap(member, About(f"{cls.__name__}.{name}", "actor call", families, choice)))
            for mark, value in marks.get(name, {}).items():
                setattr(members[name], mark, value)
    return type(cls)(cls.__name__, (cls,), members)


def _constructor(cls: type, about: About) -> Callable[..., None]:
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        with noted(about):
            cls.__init__(self, *args, **kwargs)  # type: ignore[misc]

    own = cls.__init__  # type: ignore[misc]
    return _as_itself(functools.wraps(own)(construct)) if inspect.isfunction(own) else construct


def _as_itself(method: Callable[..., Any]) -> Callable[..., Any]:
    """Ray unwraps methods before it reads their options; this one is to be read as it is, with its own signature."""
    method.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    del method.__wrapped__  # type: ignore[attr-defined]
    return method
