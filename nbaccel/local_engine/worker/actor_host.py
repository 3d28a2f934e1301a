"""One actor inside its worker: calls in order, in threads, or in an event loop.

```
  sync, max_concurrency 1     the worker's main thread, one call after the other
  sync, more                  a pool of threads for each concurrency group
  async                       an event loop in a thread of its own for each concurrency group; at most
                              max_concurrency calls at a time. The constructor runs in that of the calls without
                              a group, so that it may start tasks and make futures
```
"""

from __future__ import annotations

import atexit
import inspect
import os
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Coroutine
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NoReturn

from nbaccel import stacks
from nbaccel.handles import option_checks
from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import codec, failures
from nbaccel.local_engine.worker.execution import ActorExit, Running, current_run

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from nbaccel.local_engine.worker.main import WorkerEngine

Call = Callable[["GroupLoop", Running], Coroutine[Any, Any, None]]


class GroupLoop:
    """Begins calls in order of arrival; at most `size` of them are unfinished."""

    def __init__(self, name: str, size: int, call: Call, on_exit: Callable[[SystemExit], Any]) -> None:
        import asyncio  # an actor that needs no loop waits for none

        self.loop = asyncio.new_event_loop()
        self.limit = asyncio.Semaphore(size)
        self._call = call
        self._on_exit = on_exit
        self._arrived: deque[Running] = deque()  # calls that the loop has not begun yet
        self._woken = False
        self._flush_due = False
        name = f"nbaccel-asyncio-{name}" if name else "nbaccel-asyncio"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            self.loop.run_forever()
        except SystemExit as exit:  # of an asyncio task that a call started: asyncio lets it leave the loop
            self._on_exit(exit)

    def take(self, running: Running) -> None:
        """Take a new call. The main thread calls this."""
        self._arrived.append(running)
        if not self._woken:  # one wake-up for all calls since the last one
            self._woken = True
            self.loop.call_soon_threadsafe(self._begin_arrived)

    def _begin_arrived(self) -> None:
        self._woken = False
        while self._arrived:
            running = self._arrived.popleft()
            running.asyncio_task = self.loop.create_task(self._call(self, running))

    def cancel(self, running: Running) -> None:
        if running.asyncio_task is not None:
            self.loop.call_soon_threadsafe(running.asyncio_task.cancel)

    def flush_soon(self, flush: Callable[[], None]) -> None:
        """Send the results of one turn of the loop together. Called in the loop."""
        if not self._flush_due:
            self._flush_due = True
            self.loop.call_soon(self._flush, flush)

    def _flush(self, flush: Callable[[], None]) -> None:
        self._flush_due = False
        flush()


_DEFAULT_GROUP = ""


class ActorHost:
    """The actor of this process."""

    def __init__(self, worker: WorkerEngine, creation: Running) -> None:
        self.worker = worker
        self.creation = creation
        self.instance: Any = None
        self._terms = creation.terms
        self._calls: dict[bytes, Running] = {}
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._loops: dict[str, GroupLoop] = {}
        self._label = self._terms.class_name
        self._ending = False

    def construct(self, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Make the instance, and the threads or the loop for its calls. Raises the constructor's error."""
        terms = self._terms
        groups = {_DEFAULT_GROUP: terms.actor.max_concurrency, **terms.actor.concurrency_groups}
        if terms.is_async:
            from nbaccel.local_engine.worker.actor_host import GroupLoop

            stacks.answer_for_threads()
            self._loops = {
                name: GroupLoop(name, size, self._call_async, self.worker._exit) for name, size in groups.items()
            }
            self.instance = self._in_loop(cls, args, kwargs)
        else:
            self.instance = cls(*args, **kwargs)
        own_repr: Any = type(self.instance).__repr__
        if own_repr is not object.__repr__:
            self._label = _first_line_of(self.instance) or self._label
        if not terms.is_async and terms.actor.is_threaded:
            from concurrent.futures import ThreadPoolExecutor

            self._pools = {
                name: ThreadPoolExecutor(size, thread_name_prefix=f"nbaccel-{name or 'call'}")
                for name, size in groups.items()
            }
            stacks.answer_for_threads()

    def _in_loop(self, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        import asyncio

        async def outcome() -> tuple[Any, BaseException | None]:
            try:
                return await constructed(cls, args, kwargs), None
            except BaseException as error:  # raise it in the main thread, not in the loop
                return None, error

        instance, error = asyncio.run_coroutine_threadsafe(outcome(), self._loops[_DEFAULT_GROUP].loop).result()
        if error is not None:
            raise error
        return instance

    def send_goodbye(self) -> None:
        """Run the actor's own code for its end, if it ends itself or is not needed any more.

        That is `__ray_shutdown__`, the instance's `__del__` and what was registered with atexit. A kill leaves no time.
        """
        self._ending = True
        instance, self.instance = self.instance, None
        terms = self._terms
        self.worker.output.begin(self._label, terms.cell, terms.parent, self.creation.task_id)
        call_shutdown(instance)
        del instance
        atexit._run_exitfuncs()
        self.worker.output.end()

    def find(self, task_id: bytes) -> Running | None:
        return self._calls.get(task_id)

    def cancel(self, task_id: bytes) -> bool:
        """Cancel an asyncio call, flag any other; False when the call is not known here (not begun)."""
        running = self._calls.get(task_id)
        if running is None:
            return False
        running.cancelled = True
        if self._loops:
            self._loop_of(running).cancel(running)
        return True

    def is_under_way(self, running: Running) -> bool:
        """Whether this is the constructor or an unfinished call."""
        return running.task_id in self._calls or (running is self.creation and self.instance is None)

    def _loop_of(self, running: Running) -> GroupLoop:
        return self._loops.get(running.terms.concurrency_group) or self._loops[_DEFAULT_GROUP]

    # ---- calls

    def call(self, running: Running) -> None:
        """Run a call, or pass it to its thread or loop. The main thread calls this in order."""
        self._calls[running.task_id] = running
        if self._loops:
            self._loop_of(running).take(running)
        elif self._pools:
            self._pools.get(running.terms.concurrency_group, self._pools[_DEFAULT_GROUP]).submit(
                self._call_in_thread, running
            )
        else:
            self._call_sync(running)

    def _call_in_thread(self, running: Running) -> None:
        done = self.worker.guarded(running, self._work)
        self._finish(running, done)

    def _call_sync(self, running: Running) -> None:
        terms = running.terms
        self.worker.output.begin(self._label, terms.cell, terms.parent, running.task_id)
        done = self.worker.guarded(running, self._work)
        self.worker.output.end()
        self._finish(running, done)

    def _work(self, running: Running) -> wire.Done:
        known = self._terms.actor.concurrency_groups
        option_checks.group_of_calls(running.terms.concurrency_group, self._terms.class_name, known)
        execution, terms = self.worker.execution, running.terms
        args, kwargs = execution.arguments(running)
        value = self._method(terms.method)(*args, **kwargs)
        if terms.num_returns == wire.STREAMING:
            execution.stream(running, value, self.worker.link.send, self.worker.blocked)
            return ended(running)
        _raise_if_cancelled(running)
        return self.worker.execution.results(running, value)

    def _method(self, name: str) -> Any:
        if self._ending:
            threading.Event().wait()  # another thread begins a call while the process ends: it waits for ever
        return method_of(self.instance, name)

    async def _call_async(self, loop: GroupLoop, running: Running) -> None:
        token = current_run.set(running)
        try:
            async with loop.limit:
                terms = running.terms
                self.worker.output.begin(self._label, terms.cell, terms.parent, running.task_id)
                done = await self._await(running)
        except ActorExit:
            done = exit_of_actor(running)
        except SystemExit as exit:
            self.worker._exit(exit)
        except BaseException as error:  # the user's coroutine may raise anything; the caller gets it
            done = self.worker.failure(running, error)
        finally:
            current_run.reset(token)
        self.worker.leave_fork(running, done)
        self._finish(running, running.ended(done), loop)

    async def _await(self, running: Running) -> wire.Done:
        _raise_if_cancelled(running)
        known = self._terms.actor.concurrency_groups
        option_checks.group_of_calls(running.terms.concurrency_group, self._terms.class_name, known)
        args, kwargs = self.worker.execution.arguments(running)
        value = self._method(running.terms.method)(*args, **kwargs)
        if inspect.isasyncgen(value):
            return await self._stream_async(running, value)
        if is_unfinished(value):
            value = await value
        if running.terms.num_returns == wire.STREAMING:
            import asyncio

            loop = asyncio.get_running_loop()
            execution, worker = self.worker.execution, self.worker
            await loop.run_in_executor(None, execution.stream, running, value, worker.link.send, worker.blocked)
            return ended(running)
        _raise_if_cancelled(running)
        return self.worker.execution.results(running, value)

    async def _stream_async(self, running: Running, items: Any) -> wire.Done:
        index = 0
        limit = running.terms.backpressure
        async for value in items:
            self.worker.link.send(self.worker.execution.item(running, index, value))
            self.worker.execution.notified(running)
            index += 1
            if limit is not None:
                await _reader_has_room(running, index - limit)
            if running.abandoned:
                await items.aclose()
                break
        return ended(running)

    def _finish(self, running: Running, done: wire.Done, loop: GroupLoop | None = None) -> None:
        self._calls.pop(running.task_id, None)
        if running.leaves:  # even if the call's code caught ActorExit and went on
            done = exit_of_actor(running)
        if done.exiting:
            self.leave(done)
        if loop is None:
            self.worker.finish(done)
        else:
            if not self.worker.link.hold_reply(done):
                self.worker.link.send_later(done)
            loop.flush_soon(self.worker.link.flush_replies)
        self.worker.execution.notified(running)

    def leave(self, done: wire.Done) -> NoReturn:
        """The actor ends itself with this call, or in its constructor."""
        if self._ending:
            threading.Event().wait()  # another call is ending the process
        self.send_goodbye()
        self.worker.finish(done)
        self.worker.output.flush()
        self.worker.link.flush_replies()
        os._exit(0)


async def constructed(cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """An instance of an asyncio actor's class, whose constructor may be a coroutine."""
    if not inspect.iscoroutinefunction(cls.__init__):
        return cls(*args, **kwargs)
    instance = cls.__new__(cls, *args, **kwargs)
    await instance.__init__(*args, **kwargs)
    return instance


def call_shutdown(instance: Any) -> None:
    """Call `__ray_shutdown__` of an actor that is not killed."""
    try:
        shutdown_method = getattr(type(instance), "__ray_shutdown__", None)
        if instance is not None and shutdown_method is not None:
            shutdown_method(instance)
    except BaseException:  # user code: its error can only be printed
        traceback.print_exc()


def method_of(instance: Any, name: str) -> Any:
    """What a call of this name runs: a method that every actor has, or one of its class.

    The method is as the actor's class has it: an attribute of the instance may have the same name, as in Ray.
    """
    kind = type(instance)
    member = None
    for base in _MRO(kind):
        members = _DICT(base)
        if name in members:
            member = members[name]
            break
    if type(member) is FunctionType and name not in _EVERY_ACTORS:
        return MethodType(member, instance)
    return _rare_method(instance, name)


def _rare_method(instance: Any, name: str) -> Any:
    if name == "__ray_ready__":
        return lambda *args, **kwargs: True
    if name == "__ray_terminate__":
        return _terminate
    if name == "__ray_call__":
        return lambda function, *args, **kwargs: function(instance, *args, **kwargs)
    try:
        member = inspect.getattr_static(type(instance), name)
    except AttributeError:  # the name comes from its metaclass or from a __getattr__
        return getattr(instance, name)
    bind = getattr(type(member), "__get__", None)
    return member if bind is None else bind(member, instance, type(instance))


_EVERY_ACTORS = frozenset({"__ray_ready__", "__ray_terminate__", "__ray_call__"})
_MRO: Any = type.__dict__["__mro__"].__get__
_DICT: Any = type.__dict__["__dict__"].__get__


def is_unfinished(value: Any) -> bool:
    """Whether a method of an asyncio actor has begun what the loop is to finish.

    Other awaitable values, refs first of all, are what a method that is no coroutine returns.
    """
    asyncio: Any = sys.modules.get("asyncio")
    return isinstance(value, Coroutine) or (asyncio is not None and asyncio.isfuture(value))


async def _reader_has_room(running: Running, behind: int) -> None:
    """Wait, without a thread, until the reader has taken more than so many items, or has gone."""
    import asyncio

    loop, there = asyncio.get_running_loop(), asyncio.Event()
    running.on_progress = lambda: loop.call_soon_threadsafe(there.set)
    while not running.abandoned and running.consumed <= behind:
        await there.wait()
        there.clear()


def _first_line_of(instance: Any) -> str:
    """The first line of the instance's own `repr`; "" if it has none or fails."""
    try:
        return next(iter(repr(instance).splitlines()), "")
    except (Exception, SystemExit):  # user code: a failing __repr__ must not end the actor
        return ""


def _raise_if_cancelled(running: Running) -> None:
    """Raise for a cancelled call: as in Ray, its return value does not count."""
    if running.cancelled:
        import asyncio

        raise asyncio.CancelledError


def _terminate(*args: Any) -> None:
    raise ActorExit


def ended(running: Running) -> wire.Done:
    """The Done of a constructor, or of a stream whose items are sent: its own value is None."""
    return wire.Done(running.task_id, [wire.ReturnValue(wire.Value(wire.OK, codec.NONE))])


def exit_of_actor(running: Running) -> wire.Done:
    """The Done of a call that has ended its actor."""
    value = failures.failed(
        "ActorDiedError", "The actor ended itself: exit_actor() was called.", actor_id=running.run.actor_id.hex()
    )
    count = max(running.terms.num_returns, 1)
    return wire.Done(running.task_id, [wire.ReturnValue(value)] * count, failed=True, exiting=True)


def not_set_up(running: Running, error: Exception) -> wire.Done:
    """The Done of a task whose environment could not be set up, which is not an error of its own code."""
    value = failures.failed("RuntimeEnvSetupError", str(error), task_id=running.task_id.hex())
    values = [wire.ReturnValue(value)] * max(running.terms.num_returns, 1)
    return wire.Done(running.task_id, values, failed=True, note=str(error).splitlines()[0])
