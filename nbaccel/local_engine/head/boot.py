"""The first lines of a head's life: fork the zygote, then become the head.

What both need is imported before the fork, once, and they share its memory. The rest comes after it: they load it at
the same time, on two cores, and no worker carries the head's modules. Workers share the zygote's.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import socket
import sys
from typing import Any

import msgspec


class Config(msgspec.Struct):
    """The starter's decisions: descriptors, limits and the user's options."""

    session: str
    directory: str  # 0700; socket, logs, spilled objects
    arena_bytes: int
    options: dict[str, object]
    driver_fd: int = -1  # an inherited connection to the driver that started us
    news_fd: int = -1
    owner_pid: int = 0  # the driver's
    shared: bool = False
    token: str = ""
    title: str = ""
    preload: list[str] = []
    node_types: dict[str, dict[str, Any]] = {}  # virtual nodes that may come and go
    ready_fd: int = -1  # a daemon writes here that it is ready, or why not

    @property
    def leak_threshold(self) -> int | None:
        """The amount of device memory left behind that ends a worker; None for the default of each device."""
        threshold: Any = self.options.get("leak_threshold")
        return None if threshold is None else int(threshold)


def main(config_fd: int) -> None:
    """Run a head. It reads its Config as JSON from `config_fd`, because other users can read command lines, and because
    it is started before its driver knows all of it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # imports leave no garbage; the head and the zygote enable it when theirs are over
    import cloudpickle  # noqa: F401 - with the next, what both the head and the zygote need

    from nbaccel import device_memory  # noqa: F401
    from nbaccel.local_engine import process
    from nbaccel.local_engine.side_processes import zygote as _zygote  # noqa: F401
    from nbaccel.local_engine.wire import driver_questions, failures, framing  # noqa: F401
    from nbaccel.views import observer_lines, record_book, sessions, sinks  # noqa: F401

    with os.fdopen(config_fd, "rb") as pipe:
        given = pipe.read()
    if not given:
        os._exit(0)  # init() has failed, or our driver has ended: there is nothing yet to clear away
    config = msgspec.json.decode(given, type=Config)
    _write_into(os.path.join(config.directory, "head.log"))
    process.become_subreaper()
    arena_fd = make_arena(config.arena_bytes)
    zygote = _fork_zygote(config, arena_fd)
    process.raise_descriptor_limit()  # after the fork: workers keep the user's own

    from nbaccel.local_engine.head.loop import Head

    Head(config, arena_fd, zygote).run()


def _write_into(log: str) -> None:
    """Let stdout and stderr be this file, with what they have been given so far."""
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.write(fd, os.pread(2, 1 << 16, 0))
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)


def make_arena(size_bytes: int) -> int:
    """Make the store's memory with a fixed size: a shorter one would kill every process that maps it."""
    arena_fd = os.memfd_create("nbaccel-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(arena_fd, size_bytes)
    fcntl.fcntl(arena_fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return arena_fd


def _fork_zygote(config: Config, arena_fd: int) -> socket.socket:
    from nbaccel.local_engine.side_processes import zygote

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    head_pid = os.getpid()
    if os.fork() == 0:
        try:
            ours.close()
            for fd in (config.driver_fd, config.news_fd, config.ready_fd):
                if fd >= 0:
                    os.close(fd)
            import nbaccel.local_engine.worker.main  # noqa: F401 - so that every fork finds it imported
            from nbaccel.local_engine.side_processes import zygote

            zygote.serve(theirs, head_pid, arena_fd, config.preload)
        finally:
            os._exit(1)
    theirs.close()
    return ours


if __name__ == "__main__":
    main(int(sys.argv[1]))
