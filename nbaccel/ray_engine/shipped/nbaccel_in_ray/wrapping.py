"""Wraps the user's code to note its start and end. The wrapper keeps the kind of the code, which Ray inspects."""

from __future__ import annotations

import copyreg
import functools
import inspect
import os
import traceback as tracebacks
import types
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ray.exceptions import ActorUnschedulableError

from nbaccel_in_ray import internals, leftovers, let_refs_be_received, printing, setup_hooks, stacks, values
from nbaccel_in_ray.collector_link import Note
from nbaccel_in_ray.reporting import devices_here, reporter

_WHERE = "_nbaccel_where"
Code = Callable[..., Any]  # the user's code, or its wrapper

let_refs_be_received()
values.copy_small(True)
values.name_culprits()
printing.use()
if internals.is_worker():
    stacks.install()


class AttemptClaim(Protocol):
    """The claim of one attempt among several; see attempts."""

    def check(self) -> None: ...
    def facts(self, note: Note) -> Note: ...
    def raised(self, error: BaseException) -> None: ...


@dataclass(frozen=True)
class CodeDescription:
    """The facts about a piece of code before it runs."""

    name: str
    kind: str = "task"  # "task", "actor creation", "actor call"
    families: tuple[str, ...] = ()  # the accelerator families that it asks for
    choice: str = ""  # the words of the fallback that was taken
    last_of_process: bool = False  # Ray ends the process after it
    leak_threshold: int | None = None  # bytes that it may leave on its devices; see leftovers
    internal: bool = False  # nbaccel runs it for itself: views do not hear of it

    @property
    def leaves_process(self) -> bool:
        """Whether others will run in this code's process, on devices whose memory the code may have left full."""
        return self.kind == "task" and bool(self.families) and not self.last_of_process


def noted_call(code: Code, about: CodeDescription, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Call code that asks for no device, with notes of its start and end: a `noted` block would cost twice as much."""
    if setup_hooks.wanted:
        with noted(about):
            return code(*args, **kwargs)
    values.name_again(code)
    call = reporter.call_began(about)
    if call is None:
        return code(*args, **kwargs)
    try:
        result = code(*args, **kwargs)
    except BaseException as error:
        note = reporter.note_of(call)
        _mark(error, about, note)
        reporter.ended(note, error)
        raise
    reporter.call_ended(call)
    return result


class noted:
    """Notes the start and the end of a block. (A function under `contextmanager` would cost five times as much.)"""

    __slots__ = ("_about", "_claim", "_note", "passed")

    def __init__(self, about: CodeDescription, claim: AttemptClaim | None = None) -> None:
        self._about = about
        self._claim = claim
        self._note: Note | None = None
        self.passed: tuple[object, ...] = ()  # objects that outlive the code: its arguments and result

    def __enter__(self) -> noted:
        about = self._about
        families = () if about.kind == "actor call" else about.families  # its actor's note has them
        facts = None if self._claim is None else self._claim.facts
        self._note = reporter.began(about.name, about.kind, families, about.choice, facts, told=not about.internal)
        if self._note is None:
            return self
        if setup_hooks.wanted and (error := setup_hooks.error()) is not None:
            self.__exit__(type(error), error, None)
            raise error
        if families:
            leftovers.began()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if self._note is None:
            return
        if isinstance(error, GeneratorExit):
            error = None  # the reader has stopped: the generator ends early, without a failure
        if error is not None:
            _mark(error, self._about, self._note)
        if "devices" in self._note and (peak := leftovers.peak_bytes()) is not None:
            self._note["peak_memory_bytes"] = peak
        if self._about.leaves_process:
            leftovers.judge(self._note, self._about.leak_threshold, self.passed, error)
            self.passed = ()
        reporter.ended(self._note, error)
        if self._about.last_of_process or "leak" in self._note:
            reporter.flush()


def _mark(error: BaseException, about: CodeDescription, note: Note) -> None:
    """Store in the exception where and how it was raised: Ray keeps less of chained exceptions and of groups.

    The driver removes this again.
    """
    _let_travel(error)
    values.add_hint(error)
    if hasattr(error, "__dict__"):
        devices = note.get("devices")
        if devices is None and about.kind == "actor call" and about.families:
            devices = devices_here(about.families)
        task_id = note.get("stands_for") or note["task_id"].hex()
        where = {"task_id": task_id, "device_ids": devices or {}, "name": about.name, "pid": os.getpid()}
        text = "".join(tracebacks.format_exception(error)).rstrip()
        error.__dict__[_WHERE] = where | {"traceback": text}


def _let_travel(error: BaseException) -> None:
    """Let exceptions be unpickled without `__init__`: pickle passes `args`, which a user's `__init__` may refuse."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            _let_travel(inner)
    kind = type(error)
    plain = kind.__reduce__ is BaseException.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__
    if plain and isinstance(kind.__init__, types.FunctionType) and kind not in copyreg.dispatch_table:
        copyreg.pickle(kind, _as_it_is)


def _as_it_is(error: BaseException) -> Any:
    """The reduction that creates an exception without its `__init__`."""
    return copyreg.__newobj__, (type(error), *error.args), error.__dict__  # type: ignore[attr-defined]


def wrap(code: Code, about: CodeDescription) -> Code:
    """Wrap a function with notes; the wrapper has the same kind: plain, generator, async or async generator."""
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


def attempt(code: Code, about: CodeDescription) -> Code:
    """Wrap a remote function; its first argument is a claim (see attempts), and it runs only if the claim is won."""
    if inspect.isgeneratorfunction(code):

        def stream(claim: AttemptClaim, *args: object, **kwargs: object) -> object:
            claim.check()
            with noted(about, claim):
                items = code(*args, **kwargs)
                try:
                    for item in items:  # noqa: UP028  (with `yield from`, what Ray sends in would reach the user's generator)
                        yield item
                finally:
                    items.close()

        return _called_as(stream, code)

    def run(claim: AttemptClaim, *args: object, **kwargs: object) -> object:
        claim.check()
        with noted(about, claim) as block:
            result = code(*args, **kwargs)
            if about.leaves_process:
                block.passed = (args, kwargs, result)
            return result

    return _called_as(run, code)


def _called_as(wrapper: Code, code: Code) -> Code:
    """Give a wrapper the name of the user's function, but its own signature."""
    functools.update_wrapper(wrapper, code)
    del wrapper.__wrapped__  # type: ignore[attr-defined]
    return wrapper


def _anything(*args: object, **kwargs: object) -> None:
    """A function whose signature accepts all arguments."""


def _plain(code: Code, about: CodeDescription) -> Code:
    @functools.wraps(code)
    def run(*args: object, **kwargs: object) -> object:
        return noted_call(code, about, args, kwargs)

    @functools.wraps(code)
    def run_in_block(*args: object, **kwargs: object) -> object:
        with noted(about):
            return code(*args, **kwargs)

    @functools.wraps(code)
    def run_and_look(*args: object, **kwargs: object) -> object:
        with noted(about) as block:
            result = code(*args, **kwargs)
            block.passed = (args, kwargs, result)
            return result

    if about.leaves_process:
        return run_and_look
    has_devices = bool(about.families) and about.kind == "task"
    return run_in_block if has_devices or about.last_of_process or about.internal else run


def _generator(code: Code, about: CodeDescription) -> Code:
    in_actor = about.kind == "actor call"

    @functools.wraps(code)
    def run(*args: object, **kwargs: object) -> object:
        with noted(about):
            items = code(*args, **kwargs)
            try:
                for item in items:
                    yield item
                    if in_actor and internals.is_cancelled():  # Ray interrupts no thread of an actor
                        return
            finally:
                items.close()

    return run


def _coroutine(code: Code, about: CodeDescription) -> Code:
    @functools.wraps(code)
    async def run(*args: object, **kwargs: object) -> object:
        with noted(about):
            return await code(*args, **kwargs)

    return run


def _async_generator(code: Code, about: CodeDescription) -> Code:
    @functools.wraps(code)
    async def run(*args: object, **kwargs: object) -> AsyncIterator[object]:
        with noted(about):
            async for item in code(*args, **kwargs):
                yield item

    return run


def wrap_class(
    cls: type,
    families: tuple[str, ...],
    choice: str,
    marks: dict[str, dict[str, object]],
    *,
    claimed: bool = False,
    internal: bool = False,
    internal_methods: frozenset[str] = frozenset(),
) -> type:
    """A subclass of an actor's class that notes its constructor and methods.

    `marks` has the attributes by which Ray knows a method's options, by the method's name. `claimed`: the constructor
    takes a claim before its own arguments and runs only if the claim is won. `internal`: nbaccel makes the actor for
    itself; of an actor that views show it calls `internal_methods` for itself.
    """
    members: dict[str, object] = {
        "__module__": cls.__module__,
        "__qualname__": internals.qualified(cls.__name__) if internal else cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    about = CodeDescription(f"{cls.__name__}.__init__", "actor creation", families, choice, internal=internal)
    members["__init__"] = _claimed_constructor(cls, about) if claimed else _constructor(cls, about)
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if inspect.isfunction(member) and (not name.startswith("__") or name == "__call__"):
            method = replace(
                about,
                name=f"{cls.__name__}.{name}",
                kind="actor call",
                internal=internal or name in internal_methods,
            )
            members[name] = _as_itself(wrap(member, method))
            for mark, value in marks.get(name, {}).items():
                setattr(members[name], mark, value)
    return type(cls)(cls.__name__, (cls,), members)


def _constructor(cls: type, about: CodeDescription) -> Code:
    """Wrap a constructor; the wrapper is a coroutine if the class's own is one, and Ray awaits it."""

    async def construct_in_loop(self: object, *args: object, **kwargs: object) -> None:
        with noted(about):
            await cls.__init__(self, *args, **kwargs)  # type: ignore[misc]

    def construct(self: object, *args: object, **kwargs: object) -> None:
        with noted(about):
            cls.__init__(self, *args, **kwargs)  # type: ignore[misc]

    own = cls.__init__  # type: ignore[misc]
    if inspect.iscoroutinefunction(own):
        return _as_itself(functools.wraps(own)(construct_in_loop))
    return _as_itself(functools.wraps(own)(construct)) if inspect.isfunction(own) else construct


def _claimed_constructor(cls: type, about: CodeDescription) -> Code:
    async def construct_in_loop(self: object, claim: AttemptClaim, *args: object, **kwargs: object) -> None:
        claim.check()
        try:
            with noted(about, claim):
                await cls.__init__(self, *args, **kwargs)  # type: ignore[misc]
        except BaseException as error:
            claim.raised(error)
            raise

    def construct(self: object, claim: AttemptClaim, *args: object, **kwargs: object) -> None:
        claim.check()
        try:
            with noted(about, claim):
                cls.__init__(self, *args, **kwargs)  # type: ignore[misc]
        except BaseException as error:
            claim.raised(error)
            raise

    return construct_in_loop if inspect.iscoroutinefunction(cls.__init__) else construct  # type: ignore[misc]


def refusing(cls: type) -> type:
    """A class with the same methods whose constructor always fails; the constructor takes the reason."""

    def construct(self: object, sentence: str) -> None:
        raise ActorUnschedulableError(sentence)

    return type(cls)(cls.__name__, (cls,), {"__module__": cls.__module__, "__init__": construct})


def _as_itself(method: Code) -> Code:
    """Keep Ray from unwrapping this method before it reads the options and the signature."""
    method.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    del method.__wrapped__  # type: ignore[attr-defined]
    return method
