"""A worker process: runs one task at a time, or one actor.

```
  main thread: reads ── Run ──► queue ──► user code ──► Done        (the reader thread reads while user code runs)
  reader ── Interrupt (of the running task) ── SIGINT to ourselves ──► KeyboardInterrupt in the user's code
```
User code runs in the main thread, so that signals, and libraries that want it, work. SIGINT does nothing between tasks.
"""

from __future__ import annotations

import importlib
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from importlib.machinery import ModuleSpec
from queue import Empty, SimpleQueue
from types import FrameType, ModuleType
from typing import Any, NoReturn

import msgspec
import setproctitle

from nbaccel import device_memory, exceptions, stacks
from nbaccel import engine as engines
from nbaccel.local_engine import process, wire
from nbaccel.local_engine.client.calls import Client
from nbaccel.local_engine.client.submitter import DriverCode
from nbaccel.local_engine.wire import codec, main_module
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.worker import execution
from nbaccel.local_engine.worker.actor_host import ActorHost, exit_of_actor, not_set_up
from nbaccel.local_engine.worker.direct_calls import NOTHING
from nbaccel.local_engine.worker.execution import ActorExit, Execution, Running, current_run, let_go, set_variables
from nbaccel.local_engine.worker.worker_link import WorkerLink
from nbaccel.local_engine.worker.worker_output import WorkerOutput
from nbaccel.local_engine.worker.worker_setup import apply_runtime_env, apply_setup
from nbaccel.local_engine.worker.worker_view import WorkerView
from nbaccel.scheduling.terms import ACTOR_CALL, ACTOR_CREATION, TASK, Terms
from nbaccel.views.snapshot import OnSnapshot

# signal.getsignal() makes an enum of each answer: 115 µs for all signals; this function takes 5.
_handler_of: Any = sys.modules["_signal"].getsignal
# ---- what a task has changed in its process is undone before the next task
#
#   after every task      is_disturbed()   working directory, limits of files, our descriptors, an alarm: under 3 µs
#   when idle, after an   restore()        everything below; what cannot be put back is returned in words,
#   error or a long task                   and the process ends
#
# Only changes that could make other tasks fail are undone: a lowered limit, but not a raised one. As in Ray, these
# stay: environment variables, modules and their globals, import paths, the garbage collector, open files, threads.

_SIGNALS = [number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_LIMITS = {
    name: getattr(resource, name)
    for name in dir(resource)
    if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"  # RLIMIT_NOFILE by another name
}
_NONE = (0.0, 0.0)


class ProcessState:
    """The state of the process when it was `accept`ed; used by its main thread."""

    def __init__(self, ours: dict[int, str]) -> None:
        self._ours = ours  # descriptors that every task needs, with their names
        self._poll = select.poll()
        for fd in (0, *ours):
            self._poll.register(fd, 0)  # poll() reports only closed ones
        self._shelter = "/"
        self.accept("/")

    def accept(self, shelter: str) -> None:
        """Remember the present state. `shelter` is the directory to use if the present one is gone."""
        self._shelter = shelter
        self._directory = _directory()
        if not self._directory:
            self._go_home()
        self._limits = [(name, number, resource.getrlimit(number)) for name, number in _LIMITS.items()]
        self._note_file_limits()
        self._handlers = {number: _handler_of(number) for number in _SIGNALS}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._niceness = os.getpriority(os.PRIO_PROCESS, 0)
        self._cpus = os.sched_getaffinity(0)
        self._recursion = sys.getrecursionlimit()
        self._files = _files(self._ours)
        self._identity = _identity()

    def _note_file_limits(self) -> None:
        self._open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._file_size = resource.getrlimit(resource.RLIMIT_FSIZE)

    # ---- after every task

    def is_disturbed(self) -> bool:
        """Whether one of the quickly checked facts has changed."""
        return (
            resource.getrlimit(resource.RLIMIT_NOFILE) != self._open_files
            or resource.getrlimit(resource.RLIMIT_FSIZE) != self._file_size
            or bool(self._poll.poll(0))
            or signal.getitimer(signal.ITIMER_REAL) != _NONE
            or _directory() != self._directory
        )

    def lift_recursion_limit(self) -> None:
        """Raise a low recursion limit, which would stop nbaccel's own code as well."""
        if sys.getrecursionlimit() < self._recursion:
            sys.setrecursionlimit(self._recursion)

    # ---- the full check

    def restore(self) -> list[str]:
        """Restore everything. Returns a change that cannot be undone, as the end of "it has …"."""
        self.lift_recursion_limit()
        self._stop_timers()  # before the handlers: an alarm without a handler ends the process
        self._restore_signals()
        left = [*self._restore_limits(), *self._restore_descriptors(), *self._restore_niceness()]
        os.umask(self._umask)
        self._restore_affinity()
        if _directory() != self._directory:
            self._return_home()
        if _identity() != self._identity:
            left.append("changed its user, its group or its root directory")
        return left

    def _stop_timers(self) -> None:
        for timer in _TIMERS:
            if signal.getitimer(timer) != _NONE:
                signal.setitimer(timer, 0)
        faulthandler: Any = sys.modules.get("faulthandler")
        if faulthandler is not None:
            faulthandler.cancel_dump_traceback_later()

    def _restore_signals(self) -> None:
        for number, handler in self._handlers.items():
            if _handler_of(number) is not handler and handler is not None:
                signal.signal(number, handler)
        if signal.pthread_sigmask(signal.SIG_BLOCK, ()) != self._mask:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _restore_limits(self) -> list[str]:
        left = []
        limit_of = resource.getrlimit
        for name, number, before in self._limits:
            now = limit_of(number)
            if now == before:
                continue
            wanted = _not_lower(now[0], before[0]), _not_lower(now[1], before[1])
            try:
                resource.setrlimit(number, wanted)
            except (OSError, ValueError):
                left.append(f"lowered {name} to {now[1]}, which only the system's administrator may undo")
        self._note_file_limits()
        return left

    def _restore_descriptors(self) -> list[str]:
        now = _files((0, *self._ours))
        if now.pop(0) is None:
            null = os.open(os.devnull, os.O_RDONLY)  # open() takes the lowest free number, which is mostly 0
            if null:
                os.dup2(null, 0)
                os.close(null)
        if now == self._files:
            return []
        replaced = [fd for fd, file in self._files.items() if now[fd] != file]
        return [f"closed or replaced descriptor {fd}, which is {self._ours[fd]}" for fd in replaced]

    def _restore_niceness(self) -> list[str]:
        now = os.getpriority(os.PRIO_PROCESS, 0)
        if now != self._niceness:
            try:
                os.setpriority(os.PRIO_PROCESS, 0, self._niceness)
            except PermissionError:
                return [f"changed its niceness to {now}, which only the system's administrator may undo"]
        return []

    def _restore_affinity(self) -> None:
        if os.sched_getaffinity(0) != self._cpus:
            try:
                os.sched_setaffinity(0, self._cpus)
            except OSError:
                self._cpus = os.sched_getaffinity(0)  # the container's CPUs have changed

    def _return_home(self) -> None:
        try:
            os.chdir(self._directory)
        except OSError:
            self._go_home()

    def _go_home(self) -> None:
        """The directory to work in does not exist any more."""
        for place in (self._shelter, "/"):
            try:
                os.chdir(place)
                break
            except OSError:
                continue  # the session's directory is gone as well
        self._directory = _directory()


def _directory() -> str:
    """The working directory, "" when it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _files(descriptors: Iterable[int]) -> dict[int, tuple[int, int] | None]:
    """Which file each descriptor is open on, None when it is closed."""
    files: dict[int, tuple[int, int] | None] = {}
    for fd in descriptors:
        try:
            facts = os.fstat(fd)
            files[fd] = facts.st_dev, facts.st_ino
        except OSError:
            files[fd] = None
    return files


def _identity() -> tuple[Any, ...]:
    root = os.stat("/")
    return os.getresuid(), os.getresgid(), root.st_dev, root.st_ino


def _not_lower(now: int, before: int) -> int:
    """The larger of two limits."""
    if resource.RLIM_INFINITY in (now, before):
        return resource.RLIM_INFINITY
    return max(now, before)


_NAME = "tqdm.notebook"


def use_text_bars() -> None:
    """Have this process import its own `tqdm.notebook` from now on."""
    sys.meta_path.insert(0, _TextBars())
    if _NAME in sys.modules:  # what was preloaded may have it
        _TextBars().exec_module(sys.modules[_NAME])


class _TextBars:
    """A finder and loader without a base: importing importlib.abc takes longer than all that this does."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == _NAME else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Have Python make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        std = importlib.import_module("tqdm.std")

        def construct(made: Any, *args: Any, display: bool = True, **kwargs: Any) -> None:
            std.tqdm.__init__(made, *args, **kwargs)  # only the widget knows `display`

        def trange(*args: Any, **kwargs: Any) -> Any:
            return bar(range(*args), **kwargs)

        bar = type("tqdm_notebook", (std.tqdm,), {"__module__": _NAME, "__init__": construct})
        vars(module).update(tqdm=bar, tqdm_notebook=bar, trange=trange, tnrange=trange)


def report_memory(done: wire.Done, terms: Terms, setup: wire.Setup | None) -> None:
    """Report the device memory that frameworks of this process use, after the task's own values are gone."""
    threshold = setup.leak_threshold if setup is not None else None
    if threshold is None:
        threshold = device_memory.DEFAULT_THRESHOLD_BYTES
    # If the process ends after its task, memory that is still held does not matter.
    report = device_memory.measure(threshold if terms.max_calls != 1 else sys.maxsize)
    done.memory_why = report.why
    done.memory = -1 if report.held_bytes is None else report.held_bytes
    done.peak = -1 if report.peak_bytes is None else report.peak_bytes


class LoadedModules:
    """Whether tasks have made this process import modules of the user's: a new process would have to do so again."""

    def __init__(self) -> None:
        self._before = _packages()
        self._count = len(sys.modules)
        self._are_users = False

    def are_users(self) -> bool:
        """Asked after each task: it costs nothing while nothing is imported."""
        if not self._are_users and len(sys.modules) != self._count:
            self._count = len(sys.modules)
            self._are_users = bool(_packages() - self._before - sys.stdlib_module_names)
        return self._are_users


def _packages() -> set[str]:
    """The first parts of the names of all modules."""
    return {name.partition(".")[0] for name in list(sys.modules)}


def is_importing(frame: FrameType | None) -> bool:
    """Whether a module is half imported now: interrupted there, it would be broken for the tasks to come."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


IDLE = "IDLE"


class ProcessTitle:
    """What `ps` shows of a worker: the function that it runs, or that it is idle.

    It is set only where it changes: to set it around each short task costs too much.
    """

    def __init__(self) -> None:
        self._shown = ""

    def show(self, title: str) -> None:
        if title != self._shown:
            setproctitle.setproctitle(f"nbaccel::{title}")
            self._shown = title


INSIST_S = 0.05  # between two signals to a task that does not stop
LONG_S = 0.001  # after a longer task, checking all that it may have changed costs little


class WorkerEngine(Client):
    """The engine as a task sees it, and the loop that runs tasks."""

    link: WorkerLink

    def __init__(self, sock: socket.socket, arena_fd: int, worker_id: bytes) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()
        link = WorkerLink(sock, self._queue, on_lost=self._leave_lost)
        view = WorkerView(self, DriverCode({}))
        super().__init__(self, link, view, 0, arena_fd, "")
        self.worker_id = worker_id
        self.setup: wire.Setup | None = None
        self._surroundings: dict[int, int] = {}  # job -> the number of those that this process took on for it
        self.execution = Execution(self)
        self.execution.answer = self.failure
        self.output = WorkerOutput()
        self.actor: ActorHost | None = None
        self.context, self.current_actor, self.exit_actor = view.context, view.current_actor, view.exit_actor
        self.report_progress, self.actor_devices = view.report_progress, view.actor_devices
        self._environment = ""  # the key of the runtime environment that this process has
        self._skip: set[bytes] = set()
        self._running: Running | None = None  # the task in the main thread, which an interrupt may hit
        self._interruptible = False
        self._to_interrupt: Running | None = None
        self._blocked_count = 0
        self._blocked_lock = threading.Lock()
        self._main_thread = threading.main_thread().ident or 0
        ours = {1: "its stdout", 2: "its stderr", arena_fd: "nbaccel's shared memory", sock.fileno(): "nbaccel's own"}
        self._state = ProcessState(ours)
        self._title = ProcessTitle()
        self._title.show(IDLE)
        self._has_run = False  # a task, since this process was last at rest
        self._in_doubt = False  # a task has run since the last full check
        self._last: Terms | None = None
        self._marked: Terms | None = None  # whose output comes
        receivers = link.receivers
        receivers[wire.RunTask] = self._queue.put
        receivers[wire.RunTasks] = self._runs_came
        receivers[wire.Setup] = self._queue.put
        receivers[wire.DefineFunction] = self._function_came
        receivers[wire.DefineTemplate] = self._template_came
        receivers[wire.ForgetFunctions] = self._functions_went
        receivers[wire.Interrupt] = self._interrupt_came
        receivers[wire.Recall] = self._recall_came
        receivers[wire.Consumed] = self._consumed_came
        receivers[wire.Exit] = lambda message: self._asked_to_leave()

    # ---- the reader thread

    def _function_came(self, message: wire.DefineFunction) -> None:
        self.execution.functions[message.key] = (message.blob, message.name)

    def _functions_went(self, message: wire.ForgetFunctions) -> None:
        code = self.execution.forget(message.keys)
        if code:  # it ends in a thread of its own: finalisers are user code
            threading.Thread(target=let_go, args=(code,), name="nbaccel-functions", daemon=True).start()

    def _template_came(self, message: wire.DefineTemplate) -> None:
        self.execution.templates[message.number] = message.terms

    def _runs_came(self, message: wire.RunTasks) -> None:
        put, template = self._queue.put, message.template
        for task_id, args in zip(message.task_ids, message.args, strict=True):
            put(wire.RunTask(task_id, template, args))

    def _interrupt_came(self, message: wire.Interrupt) -> None:
        if self.actor is not None and self.actor.cancel(message.task_id):
            return
        self._skip.add(message.task_id)  # before reading _running: the main thread sets that first and reads this next
        running = self._running
        if running is None or running.task_id != message.task_id:
            return
        self._skip.discard(message.task_id)
        running.cancelled = True
        if running.terms.kind is not ACTOR_CALL:  # a sync actor's call can only ask is_canceled()
            self._to_interrupt = running
            threading.Thread(target=self._insist, args=(running,), name="nbaccel-interrupt", daemon=True).start()

    def _insist(self, running: Running) -> None:
        """Signal until the task has taken the interrupt or has ended. A task takes none in the middle of an import."""
        while self._to_interrupt is running and self._running is running:
            signal.pthread_kill(self._main_thread, signal.SIGINT)
            time.sleep(INSIST_S)

    def _recall_came(self, message: wire.Recall) -> None:
        given: list[bytes] = []
        kept: list[Any] = []
        try:
            while True:
                item = self._queue.get_nowait()
                if type(item) is wire.RunTask and item.task_id not in self._skip:
                    given.append(item.task_id)
                    self._drop_arguments(item)
                else:
                    kept.append(item)
        except Empty:
            pass
        for item in kept:
            self._queue.put(item)
        self.link.send(wire.GivenBack(given))

    def _drop_arguments(self, run: wire.RunTask) -> None:
        stored = [id for _place, id, value in run.slots if value.data is None]
        if stored:
            self.link.send_later(wire.Unmapped(stored))

    def _consumed_came(self, message: wire.Consumed) -> None:
        running = self.find_running(message.task_id)
        if running is not None:
            running.read_up_to(message.count)

    def find_running(self, task_id: bytes) -> Running | None:
        running = self._running
        if running is not None and running.task_id == task_id:
            return running
        return self.actor.find(task_id) if self.actor is not None else None

    def _asked_to_leave(self) -> None:
        """The head asks this process to leave. An actor first runs its own end, in the main thread like its methods."""
        if self.actor is not None and self.actor.instance is not None:
            self._queue.put(None)
        else:
            self._leave()

    def _leave_lost(self, why: str) -> None:
        """The head has gone, or a task has closed our connection; before the first task the head needed us no more."""
        if self.setup is not None:
            with suppress(OSError):  # the head has gone
                os.write(2, f"This worker ends: {why}.\n".encode())
        os._exit(1)

    def _leave(self) -> None:
        """Write the pending output, then end the process immediately."""
        self.output.flush()
        os._exit(0)

    # ---- signals

    def _on_sigint(self, signum: int, frame: Any) -> None:
        wanted = self._to_interrupt
        if wanted is not None and wanted is self._running and self._interruptible and not is_importing(frame):
            self._to_interrupt = None
            raise KeyboardInterrupt

    # ---- the main thread

    def main(self) -> None:
        """Run tasks and calls until the head closes the connection or says Exit."""
        signal.signal(signal.SIGINT, self._on_sigint)
        stacks.install()
        engines.adopt(self)
        link = self.link
        link.start("worker")
        self.link.send(wire.WorkerHello(self.worker_id, os.getpid()))
        self._state.accept("/")
        self._modules = LoadedModules()
        while True:
            if self._has_run and self._queue.empty():
                self._rest()
            item = link.next_item()
            if item is NOTHING:
                continue
            if type(item) is wire.Setup:
                self._set_up(item)
                continue
            if item is None:
                self._end_of_actor()
            is_direct = type(item) is wire.DirectSubmit
            running = Running(*link.begin(item)) if is_direct else self.execution.begin(item)
            if item.task_id in self._skip:  # it was cancelled while it was queued here
                self._skip.discard(item.task_id)
                running.cancelled = True
            if running.terms.kind is ACTOR_CALL and self.actor is not None:
                self.actor.call(running)
            else:
                self._run(running)

    def _set_up(self, setup: wire.Setup) -> None:
        self.setup = setup
        self.job = setup.job
        self.namespace = setup.namespace
        self.ids = type(self.ids)(setup.job)
        if self.actor is not None:  # another job calls this actor, which stays in the surroundings of its own
            self.exports.surroundings = self._surroundings.get(setup.job, 0)
            return
        self.exports.surroundings = self._surroundings[setup.job] = setup.surroundings
        apply_setup(setup)
        if "OMP_NUM_THREADS" in setup.followed or "OMP_NUM_THREADS" in setup.env_vars:
            self.execution.may_set_threads = False
        self._state.accept(setup.directory)

    def _run(self, running: Running) -> None:
        """Run a plain task or an actor's constructor."""
        terms = running.terms
        self._title.show(terms.name)
        self.output.restore()
        if terms is not self._marked:
            self._marked = terms
            self.output.begin(terms.class_name or terms.name, terms.cell, terms.parent, running.task_id)
        self._running = running
        began = time.monotonic()
        if self._blocked_count and terms.kind is TASK:  # an interrupt cut the last task's wait short
            self._blocked_count = 0
            self.link.send(wire.Unblocked())
        if running.task_id in self._skip:
            self._skip.discard(running.task_id)
            running.cancelled = True
        if running.run.devices:
            device_memory.begin()
        done = self.guarded(running, self._work)
        if self.actor is not None and (running.leaves or done.exiting):
            self.actor.leave(exit_of_actor(running))
        self._running = None
        self._state.lift_recursion_limit()
        if running.run.devices and terms.kind is TASK:
            report_memory(done, terms, self.setup)
        self.output.end()
        done.loaded = self._modules.are_users()
        self.finish(done)
        self.execution.notified(running)
        if terms.kind is TASK:
            self._last = terms
            self._has_run = self._in_doubt = True
            if done.failed or time.monotonic() - began > LONG_S or self._state.is_disturbed():
                self._put_back()

    def prepare_to_store(self, running: Running) -> None:
        """The task's code has ended: limits that it set must not prevent writing its result."""
        if running.terms.kind is TASK and self._state.is_disturbed():
            self._state.restore()

    def _rest(self) -> None:
        """There is nothing to run now."""
        self._has_run = False
        self._title.show(IDLE)
        if self._in_doubt:
            self._put_back()

    def _put_back(self) -> None:
        """Restore what the last task changed in this process. If that fails, the process starts no further task."""
        self._in_doubt = False
        try:
            left = self._state.restore()
        except BaseException as error:  # a signal handler that the task set may raise anything
            left = [f"left a signal handler that raised {type(error).__name__}"]
        if left:
            self._leave_spoiled(left)

    def _leave_spoiled(self, left: list[str]) -> None:
        """End this process, in which a task has left what cannot be undone."""
        terms = self._last
        assert terms is not None
        self.output.flush()
        advice = "Do this in a subprocess or in an actor, or ask for max_calls=1."
        self._report_spoiled(terms, " and ".join(left), f"The task's result is not affected. {advice}")
        self.link.flush()
        os._exit(0)

    def _report_spoiled(self, terms: Terms, why: str, advice: str) -> None:
        """Tell the head that tasks which were sent ahead to this process must run elsewhere."""
        changed = asks.ProcessChanged(terms.name, why, advice, terms.cell, terms.parent)
        self.link.send(asks.notified(changed))

    def guarded(self, running: Running, work: Any) -> wire.Done:
        """Do the work, and turn any outcome of the user's code into a Done."""
        done = self._attempt(running, work)
        self.leave_fork(running, done)
        return running.ended(done)

    def _attempt(self, running: Running, work: Any) -> wire.Done:
        token = current_run.set(running)
        try:
            try:
                around = self.execution.surroundings(running)
                if around is None:
                    return self._interruptibly(running, work)
                with around:
                    return self._interruptibly(running, work)
            finally:
                self._interruptible = False
        except ActorExit:
            return exit_of_actor(running)
        except SystemExit as exit:
            self._exit(exit)
        except BaseException as error:  # the user's function may raise anything; the caller gets it
            return self.failure(running, error)
        finally:
            current_run.reset(token)

    def _interruptibly(self, running: Running, work: Any) -> wire.Done:
        self._interruptible = True
        if running.cancelled:
            raise KeyboardInterrupt
        done = work(running)
        self._interruptible = False
        return done  # type: ignore[no-any-return]

    def failure(self, running: Running, error: BaseException) -> wire.Done:
        """Make the Done of a task that raised. The error's text and pickling are user code, which may exit or hang."""
        may_end = running.terms.kind is not ACTOR_CALL  # calls have no time limit: actors may use the alarm
        try:
            with execution.limited(partial(self._give_up, running, error)) if may_end else nullcontext():
                return self.execution.failure(running, error)
        except BaseException as problem:  # the user's __str__ or __reduce__ may raise anything
            return self.execution.plain_failure(running, error, problem)

    def _give_up(self, running: Running, error: BaseException, problem: execution.TooLate) -> NoReturn:
        """The main thread hangs in the text of an error: fail the task, and end the process."""
        try:
            done = self.execution.plain_failure(running, error, problem)
            self.leave_fork(running, done)
            self.link.send(done)
            if running.terms.kind is TASK:
                why = f"raised {type(error).__name__}, whose words or pickling (__str__, __reduce__) do not end"
                self._report_spoiled(running.terms, why, "Look at these methods of the class, and at what they call.")
            self.output.flush()
            self.link.flush()
        finally:
            os._exit(1)

    def leave_fork(self, running: Running, done: wire.Done) -> None:
        """A process that the user's code forked ends where the code does: it is not the one to answer."""
        if self.link.lost is None:
            return
        if done.failed:
            sys.stderr.write(f"A process that {running.terms.name} forked ends (pid {os.getpid()}): {done.note}\n")
        self.output.flush()
        os._exit(int(done.failed))

    def _work(self, running: Running) -> wire.Done:
        run, terms = running.run, running.terms
        if terms.environment != self._environment:
            try:
                self._take_on(terms)
                set_variables(run.environ or {})  # again: its env_vars may have named other devices
            except exceptions.RuntimeEnvSetupError as error:
                return not_set_up(running, error)
        code = self.execution.code(terms, run.choice)
        args, kwargs = self.execution.arguments(running)
        if terms.kind is ACTOR_CREATION:
            return self._construct(running, code, args, kwargs)
        value = code(*args, **kwargs)
        if terms.num_returns == wire.STREAMING:
            self.execution.stream(running, value, self.link.send, self.blocked)
            return wire.Done(run.task_id, [wire.ReturnValue(wire.Value(wire.OK, codec.NONE))])
        return self.execution.results(running, value)

    def _take_on(self, terms: Terms) -> None:
        """Set up the runtime environment, once: a process serves only one."""
        assert self.setup is not None
        apply_runtime_env(msgspec.json.decode(terms.runtime_env), self.setup.directory)
        self._environment = terms.environment
        self._state.accept(self.setup.directory)

    def _construct(self, running: Running, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> wire.Done:
        run = running.run
        self.actor = ActorHost(self, running)  # before the constructor, which may ask for the runtime context
        self.actor.construct(cls, args, kwargs)
        self._title.show(running.terms.class_name)
        return wire.Done(run.task_id, [wire.ReturnValue(wire.Value(wire.OK, codec.NONE))])

    def _end_of_actor(self) -> NoReturn:
        assert self.actor is not None
        self.actor.send_goodbye()
        self.output.flush()
        self.link.flush_replies()
        os._exit(0)

    def _exit(self, exit: SystemExit) -> NoReturn:
        """sys.exit() in user code ends the process, as it would anywhere."""
        code = exit.code if isinstance(exit.code, int) else (0 if exit.code is None else 1)
        if isinstance(exit.code, str):
            sys.stderr.write(exit.code + "\n")
        if self.actor is not None:
            self.actor.send_goodbye()
        self.output.flush()
        self.link.flush_replies()
        os._exit(code)

    def finish(self, done: wire.Done) -> None:
        """Send a task's end, with every borrow that it caused before it.

        The main thread does so before it begins the next task: should that one end the process, it is the one to blame.
        """
        if self.link.reply(done):
            return
        if threading.get_ident() != self._main_thread:
            self.link.send(done)
        else:
            self.link.send_now(done)  # sent with signals blocked

    # ---- waiting for others

    @property
    def running(self) -> Running | None:
        """The task that the main thread runs."""
        return self._running

    def watch(self, callback: OnSnapshot | None, *, metrics: bool = True, rows: int = 0, reader: str = "view") -> None:
        raise exceptions.RaySystemError("Only a driver can watch snapshots, not a task.")

    def shutdown(self) -> None:
        """A task that calls shutdown() ends its own use of the cluster, which is nothing."""

    def lends_cpu(self) -> bool:
        return self.actor is None

    @contextmanager
    def blocked(self) -> Iterator[None]:
        """Let other tasks use the CPU while all of this task's code waits."""
        with self._blocked_lock:
            self._blocked_count += 1
            if self._blocked_count == 1:
                self.link.send(wire.Blocked())
        try:
            yield
        finally:
            with self._blocked_lock:
                self._blocked_count -= 1
                if self._blocked_count == 0:
                    self.link.send(wire.Unblocked())


_PROMISE: type[engines.Engine] = WorkerEngine  # mypy compares the class with the promise


def _after_fork() -> None:
    """A process that a task forked must not speak on our connection, nor keep it open when we die."""
    started: Any = engines.started()
    if isinstance(started, WorkerEngine):
        started.forget_in_child()


os.register_at_fork(after_in_child=_after_fork)


def main(fd: int, arena_fd: int, worker_id: bytes) -> None:
    """The life of a worker process, forked or executed."""
    main_module.stand_in_for_main()
    use_text_bars()
    sock = socket.socket(fileno=fd)
    os.environ[process.WORKER] = worker_id.hex()
    process.be_nice()
    WorkerEngine(sock, arena_fd, worker_id).main()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3]))
