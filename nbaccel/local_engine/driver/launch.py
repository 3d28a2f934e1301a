"""Starting a head's process. Little is imported here: the head boots while its driver loads the rest."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from typing import NamedTuple

import msgspec

from nbaccel import exceptions, roots, surroundings
from nbaccel.handles.options import InitOptions
from nbaccel.local_engine.head.boot import MARK, Config
from nbaccel.views import sessions


class Started(NamedTuple):
    """A head that is starting, and this process's ends of its first two connections."""

    process: subprocess.Popen[bytes]
    config: Config
    sock: socket.socket
    news: socket.socket


def embedded(options: InitOptions) -> Started:
    """Start a head that belongs to this process. Raises RaySystemError."""
    ours, theirs = socket.socketpair()
    news_ours, news_theirs = socket.socketpair()
    config = configure(options, shared=False)
    config.driver_fd, config.news_fd, config.owner_pid = theirs.fileno(), news_theirs.fileno(), os.getpid()
    try:
        process = start(config, [theirs.fileno(), news_theirs.fileno()])
    except BaseException as error:
        _forget(config)
        ours.close()
        news_ours.close()
        if not isinstance(error, OSError):
            raise
        raise exceptions.RaySystemError(f"The head could not be started: {error}") from error
    finally:
        theirs.close()
        news_theirs.close()
    return Started(process, config, ours, news_ours)


def configure(options: InitOptions, *, shared: bool) -> Config:
    session = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(4).hex()}"
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
    from nbaccel.views import sessions

    return Config(
        session=session,
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
    read, write = os.pipe()
    try:
        process = _execute(config, read, fds)
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)
    try:  # through a pipe, since everybody on the machine may read a command line, and the token is among it
        with os.fdopen(write, "wb") as pipe:
            pipe.write(msgspec.json.encode(config))
    except BrokenPipeError:
        pass  # it ended at once: the reader of its first message learns of it
    return process


def _execute(config: Config, config_fd: int, fds: list[int]) -> subprocess.Popen[bytes]:
    code = (
        f"import sys; sys.path.insert(0, {roots.SYS_PATH_ENTRY!r}); "
        f"from nbaccel.local_engine.head.boot import main; main({config_fd})"
    )
    with open(os.path.join(config.directory, "head.log"), "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-u", "-c", code],
            pass_fds=[config_fd, *fds],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,  # the Stop button signals the kernel's whole group
            # SPT_NOENV: else setproctitle writes over /proc/<pid>/environ, where the mark is looked for.
            env={**surroundings.without_forced_colour(), MARK: config.session, "SPT_NOENV": "1"},
        )


def discard(process: subprocess.Popen[bytes], config: Config) -> None:
    """End an unused head, and remove its files."""
    process.kill()
    process.wait()
    sessions.withdraw(config.session)
    shutil.rmtree(config.directory, ignore_errors=True)


def _forget(config: Config) -> None:
    """After a start that failed: a Ctrl-C may have come when the head was there and its pid had not been noted."""
    from nbaccel.local_engine import process

    process.kill_marked(MARK, config.session)
    sessions.withdraw(config.session)
    shutil.rmtree(config.directory, ignore_errors=True)
