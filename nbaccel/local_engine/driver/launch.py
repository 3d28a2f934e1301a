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
from typing import TYPE_CHECKING

from nbaccel import exceptions, roots, surroundings
from nbaccel.local_engine import process

if TYPE_CHECKING:
    from nbaccel.handles.options import InitOptions
    from nbaccel.local_engine.head.boot import Config


class HeadProcess:
    """A head's process, which first waits for its configuration. Raises OSError."""

    def __init__(self, session: str, fds: Sequence[int]) -> None:
        self.session = session
        read, write = os.pipe()
        self._configuration = os.fdopen(write, "wb")  # if it is closed empty, the process ends
        self.log = os.fdopen(os.memfd_create("head.log"), "rb")  # what it writes before it knows its directory
        try:
            self.process = _execute(session, read, self.log.fileno(), fds)
        except BaseException as error:
            self._close()
            if not isinstance(error, OSError):  # a Ctrl-C may have come before its pid was noted
                process.kill_marked(process.MARK, session)
            raise
        finally:
            os.close(read)

    def send(self, config: Config) -> None:
        """Send it its configuration: through a pipe, since everybody on the machine may read a command line, and the
        token is among it.
        """
        import msgspec

        try:
            with self._configuration as pipe:
                pipe.write(msgspec.json.encode(config))
        except BrokenPipeError:
            pass  # it ended at once: the reader of its first message learns of it

    def end(self) -> None:
        """End a process that has got no configuration, or not all of it."""
        self.process.kill()
        self.process.wait()
        self._close()

    def _close(self) -> None:
        with suppress(BrokenPipeError):  # if a Ctrl-C has left some of it unwritten
            self._configuration.close()
        self.log.close()


class OwnHead(HeadProcess):
    """One that belongs to this process, with this process's ends of its first two connections."""

    config: Config

    def __init__(self) -> None:
        self.sock, theirs = socket.socketpair()
        self.news, news_theirs = socket.socketpair()
        try:
            self.fds = theirs.fileno(), news_theirs.fileno()  # the other ends, as that process has them
            super().__init__(new_session(), self.fds)
        except BaseException:
            self._close_ours()
            raise
        finally:
            theirs.close()
            news_theirs.close()

    def end(self) -> None:
        super().end()
        self._close_ours()

    def _close_ours(self) -> None:
        self.sock.close()
        self.news.close()


_waiting: list[OwnHead] = []  # at most one, during init()


@contextmanager
def ahead() -> Iterator[None]:
    """Meanwhile a process waits that `embedded` makes a head. If nothing does, it ends without a trace."""
    try:
        _waiting.append(OwnHead())
    except OSError:
        pass  # embedded() tries again, and says why
    try:
        yield
    finally:
        while _waiting:
            _waiting.pop().end()


def embedded(options: InitOptions) -> OwnHead:
    """Start a head that belongs to this process. Raises RaySystemError."""
    try:
        head = _waiting.pop() if _waiting else OwnHead()
    except OSError as error:
        raise exceptions.RaySystemError(f"The head could not be started: {error}") from error
    config = None
    try:
        config = head.config = configure(options, shared=False, session=head.session)
        (config.driver_fd, config.news_fd), config.owner_pid = head.fds, os.getpid()
        head.send(config)
    except BaseException:  # a Ctrl-C too
        head.end()
        if config is not None:
            _remove(config)
        raise
    return head


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


def start(config: Config, fds: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start a head's process, which inherits `fds`. Raises OSError."""
    head = HeadProcess(config.session, fds)
    head.log.close()
    head.send(config)
    return head.process


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


def first_words(started: HeadProcess) -> str:
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
