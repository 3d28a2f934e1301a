"""Starting a head's process. Little is imported here: the head boots while its driver loads the rest.

```
  init() ──► ahead() ──► spawn ──► the process imports … ── waits for its configuration ──► becomes the head
               │ the driver imports, checks the options ──► embedded() ── configuration ──┘
               └─ at its end: what embedded() has not taken ends
```
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from nbaccel import exceptions, roots, surroundings
from nbaccel.local_engine import process

if TYPE_CHECKING:
    from nbaccel.handles.options import InitOptions
    from nbaccel.local_engine.head.boot import Config


class Spawned(NamedTuple):
    """A head's process that waits for its configuration."""

    session: str
    process: subprocess.Popen[bytes]
    configuration: IO[bytes]  # it reads this; if it is closed empty, the process ends
    log: IO[bytes]  # what it writes before it knows its directory


class Waiting(NamedTuple):
    """Such a process that is to belong to this one, and this process's ends of its first two connections."""

    spawned: Spawned
    fds: tuple[int, int]  # the other ends, as that process has them
    sock: socket.socket
    news: socket.socket


class Started(NamedTuple):
    """A head that is starting, and this process's ends of its first two connections."""

    process: subprocess.Popen[bytes]
    config: Config
    sock: socket.socket
    news: socket.socket
    log: IO[bytes]


_waiting: list[Waiting] = []  # at most one, during init()


@contextmanager
def ahead() -> Iterator[None]:
    """Meanwhile a process waits that `embedded` makes a head. If nothing does, it ends without a trace."""
    try:
        _waiting.append(_wait())
    except OSError:
        pass  # embedded() tries again, and says why
    try:
        yield
    finally:
        while _waiting:
            _end(_waiting.pop())


def embedded(options: InitOptions) -> Started:
    """Start a head that belongs to this process. Raises RaySystemError."""
    try:
        waiting = _waiting.pop() if _waiting else _wait()
    except OSError as error:
        raise exceptions.RaySystemError(f"The head could not be started: {error}") from error
    config = None
    try:
        config = configure(options, shared=False, session=waiting.spawned.session)
        (config.driver_fd, config.news_fd), config.owner_pid = waiting.fds, os.getpid()
        send(waiting.spawned, config)
    except BaseException:  # a Ctrl-C too
        _end(waiting)
        if config is not None:
            _remove(config)
        raise
    return Started(waiting.spawned.process, config, waiting.sock, waiting.news, waiting.spawned.log)


def _wait() -> Waiting:
    ours, theirs = socket.socketpair()
    news_ours, news_theirs = socket.socketpair()
    try:
        fds = theirs.fileno(), news_theirs.fileno()
        return Waiting(spawn(new_session(), fds), fds, ours, news_ours)
    except BaseException:
        ours.close()
        news_ours.close()
        raise
    finally:
        theirs.close()
        news_theirs.close()


def _end(waiting: Waiting) -> None:
    """End a process that no configuration will reach."""
    spawned = waiting.spawned
    spawned.process.kill()
    spawned.process.wait()
    with suppress(BrokenPipeError):  # if a Ctrl-C has left some of it unwritten
        spawned.configuration.close()
    spawned.log.close()
    waiting.sock.close()
    waiting.news.close()


def new_session() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(4).hex()}"


def configure(options: InitOptions, *, shared: bool, session: str = "") -> Config:
    from nbaccel.local_engine.head.boot import Config
    from nbaccel.views import sessions

    directory = _make_directory()
    asked = {
        name: getattr(options, name)
        for name in (
            "num_cpus",
            "num_gpus",
            "resources",
            "labels",
            "memory",
            "gpu_vendor",
            "simulate",
            "hide_unassigned",
            "leak_threshold",
            "infeasible",
        )
    }
    return Config(
        session=session or new_session(),
        directory=directory,
        arena_bytes=options.object_store_memory or _default_store_bytes(),
        options=asked,
        shared=shared,
        token=os.urandom(16).hex(),
        title=sessions.title(),
        preload=list(options.preload),
        node_types=options.node_types or {},
    )


def _make_directory() -> str:
    """A private directory for the socket, logs and spilled objects. Raises RaySystemError."""
    from nbaccel.views import sessions

    try:
        return sessions.make_directory()
    except OSError as error:
        raise exceptions.RaySystemError(
            f"The head has no directory for its socket and logs: {error}. {sessions.advice(error, 'TMPDIR')}, with a "
            f"path of at most {sessions.LONGEST_PLACE} bytes."
        ) from error


def _default_store_bytes() -> int:
    """30 % of the machine's memory, as Ray: nothing of it is taken before it is written."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 0.3)


def start(config: Config, fds: list[int]) -> subprocess.Popen[bytes]:
    """Start a head's process, which inherits `fds`. Raises OSError."""
    spawned = spawn(config.session, fds)
    spawned.log.close()
    send(spawned, config)
    return spawned.process


def send(spawned: Spawned, config: Config) -> None:
    """Send a process its configuration: through a pipe, since everybody on the machine may read a command line, and the
    token is among it.
    """
    import msgspec

    try:
        with spawned.configuration as pipe:
            pipe.write(msgspec.json.encode(config))
    except BrokenPipeError:
        pass  # it ended at once: the reader of its first message learns of it


def spawn(session: str, fds: Sequence[int]) -> Spawned:
    """Start a process that inherits `fds` and waits for its configuration. Raises OSError."""
    read, write = os.pipe()
    configuration, log = os.fdopen(write, "wb"), os.fdopen(os.memfd_create("head.log"), "rb")
    try:
        return Spawned(session, _execute(session, read, log.fileno(), fds), configuration, log)
    except BaseException as error:
        configuration.close()
        log.close()
        if not isinstance(error, OSError):  # a Ctrl-C may have come when it was there and its pid had not been noted
            process.kill_marked(process.MARK, session)
        raise
    finally:
        os.close(read)


def _execute(session: str, config_fd: int, log_fd: int, fds: Sequence[int]) -> subprocess.Popen[bytes]:
    code = (
        f"import sys; sys.path.insert(0, {roots.SYS_PATH_ENTRY!r}); "
        f"from nbaccel.local_engine.head.boot import main; main({config_fd})"
    )
    return subprocess.Popen(
        [sys.executable, "-u", "-c", code],
        pass_fds=[config_fd, *fds],
        stdin=subprocess.DEVNULL,
        stdout=log_fd,
        stderr=log_fd,
        cwd="/",
        start_new_session=True,  # the Stop button signals the kernel's whole group
        # SPT_NOENV: else setproctitle writes over /proc/<pid>/environ, where the mark is looked for.
        env={**surroundings.without_forced_colour(), process.MARK: session, "SPT_NOENV": "1"},
    )


def first_words(started: Started) -> str:
    """The last line of what a head wrote before it knew its directory."""
    lines = os.pread(started.log.fileno(), 1 << 16, 0).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def discard(process: subprocess.Popen[bytes], config: Config) -> None:
    """End an unused head, and remove its files."""
    process.kill()
    process.wait()
    _remove(config)


def _remove(config: Config) -> None:
    import shutil

    from nbaccel.views import sessions

    sessions.withdraw(config.session)
    shutil.rmtree(config.directory, ignore_errors=True)
