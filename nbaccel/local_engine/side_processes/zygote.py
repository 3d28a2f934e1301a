"""The fork server: a process that has imported what workers need and forks them in a few milliseconds.

```
  head ── "worker", pipes ──► zygote ── fork ──► in-between ── fork ──► worker (its parent becomes the head)
                                 └── waits for the in-between, which leaves at once
```
The double fork makes every worker the head's child: the head reaps it, and a dead zygote kills nobody. The zygote has
one thread and runs no user code, apart from importing what the user asked to preload.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import sys
import sysconfig
from typing import Any

import msgspec
import setproctitle

from nbaccel import proc
from nbaccel.local_engine import process, wire
from nbaccel.local_engine.worker.worker_output import redirect

# Names of threads that cope with a fork by themselves.
HARMLESS_THREADS = {
    "jemalloc_bg_thd",  # of pyarrow: jemalloc stops it before a fork, and starts it again in the parent alone
}
_DEVICE_FILES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/accel", "/dev/davinci", "/dev/neuron", "/dev/dxg")


LONGEST_REASON = 1000  # characters: all reasons together are one message of at most 64 KB


class Order(msgspec.Struct, array_like=True):
    """Start a process in this role; descriptors come with the message."""

    role: str  # "worker", "log", "prober", "mover"
    id: bytes = b""
    how: str = "fork"
    env_vars: dict[str, str] = {}
    argument: str = ""
    environment: bytes = b"{}"  # JSON: the runtime_env of a worker that is started with exec


class Report(msgspec.Struct, array_like=True):
    """The result of preloading, by module: "" or why the module was not preloaded."""

    preloaded: dict[str, str]


# What workers with a preloaded library are likely to import next. Each process of a training run would import the
# first by itself: with it here, a worker group of two begins in less than half the time. torch imports `_dynamo` when
# a process makes its first optimizer: 1.7 s of computing, and 18 ms with it here (torch 2.13, x86_64).
_COMPANIONS = {"torch": ("nbaccel.train.torch.config", "torch._dynamo")}


# What tasks use of `nbaccel` itself, whose names are imported on their first use: no worker waits for it.
_OF_TASKS = ("nbaccel.api", "nbaccel.runtime_context", "nbaccel.handles.remote")


# What only some tasks need: imported when no order has come for a while.
_OF_SOME_TASKS = ["concurrent.futures.thread", "asyncio"]
_IDLE_MS = 300


def serve(control: socket.socket, head_pid: int, arena_fd: int, preload: list[str]) -> None:
    """Fork processes on request until the head goes away."""
    setproctitle.setproctitle("nbaccel::zygote")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    process.die_with_parent(head_pid)
    for name in _OF_TASKS:
        importlib.import_module(name)
    sysconfig.get_paths()  # it reads a large table, and each worker would
    _ = wire.decode_to_client  # made here once: it takes 5 ms, a third of the CPU of a worker's start
    gc.enable()
    gc.freeze()  # the children share these pages until they are written
    if preload:
        outcome = {name: _preload(name) for name in preload}
        gc.freeze()
        control.send(msgspec.msgpack.encode(Report(outcome)))
    later = list(_OF_SOME_TASKS)
    orders = select.poll()
    orders.register(control, select.POLLIN)
    while True:
        if later and not orders.poll(_IDLE_MS):
            importlib.import_module(later.pop(0))
            _ = wire.decode_to_callee  # of actors
            gc.freeze()
            continue
        body, fds, _flags, _address = socket.recv_fds(control, 65536, 8)
        if not body:
            os._exit(0)
        order = msgspec.msgpack.decode(body, type=Order)
        try:
            middle = os.fork()
        except OSError:
            middle = -1  # no process could be made: the head sees the worker's connection close
        if middle == 0:
            _in_between(order, fds, control, head_pid, arena_fd)
        for fd in fds:
            os.close(fd)
        if middle > 0:
            os.waitpid(middle, 0)


def _in_between(order: Order, fds: list[int], control: socket.socket, head_pid: int, arena_fd: int) -> None:
    """Fork the requested process and exit."""
    middle = os.getpid()
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        os._exit(1)  # no process could be made: the head sees the worker's connection close
    code = 1
    try:
        control.close()
        while os.getppid() == middle:
            os.sched_yield()
        os.setsid()
        process.die_with_parent(head_pid)
        _become(order, fds, arena_fd)
        code = 0
    except BaseException as error:  # this process ends here: it must not return into the zygote's loop
        sys.excepthook(type(error), error, error.__traceback__)
        sys.stderr.flush()
    os._exit(code)


def _become(order: Order, fds: list[int], arena_fd: int) -> None:
    if order.role == "worker":
        redirect(fds[1], fds[2])
        process.prefer_as_victim()
        if order.how == "exec":
            _exec_worker(order, fds[0], arena_fd)
        os.environ.update(order.env_vars)
        _reseed()
        from nbaccel.local_engine.worker import main as worker

        worker.main(fds[0], arena_fd, order.id)
    else:
        module = importlib.import_module(f"nbaccel.local_engine.side_processes.{order.role}")
        setproctitle.setproctitle(f"nbaccel::{order.role}")
        module.main(socket.socket(fileno=fds[0]), arena_fd, order.argument)


def _exec_worker(order: Order, fd: int, arena_fd: int) -> None:
    from nbaccel import package_environments, roots
    from nbaccel.local_engine.worker import worker_setup

    os.set_inheritable(fd, True)
    os.set_inheritable(arena_fd, True)
    start = (
        f"import sys; sys.path.insert(0, {roots.SYS_PATH_ENTRY!r}); "
        "from nbaccel.local_engine.worker.main import main; "
        "from nbaccel.local_engine.worker.worker_output import wrap; wrap(); "
        f"main({fd}, {arena_fd}, bytes.fromhex({order.id.hex()!r}))"
    )
    environ = {**os.environ, **worker_setup.for_exec(order.env_vars, os.environ)}
    command = [sys.executable]
    try:
        command = package_environments.command_for(msgspec.json.decode(order.environment)) or command
    except Exception as error:  # the worker's tasks report the error, whatever it is
        environ[worker_setup.SETUP_ERROR] = str(error)[: worker_setup.MOST_ERROR]
    os.execve(command[0], [*command, "-c", start], environ)


def _reseed() -> None:
    """Reseed the random generators, so that two forks do not draw the same numbers."""
    random: Any = sys.modules.get("random")
    if random is not None:
        random.seed()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def _preload(name: str) -> str:
    """Import a module for all later workers. Returns "" or why each worker has to import it itself."""
    try:
        importlib.import_module(name)
        for companion in _COMPANIONS.get(name, ()):
            importlib.import_module(companion)
    except Exception as error:  # whatever a module's import raises
        return f"importing {name} failed: {type(error).__name__}: {str(error)[:LONGEST_REASON]}"
    driver = _open_device()
    if driver:
        return f"{name} opened {driver}: a driver does not survive a fork"
    threads = [thread for thread in _other_threads() if thread not in HARMLESS_THREADS]
    extra = len(threads) - _fork_safe_threads()
    if extra > 0:
        words = ", ".join(sorted(set(threads)))
        return f"{name} left {extra} running thread(s), which do not survive a fork (of those named {words})"
    return ""


def _other_threads() -> list[str]:
    """The names of all threads of this process except the first."""
    names = []
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            try:
                names.append(proc.name(os.getpid(), int(thread)))
            except OSError:
                pass  # the process has just ended
    return names


def _open_device() -> str:
    for fd in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
        if target.startswith(_DEVICE_FILES):
            return target
    return ""


def _fork_safe_threads() -> int:
    """Count the threads of OpenBLAS, which stops and restarts them around a fork."""
    if "numpy" not in sys.modules and "scipy" not in sys.modules and "torch" not in sys.modules:
        return 0
    import threadpoolctl

    return sum(
        max(lib["num_threads"] - 1, 0) for lib in threadpoolctl.threadpool_info() if lib["internal_api"] == "openblas"
    )


def main(fd: int, head_pid: int, arena_fd: int, preload: list[str]) -> None:
    """Run a zygote that was executed, not forked: after the first one died, as its successor, or for another
    interpreter.
    """
    process.die_with_parent(head_pid)
    import nbaccel.local_engine.worker.main  # noqa: F401 - so that every fork finds it imported

    serve(socket.socket(fileno=fd), head_pid, arena_fd, preload)
