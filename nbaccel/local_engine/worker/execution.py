"""Running one task inside a worker: its environment, its arguments, its call, its results.

```
  Run ─► environment ─► function and arguments ─► call ─► results ─► Done
             │                │ raise                │ raise   │ cannot be pickled
             └────────────────┴── RayTaskError ◄─────┴─────────┘
```
Code that the user did not call, for the text of an error and its pickling, has a time limit:
```
  0 ──── 10 s ──── 20 s ──── 30 s ─┬─ 35 s ─────────────┬─ 45 s
        TooLate   TooLate  TooLate │ give_up(), which   │ the process ends without asking Python:
        in the main thread         │ ends the process   │ code in C that does not return hears of no alarm
```
"""

from __future__ import annotations

import _thread
import contextvars
import faulthandler
import gc
import inspect
import os
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from types import FunctionType, GeneratorType, TracebackType
from typing import TYPE_CHECKING, Any

import cloudpickle
import msgspec

from nbaccel import exceptions, read_only_arrays, roots
from nbaccel.handles import unpicklable
from nbaccel.handles.option_checks import with_article
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.handles.refs import DynamicObjectRefGenerator
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.arena_writer import ArenaRange
from nbaccel.local_engine.client.link import block_signals
from nbaccel.local_engine.wire import codec, failures, main_module
from nbaccel.scheduling.terms import ACTOR_CALL, TASK, Terms
from nbaccel.views.history.answers import shortened

if TYPE_CHECKING:
    import asyncio

PATIENCE_S = 10.0  # pickling an error that holds a large array takes seconds
LAST_WORD = 3.5  # times PATIENCE_S: user code has swallowed the third alarm as well
END = 4.5  # times PATIENCE_S: `give_up` did not end the process

PATIENCE_TO_GIVE_UP_S = 10.0


class TooLate(BaseException):
    """Raised in the main thread when time is up; passes through an `except Exception`."""


@contextmanager
def limited(give_up: Callable[[TooLate], object]) -> Iterator[None]:
    """Raise TooLate in the block after PATIENCE_S, and again after as long, should the first one be swallowed.

    Where that does not end the block, `give_up` is called in another thread. It has to end the process.

    For the main thread, where an alarm interrupts a sleep. It takes the alarms of the process and of faulthandler from
    whoever has set them.
    """
    decided = threading.Lock()  # taken once: at the end of the block, or by the thread that gives up
    over = threading.Event()

    watched = False

    def ring(number: int, frame: Any) -> None:
        nonlocal watched
        if decided.locked():
            return
        if not watched:  # only now: a thread for each failing task would cost 0.4 ms, more than all else
            watched = True
            with suppress(RuntimeError):  # the task used up all threads: faulthandler has its own
                _thread.start_new_thread(watch, ())  # `threading` would take a lock that this thread may hold
        raise TooLate(f"it took more than {PATIENCE_S:g} s")

    def watch() -> None:
        block_signals()
        if not over.wait((LAST_WORD - 1) * PATIENCE_S) and decided.acquire(blocking=False):
            faulthandler.dump_traceback_later(PATIENCE_TO_GIVE_UP_S, exit=True, file=2)  # long: the machine may be busy
            took = f"it took more than {LAST_WORD * PATIENCE_S:g} s"
            give_up(TooLate(f"{took} and did not stop when it was interrupted"))

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        with suppress(RuntimeError):  # the task used up all threads: only the alarm is left
            faulthandler.dump_traceback_later(END * PATIENCE_S, exit=True, file=2)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S, PATIENCE_S)
        yield
    finally:
        if not decided.acquire(blocking=False):
            threading.Event().wait()  # the process ends
        over.set()
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)


class saying:
    """Whatever is raised inside says where that was."""

    def __init__(self, note: str) -> None:
        self._note = note

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, Exception):
            add_note(error, self._note)


def add_note(error: Exception, note: str) -> None:
    """Say something more with an error."""
    with suppress(Exception):  # the user's class may refuse notes
        error.add_note(note)


_OUR_DIRECTORIES = (
    os.path.join(roots.PACKAGE, "local_engine") + os.sep,
    os.path.join(roots.PACKAGE, "debug_engine") + os.sep,
    os.path.join(roots.PACKAGE, "handles", "unpicklable.py"),
    os.path.dirname(cloudpickle.__file__) + os.sep,
)
current_run: contextvars.ContextVar[Running | None] = contextvars.ContextVar("current_run", default=None)


_reader_went_on = threading.Condition()  # one for all streams of this process, so that other tasks make none


class Running(msgspec.Struct):
    """A task that this process runs, and the facts that it may ask about itself."""

    run: wire.RunTask
    terms: Terms
    cancelled: bool = False
    begun: bool = False  # its arguments are read and the user's code comes next
    asyncio_task: asyncio.Task[Any] | None = None
    payloads: list[tuple[int | str, tuple[int, Any]]] = []  # values of the refs that are arguments themselves
    ranges: list[ArenaRange] = []  # where large results lie, until the head knows of them
    kept: list[bytes] = []  # refs inside its results, until the head knows of them
    consumed: int = 0
    abandoned: bool = False
    streamed: bool = False  # it has sent items
    leaves: bool = False  # its code called exit_actor()
    on_progress: Callable[[], object] | None = None  # wakes the coroutine that waits for the reader
    environment: dict[str, Any] | None = None  # its runtime_env, decoded for what it submits
    captured: PlacementGroup | None = None  # the placement group of the tasks that it submits, if its own one captures
    traceback: str = ""  # of the error that it raised
    times: list[float] = []  # Unix seconds: reading of arguments began, code began, code returned

    @property
    def task_id(self) -> bytes:
        return self.run.task_id

    def read_up_to(self, count: int) -> None:
        """Its reader has taken so many items; -1: the reader has gone."""
        with _reader_went_on:
            self.consumed = max(self.consumed, count)
            self.abandoned = self.abandoned or count < 0
            _reader_went_on.notify_all()
        if self.on_progress is not None:
            self.on_progress()

    def ended(self, done: wire.Done) -> wire.Done:
        """The end of the task, with the times of the phases that it reached."""
        done.times = [*self.times, time.time()] if self.times else []
        return done


def let_go(code: list[Any]) -> None:
    """Let functions and classes end, with what they have captured; a recursive one is a cycle."""
    ended = [weakref.ref(each) for each in code if isinstance(each, (FunctionType, type))]
    while code:
        main_module.forget(code.pop())
    if any(each() is not None for each in ended):
        gc.collect()


class ActorExit(BaseException):
    """Raised by exit_actor; passes through the user's `except Exception`."""


class Execution:
    """Runs tasks: turns each RunTask into a Done. One for each worker."""

    is_worker = True  # this process is nobody's notebook or script

    def __init__(self, client: Any) -> None:
        self._client = client
        self.functions: dict[bytes, tuple[bytes, str]] = {}
        self.templates: dict[int, Terms] = {}
        self._loaded: dict[bytes, Any] = {}
        self._last_key = b""  # of the code that ran last
        self.answer = self.failure  # the worker replaces it with its own, which limits the time it takes
        self._threads = 0
        self.may_set_threads = "OMP_NUM_THREADS" not in os.environ

    # ---- arguments and surroundings

    def code(self, terms: Terms, choice: int) -> Any:
        """The function or class, unpickled once."""
        key = terms.function_of(choice)
        code = self._loaded.get(key)
        if code is None:
            with saying(f"This was raised while {terms.name} itself was unpickled in the worker."):
                code = self._loaded[key] = codec.load_code(self.functions[key][0])
        elif key != self._last_key:
            main_module.name_again(code)
        self._last_key = key
        return code

    def forget(self, keys: list[bytes]) -> list[Any]:
        """No task will run these any more. Returns what was loaded of them."""
        for key in keys:
            self.functions.pop(key, None)
        self._last_key = b""  # whatever runs next gets its names in `__main__` again
        return [self._loaded.pop(key) for key in keys if key in self._loaded]

    def function_name(self, running: Running, actor: Running | None) -> str:
        """The name of the running code with its module: "train.fit", or "train.Model.step" if `actor` made it."""
        terms = running.terms
        code = self._loaded.get((actor or running).terms.function_key)
        module = getattr(code, "__module__", None) or "__main__"
        words = [module, terms.class_name, terms.method or terms.name.rpartition(".")[2]]
        return ".".join(word for word in words if word)

    def begin(self, run: wire.RunTask) -> Running:
        """Begin a task. Its arguments in the arena are mapped now, because nothing interrupts this."""
        running = Running(run, self.templates[run.template])
        if run.slots:
            payload_of = self._client.values.payload_of
            running.payloads = [(place, payload_of(id, value)) for place, id, value in run.slots]
        return running

    def arguments(self, running: Running) -> tuple[list[Any], dict[str, Any]]:
        """The call's arguments, with the values of its top-level refs in place. Raises the error of a failed one."""
        running.times = [time.time()]
        args, kwargs = self._arguments(running)
        running.times.append(time.time())
        running.begun = True
        return args, kwargs

    def _arguments(self, running: Running) -> tuple[list[Any], dict[str, Any]]:
        payloads, running.payloads = running.payloads, []
        if not running.run.args:
            return [], {}
        try:  # not `with`, which costs every task a microsecond
            args, kwargs = codec.load(running.run.args)
            for place, payload in payloads:
                resolved = self._client.value_of(payload)
                if isinstance(place, int):
                    args[place] = resolved
                else:
                    kwargs[place] = resolved
        except Exception as error:  # a user's __setstate__ may raise anything
            add_note(
                error, f"This was raised while the arguments of {running.terms.name} were unpickled in the worker."
            )
            raise
        return args, kwargs

    def surroundings(self, running: Running) -> AbstractContextManager[Any] | None:
        """The task's environment variables and thread limit, set before its code is loaded; None: nothing to undo.

        Not a function under `contextmanager`, which sets attributes of what the user's code raises.
        """
        terms, environ = running.terms, running.run.environ
        if (
            self.may_set_threads and terms.kind is not ACTOR_CALL and terms.threads != self._threads
        ):  # a call of an actor keeps the actor's limit
            self._limit_threads(terms.threads)
        if not environ:
            return None
        before = {name: os.environ.get(name) for name in environ}
        set_variables(environ)
        stack = ExitStack()
        if terms.kind is TASK:  # an actor keeps its devices, so it keeps its variables
            stack.callback(set_variables, before)
        return stack

    def _limit_threads(self, count: int) -> None:
        self._threads = count
        os.environ["OMP_NUM_THREADS"] = str(count)
        if "numpy" in sys.modules or "torch" in sys.modules:  # loaded before the fork: they read the variable then
            import threadpoolctl

            threadpoolctl.threadpool_limits(count)

    # ---- results and errors

    def results(self, running: Running, value: Any) -> wire.Done:
        """Make the Done of a task that returned this value."""
        running.times.append(time.time())
        terms, task_id = running.terms, running.run.task_id
        count = terms.num_returns
        if count == 1:
            if isinstance(value, GeneratorType):  # num_returns is 1: the first item is the value
                value = next(value, None)
            return wire.Done(task_id, [self._result(running, value)])
        if count == wire.DYNAMIC:
            return wire.Done(task_id, [self._result(running, self._as_many_refs(running, value))])
        if count in (0, wire.STREAMING):
            return wire.Done(task_id, [wire.ReturnValue(wire.Value(wire.OK, codec.NONE))])
        if inspect.isgenerator(value):
            return self._yielded(running, value, count)
        try:
            values = list(value)
        except TypeError:
            raise TypeError(
                f"Task {terms.name} was to return {count} values (num_returns={count}), but it returned "
                f"{with_article(type(value).__name__)}, which cannot be divided."
            ) from None
        if len(values) != count:
            raise ValueError(f"Task {terms.name} returned {len(values)} values, but num_returns={count}.")
        return wire.Done(task_id, [self._result(running, part) for part in values])

    def _yielded(self, running: Running, items: Any, count: int) -> wire.Done:
        """One value for each ref. If the generator raises or ends early, the other refs get that error."""
        made: list[wire.ReturnValue] = []
        try:
            for item in islice(items, count):
                made.append(self._result(running, item, is_over=False))
            if len(made) < count:
                raise ValueError(
                    f"Task {running.terms.name} yielded {len(made)} values, but num_returns={count}: get() of the "
                    "missing ones raises this error."
                )
        except Exception as error:  # the user's generator may raise anything; the reader gets it
            ranges = list(running.ranges)
            done = self.answer(running, error)
            if not done.retry and not done.fall_back:
                done.results[: len(made)] = made
                running.ranges = ranges
            return done
        return wire.Done(running.task_id, made)

    def _as_many_refs(self, running: Running, items: Any) -> DynamicObjectRefGenerator:
        """One ref for each item. If the generator raises, the last ref raises that error."""
        refs: list[Any] = []
        try:
            for item in items:
                refs.append(self._client.put(item))
        except Exception as error:  # the user's generator may raise anything; the reader gets it
            if self._is_retryable(running.terms, error) or self._is_answered_by_fallback(running, error):
                raise
            raised = self._raised(running, error)
            refs.append(self._client.put_raised(raised.value, raised.refs))
        return DynamicObjectRefGenerator(refs)

    def _result(self, running: Running, value: Any, *, is_over: bool = True) -> wire.ReturnValue:
        refs: list[bytes] = []
        try:
            payload = codec.dump(value, refs)
        except Exception as error:  # a user's __reduce__ may raise anything
            what = f"the return value of {running.terms.name}"
            codec.refuse_to_serialize(what, value, error, unpicklable.ADVICE_TO_RETURN)
        self._keep(running, refs)
        if is_over and not isinstance(payload, bytes):
            self._client.prepare_to_store(running)
        stored, arena_range = self._client.store(payload)
        if arena_range is not None:
            running.ranges.append(arena_range)
        return wire.ReturnValue(stored, refs)

    def _keep(self, running: Running, refs: list[bytes]) -> None:
        """Keep the refs inside a value: the value is gone before the head learns of them."""
        if refs:
            running.kept += self._client.references.keep(refs)

    def notified(self, running: Running) -> None:
        """The head knows the results: their ranges count as used, and the results keep their refs alive."""
        for arena_range in running.ranges:
            arena_range.use()
        running.ranges.clear()
        for id in running.kept:
            self._client.references.gone(id)
        running.kept.clear()

    def item(self, running: Running, index: int, value: Any) -> wire.Item:
        return wire.Item(running.run.task_id, index, self._result(running, value, is_over=False))

    def failure(self, running: Running, error: BaseException) -> wire.Done:
        """Make the Done of a task that raised."""
        terms = running.terms
        running.ranges.clear()  # results that were stored already are not sent: their ranges are given back
        if running.cancelled and _is_interruption(error):
            result, note, fall_back, retry = self._cancelled(running, error), "cancelled", False, False
        else:
            fall_back, retry, error = self._next_step(running, error)
            result, note = self._raised(running, error), _first_line(error)
        self._keep(running, result.refs)
        count = terms.num_returns if terms.num_returns > 0 else 1
        return wire.Done(
            running.task_id, [result] * count, failed=True, retry=retry, note=note, fall_back=fall_back,
            traceback=running.traceback,
        )  # fmt: skip

    def plain_failure(self, running: Running, error: BaseException, problem: BaseException) -> wire.Done:
        """Make the Done of a task whose error has no usable text. Runs no user code."""
        running.ranges.clear()
        terms, kind = running.terms, type(error).__name__
        frames = "".join(traceback.format_tb(_users_part(error.__traceback__)))
        said = f"{kind} (it could not be asked for its words or be pickled: {type(problem).__name__}"
        said += f", {problem})" if isinstance(problem, TooLate) else ")"
        text = f"Traceback (most recent call last):\n{frames}{said}"
        name = terms.method or terms.name.removeprefix(f"{terms.class_name}.")
        failed = exceptions.RayTaskError(name, text, RuntimeError(said), **self._where(running))
        count = terms.num_returns if terms.num_returns > 0 else 1
        retry = terms.retry_exceptions is True and isinstance(error, Exception)
        return wire.Done(
            running.task_id, [_inline(failed)] * count, failed=True, retry=retry, note=said, traceback=shortened(text)
        )

    def _next_step(self, running: Running, error: BaseException) -> tuple[bool, bool, BaseException]:
        """(whether the next choice answers it, whether it is tried again, the error that is told)."""
        try:
            with saying(
                f"This was raised while the classes in retry_exceptions or fallback_on of "
                f"{running.terms.name} were loaded in the worker, after it had raised {_first_line(error)}."
            ):
                fall_back = self._is_answered_by_fallback(running, error)
                return fall_back, not fall_back and self._is_retryable(running.terms, error), error
        except Exception as problem:  # their module is missing or raises an error when it is imported
            return False, False, problem

    def _cancelled(self, running: Running, error: BaseException) -> wire.ReturnValue:
        """The error of interrupted code, which says where it was interrupted; otherwise the bare error."""
        message, task_id = f"Task {running.terms.name} was cancelled.", running.task_id.hex()
        if not running.begun or _users_part(error.__traceback__) is None:
            return wire.ReturnValue(failures.failed("TaskCancelledError", message, task_id=task_id))
        cancelled = exceptions.TaskCancelledError(message, task_id=task_id)
        return self._raised(running, cancelled.with_traceback(error.__traceback__))

    def _raised(self, running: Running, error: BaseException) -> wire.ReturnValue:
        """Turn an error into a result. It is never put into the arena: other objects may come to be the same error."""
        terms = running.terms
        where = self._where(running)
        _add_hint(error, holds_gpu="GPU" in where["device_ids"], is_worker=self.is_worker)
        text = user_traceback(error)
        running.traceback = shortened(text)
        cause = error if isinstance(error, BaseException) else None
        name = terms.method or terms.name.removeprefix(f"{terms.class_name}.")
        failed = exceptions.RayTaskError(name, text, cause, **where)
        self._let_go_of(running, error)
        try:
            result = _inline(failed)
            codec.load(result.value.data)  # an error that cannot be rebuilt here cannot be rebuilt by its reader
            return result
        except Exception as problem:  # the user's exception, or a value in it, cannot be pickled
            said = f"{type(error).__name__}: {_said(error)} (the exception itself could not be pickled: {problem})"
            return _inline(exceptions.RayTaskError(name, text, exceptions.stand_in(error, said), **where))

    def _where(self, running: Running) -> dict[str, Any]:
        terms, run = running.terms, running.run
        return {
            "task_id": run.task_id.hex(),
            "pid": os.getpid(),
            "device_ids": run.devices or self._client.actor_devices(),
            "cell": terms.cell or None,
            "actor": terms.class_name or None,
        }

    def _let_go_of(self, running: Running, error: BaseException) -> None:
        """Its text is taken; the frames, and what they hold, go."""
        release_frames(error)

    def _is_answered_by_fallback(self, running: Running, error: BaseException) -> bool:
        """Whether it raised one of `fallback_on`, and there is another choice. What has streamed items goes on no
        more: its consumer would see them twice.
        """
        terms = running.terms
        if not terms.fallback_on or running.run.choice + 1 >= len(terms.choices) or running.streamed:
            return False
        kinds: tuple[type[BaseException], ...] = codec.load_code(terms.fallback_on)
        return isinstance(error, kinds)

    def _is_retryable(self, terms: Terms, error: BaseException) -> bool:
        if terms.retry_exceptions is True:
            return isinstance(error, Exception)
        if not terms.retry_exceptions:
            return False
        return isinstance(error, codec.load_code(terms.retry_exceptions))

    def stream(self, running: Running, items: Any, send: Callable[[Any], None], blocked: Any) -> int:
        """Send each item of a generator as it comes; returns how many."""
        if not inspect.isgenerator(items) and not hasattr(items, "__iter__"):
            raise TypeError(f"Task {running.terms.name} streams (num_returns='streaming'), but returned no generator.")
        iterator = iter(items)
        index = 0
        limit = running.terms.backpressure
        while not running.abandoned:
            try:
                value = next(iterator)
            except StopIteration:
                break
            send(self.item(running, index, value))
            self.notified(running)
            running.streamed = True
            index += 1
            if limit is not None and index - running.consumed >= limit:
                with blocked(), _reader_went_on:
                    _reader_went_on.wait_for(partial(_may_go_on, running, index - limit))
        close = getattr(iterator, "close", None)
        if running.abandoned and close is not None:
            close()
        return index


def _may_go_on(running: Running, behind: int) -> bool:
    return running.abandoned or running.consumed > behind


def set_variables(variables: dict[str, str | None]) -> None:
    """Set environment variables; None unsets one."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _inline(error: exceptions.RayTaskError) -> wire.ReturnValue:
    refs: list[bytes] = []
    payload = codec.dump(error, refs)
    return wire.ReturnValue(wire.Value(wire.RAISED, payload if isinstance(payload, bytes) else payload.joined()), refs)


def _first_line(error: BaseException) -> str:
    text = _said(error).encode("utf-8", "backslashreplace").decode()  # half a surrogate pair cannot be encoded
    return f"{type(error).__name__}: {text.splitlines()[0][:200]}" if text else type(error).__name__


def _said(error: BaseException) -> str:
    """An error's own words, if it has any: a user's __str__ may raise as well."""
    try:
        return str(error)
    except Exception:
        return ""


def user_traceback(error: BaseException) -> str:
    """The traceback without the engine's own frames, here and in what it was caused by."""
    for link in _chain(error):
        link.with_traceback(_users_part(link.__traceback__))  # the user's class may refuse an assignment
    return "".join(traceback.format_exception(error)).rstrip()


def _users_part(tb: TracebackType | None) -> TracebackType | None:
    """From the first frame on that is neither ours nor the pickling library's."""
    start = tb
    while start is not None and start.tb_frame.f_code.co_filename.startswith(_OUR_DIRECTORIES):
        start = start.tb_next
    return start


def _chain(error: BaseException) -> list[BaseException]:
    """The error and everything that it was caused by or came up with."""
    links: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        link = pending.pop()
        if link is not None and not any(link is other for other in links):
            links.append(link)
            pending += [link.__cause__, link.__context__]
    return links


def _add_hint(error: BaseException, *, holds_gpu: bool, is_worker: bool) -> None:
    """Say what to do about errors of other libraries that have to do with us."""
    hint = read_only_arrays.hint(error)
    if holds_gpu and not hint:
        from nbaccel.accelerators import visibility

        hint = visibility.hint(error)
    if type(error) is KeyError and error.args and error.args[0] not in os.environ:
        from nbaccel.accelerators.table import hint_at_missing  # a program for another make of GPUs reads its variable

        hint = hint_at_missing(error.args[0], os.environ)
        if not hint and is_worker and _was_raised_by_environ(error):
            hint = (
                f"{error.args[0]} is not set in this worker. A task, or an actor when it is created, has what the "
                "notebook has set before the cell that submits it, and in a script what was set before init(). "
                f'Or pass it: runtime_env={{"env_vars": {{"{error.args[0]}": ...}}}}.'
            )
    if not hint and isinstance(error, (OSError, RuntimeError)):
        from nbaccel.views import full_disks

        hint = full_disks.hint(error)
    if hint and isinstance(error, Exception) and hint not in getattr(error, "__notes__", ()):
        add_note(error, hint)


def _is_interruption(error: BaseException) -> bool:
    """Whether it is what a cancelled task raises. Where asyncio is not loaded, its error cannot have been raised."""
    asyncio: Any = sys.modules.get("asyncio")
    return isinstance(error, KeyboardInterrupt) or (asyncio is not None and isinstance(error, asyncio.CancelledError))


def _was_raised_by_environ(error: BaseException) -> bool:
    """Whether this KeyError comes from `os.environ["NAME"]`."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and last.tb_frame.f_code is type(os.environ).__getitem__.__code__


def release_frames(error: BaseException) -> None:
    """Let go of what the traceback's frames hold: tensors would stay on their device for as long as the error lives."""
    for link in _chain(error):
        traceback.clear_frames(link.__traceback__)
        link.with_traceback(None)
