"""The driver: starts or joins a head, and is the engine of a notebook or script.

```
  embedded   init() ── exec ──► head     (ends with us; we hold both ends of its first connections)
  shared     init(address="auto") ── unix socket + token ──► a head that `nbaccel start --head` started
```
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from nbaccel import engine as engines
from nbaccel import exceptions, surroundings
from nbaccel.handles.code_facts import CodeFacts
from nbaccel.handles.options import InitOptions
from nbaccel.local_engine import process, wire
from nbaccel.local_engine.client import submitter
from nbaccel.local_engine.client.calls import Client
from nbaccel.local_engine.client.direct_calls import ActorClient
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.object_client import REDUCERS
from nbaccel.local_engine.client.submitter import DriverCode
from nbaccel.local_engine.driver import launch
from nbaccel.local_engine.stall_timer import StallTimer
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures, framing
from nbaccel.views import sessions, sinks
from nbaccel.views.snapshot import OnSnapshot, Snapshot, decoder

START_TIMEOUT_S = 90.0  # the devices may take long to answer, and a head that dies is seen at once
END_TIMEOUT_S = 15.0
DIRECT_CALLS = "1"  # whether calls of actors may be sent directly to them, unless the environment says it
GONE_WITHIN_S = 1.0  # of its connections' end, a head that has died


class Driver(Client):
    """The engine as the user's own process sees it."""

    def __init__(
        self, sock: socket.socket, arena_fd: int, welcome: wire.Welcome, head: Any, options: InitOptions
    ) -> None:
        link = Link(sock, on_lost=self._head_lost)
        code = DriverCode(submitter.spelled_out(options.runtime_env))
        super().__init__(self, link, code, welcome.job, arena_fd, welcome.namespace)
        self.welcome = welcome
        self.options = options
        self.news: News | None = None
        self.await_output = self._await_output
        self._is_shut_out = False  # the head has ended our connection and lives on
        self._head_process = head
        self._pid = os.getpid()
        self._ended = False
        link.receivers[wire.PagesReady] = self._writer.window.pages_ready
        if os.environ.get("NBACCEL_DIRECT_CALLS", DIRECT_CALLS) == "1":
            self.direct = ActorClient(link, self.references, self.values)
        self.exports.look_around = SurroundingsSender(link, options.code_search_path).look
        link.start("driver")
        atexit.register(self._at_exit)

    @property
    def embedded(self) -> bool:
        return self._head_process is not None

    # ---- facts

    def context(self) -> CodeFacts:
        job = self.job.to_bytes(4, "big").hex()
        return CodeFacts(
            job_id=job,
            node_id=self.welcome.node_id.hex(),
            worker_id="ff" * 20 + job + "00000000",
            namespace=self.namespace,
            session_name=self.welcome.session,
            session_dir=self.welcome.directory,
            address=os.path.join(self.welcome.directory, "head.sock"),
            runtime_env=_as_json(self.options.runtime_env or {}),
        )

    def current_actor(self) -> Any:
        raise RuntimeError("This code does not run in an actor.")

    def exit_actor(self) -> None:
        raise TypeError("exit_actor() was called, but this code does not run in an actor.")

    def report_progress(self, done: float, total: float) -> None:
        """Do nothing: there is no task."""

    def watch(self, callback: OnSnapshot | None, *, metrics: bool = True, rows: int = 0, reader: str = "view") -> None:
        assert self.news is not None
        self.news.watch(callback, metrics=metrics, rows=rows, reader=reader)

    def _await_output(self, timeout_s: float) -> None:
        if self.news is not None:
            self.news.await_lines(timeout_s)

    # ---- the end

    def _head_lost(self, why: str) -> None:
        """The head is gone: end every wait. Called by the reader thread."""
        is_gone = self.embedded or _ends(self.welcome.head_pid, GONE_WITHIN_S)
        what = f"The head has ended unexpectedly: {why}.{self._last_words()}" if is_gone else f"Lost the head: {why}."
        message = f"{what} What had not been fetched is lost; call nbaccel.init() again."
        self.link.lost = message
        self._is_shut_out = not is_gone
        self.values.lose_all(failures.failed("HeadDiedError", message))
        self.streams.lose_all()
        if is_gone:  # a shared head that lives serves others
            process.kill_marked(
                process.MARK, self.welcome.session
            )  # processes that its workers had started; they die with it
            self._remove_rest()

    def _last_words(self) -> str:
        """The last lines of the head's own log."""
        if not self.embedded:
            return ""
        status = wait_for_end(self._head_process, 5.0)
        words = f" It {_words(status)}." if status is not None else ""
        last = _last_line(self.welcome.directory)
        return words + (f" The last lines of its log: {last}" if last else "")

    def shutdown(self) -> None:
        """Leave the head; an embedded head ends with this process. The workers' output is shown first."""
        if self._ended or self._pid != os.getpid():
            return
        self._ended = True
        atexit.unregister(self._at_exit)
        self.link.leave()
        if self.news is not None:
            self.news.stop_watching()
            self.news.welcomed(END_TIMEOUT_S)
        self.link.take_ended()  # the head learns of refs that have ended, and so of unread errors
        if self.direct is not None:
            self.direct.report()
        self.link.send(wire.Bye(stop_head=self.embedded))
        self.link.flush()
        if self.news is not None and not self._is_shut_out:  # such a head has heard no goodbye to answer
            self.news.drain(END_TIMEOUT_S)
        if self.embedded:
            self._end_head()
        self.link.close()
        if self.direct is not None:
            self.direct.close()
        self.values.lose_all(
            failures.failed("HeadDiedError", "nbaccel.shutdown() was called while this value was awaited.")
        )
        self.streams.lose_all()
        if self.news is not None:
            self.news.close()
        self._writer.close()
        os.close(self._arena_fd)

    def _end_head(self) -> None:
        if wait_for_end(self._head_process, END_TIMEOUT_S) is None:
            os.killpg(self._head_process.pid, signal.SIGKILL)
            wait_for_end(self._head_process, END_TIMEOUT_S)
            process.kill_marked(process.MARK, self.welcome.session)
        self._remove_rest()

    def _remove_rest(self) -> None:
        """Remove everything that a crashed head left behind."""
        if self.embedded:
            sessions.withdraw(self.welcome.session)
            if os.path.exists(self.welcome.directory):
                import shutil

                shutil.rmtree(self.welcome.directory, ignore_errors=True)

    def _at_exit(self) -> None:
        if self._pid == os.getpid():
            engines.process_ends()
            self.shutdown()
            if engines.started() is self:
                engines.adopt(None)

    def forget(self) -> None:
        """Forget the engine in a forked child: it belongs to the parent."""
        self._ended = True
        atexit.unregister(self._at_exit)
        self.link.forget()
        if self.direct is not None:
            self.direct.forget()
        if self.news is not None:
            self.news.link.forget()
        os.close(self._arena_fd)


def _as_json(environment: dict[str, Any]) -> str:
    if not environment:
        return "{}"
    import json

    return json.dumps(environment, default=str)


_PROMISE: type[engines.Engine] = Driver  # mypy compares them


def _ends(pid: int, timeout_s: float) -> bool:
    """Whether this process, which may be nobody's child of ours, has ended or does so soon."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        poll = select.poll()  # select() takes no descriptor beyond 1023
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(fd)


def wait_for_end(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """The exit status of a process; None if it has not ended within so many seconds."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None


def _last_line(directory: str) -> str:
    """The last line of a head's own log."""
    try:
        with open(os.path.join(directory, "head.log"), errors="replace") as file:
            lines = file.read().strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def _words(status: int) -> str:
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"exited with code {status}"


# ---- starting and joining


def take_over(started: launch.OwnHead, options: InitOptions) -> Driver:
    """Connect to the head that was just started for this process."""
    try:
        arena_fd, welcome = _handshake(started.sock, options, started.config.token)
        driver = Driver(started.sock, arena_fd, welcome, started.process, options)
        driver.news = News(driver, log_to_driver=options.log_to_driver, sock=started.news, token=started.config.token)
    except BaseException as error:  # a Ctrl-C too: nobody would ever use this head
        started.sock.close()
        started.news.close()
        words = _last_line(started.config.directory) or launch.first_words(started)
        launch.discard(started.process, started.config)
        started.log.close()
        if words and isinstance(error, exceptions.RaySystemError):
            raise exceptions.RaySystemError(f"{error} The last lines of its log: {words}") from error
        raise
    started.log.close()
    # Heads that were killed together with their drivers have left directories, with all that they had spilled.
    threading.Thread(target=sessions.find, name="nbaccel-sweep", daemon=True).start()
    return driver


def join(record: sessions.SessionRecord, options: InitOptions) -> Driver:
    """Connect to a running head."""
    size, most = len(wire.frame([hello("driver", record.token, options)])), framing.MOST_BYTES_BEFORE_TOKEN
    if size > most:
        raise ValueError(
            f"The options that init() sends to the head of pid {record.pid} take {size:,} bytes, most of them for "
            f"runtime_env. A shared head reads at most {most:,} bytes before it has accepted a connection. Pass long "
            "values of env_vars in a file of the working_dir, or start a head of your own."
        )
    sock = _connect(record.socket)
    try:
        arena_fd, welcome = _handshake(sock, options, record.token)
    except BaseException as error:
        sock.close()
        if isinstance(error, ValueError):
            raise ConnectionError(f"The head of pid {record.pid} refused: {error}") from error
        raise
    driver = Driver(sock, arena_fd, welcome, None, options)
    driver.news = News(driver, log_to_driver=options.log_to_driver, sock=_connect(record.socket), token=record.token)
    return driver


def _connect(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(path)
    except OSError as error:
        sock.close()
        hint = "`nbaccel status` shows those that run."
        if isinstance(error, PermissionError):
            hint = "It belongs to another user: call nbaccel.init() without an address for a head of your own."
        raise ConnectionError(f"No head answers at {path}: {error.strerror}. {hint}") from error
    return sock


def start_daemon(
    options: InitOptions, title: str = "nbaccel start --head", *, with_us: bool = False
) -> sessions.SessionRecord:
    """Start a head that several notebooks may share; it outlives this process, or ends `with_us`."""
    config = launch.configure(options, shared=True)
    config.title = title
    config.owner_pid = os.getpid() if with_us else 0
    read, write = os.pipe()
    config.ready_fd = write
    process = launch.start(config, [write])
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    if said != "ready":
        launch.discard(process, config)
        raise ValueError(said or f"The head ended at once ({_words(process.returncode)}).")
    process.returncode = 0  # it is not our child to wait for: it lives on without us
    for record in sessions.find():
        if record.session == config.session:
            return record
    raise exceptions.RaySystemError("The head ended right after its start.")


def hello(role: str, token: str, options: InitOptions | None, job: int = 0) -> wire.Hello:
    """The driver's greeting."""
    main = sys.modules.get("__main__")
    variables = dict(((options.runtime_env if options else None) or {}).get("env_vars") or {})
    if options is not None and hasattr(options.logging_config, "variables"):
        variables |= options.logging_config.variables()
    return wire.Hello(
        role,
        token,
        os.getpid(),
        wire.VERSION,
        "{}.{}".format(*sys.version_info),
        sys.prefix,
        sessions.title(),
        import_path(options.code_search_path if options else []),
        surroundings.working_directory(),
        (options.namespace if options else None) or "",
        msgspec.json.encode({"env_vars": variables} if variables else {}),
        job,
        surroundings.absolute(getattr(main, "__file__", "") or ""),
        options.infeasible if options else "",
        surroundings.log_levels(),
    )


def _handshake(sock: socket.socket, options: InitOptions, token: str) -> tuple[int, wire.Welcome]:
    """Greet the head. Returns the arena's descriptor and the head's welcome. Raises the head's objection."""
    sock.settimeout(START_TIMEOUT_S)
    try:
        try:
            sock.sendall(wire.frame([hello("driver", token, options)]))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it closed its end, but not without a word
        data, fds, _flags, _address = socket.recv_fds(sock, 1 << 16, 1)
    except TimeoutError:
        raise exceptions.RaySystemError(f"The head has not answered within {START_TIMEOUT_S:g} s.") from None
    except OSError as error:
        raise exceptions.RaySystemError(f"The head ended while it started ({error.strerror}).") from error
    if not data:
        raise exceptions.RaySystemError("The head ended while it started.")
    sock.settimeout(None)
    first = _first_word(data)
    if isinstance(first, wire.Refused):
        raise ValueError(first.message)
    if not isinstance(first, wire.Welcome):
        raise exceptions.RaySystemError("The process that answers is not a head of this version of nbaccel.")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return fds[0], first


def _first_word(data: bytes) -> Any:
    try:
        return next(iter(framing.FrameReader(wire.decode_to_client).feed(data)), None)
    except framing.Unreadable:
        return None


def _after_fork() -> None:
    """A forked child must not speak on its parent's connections."""
    started = engines.started()
    if isinstance(started, Driver):
        started.forget()
        engines.disown(Driver, **REDUCERS)


os.register_at_fork(after_in_child=_after_fork)


class SurroundingsSender:
    """Of one driver. Equal surroundings have one number, so that workers of before are used again."""

    def __init__(self, link: Link, code_search_path: Sequence[str]) -> None:
        self._link = link
        self._code_search_path = code_search_path
        self._changes = surroundings.ChangesSinceInit()
        self._numbers = {wire.encode_body(self._message(0)): 0}
        self._number = 0

    def look(self, cell: bytes) -> int:
        """The number of the present surroundings; `cell` is the notebook message that runs now."""
        if self._changes.look():
            body = wire.encode_body(self._message(0))
            if body not in self._numbers:
                self._link.send(self._message(len(self._numbers)))
                self._numbers[body] = len(self._numbers)
            self._number = self._numbers[body]
            self._show(cell)
        return self._number

    def _message(self, number: int) -> wire.Surroundings:
        path, directory = import_path(self._code_search_path), surroundings.working_directory()
        return wire.Surroundings(number, path, directory, self._changes.variables, surroundings.log_levels())

    def _show(self, cell: bytes) -> None:
        news = self._changes.news()
        if news:
            words = f"Workers now see {news}. Living actors keep what they had."
            sinks.installed.notice(sinks.Notice("surroundings", words, cell))


def import_path(code_search_path: Sequence[str]) -> list[str]:
    """Where workers look for modules."""
    return [*map(surroundings.absolute, code_search_path), *surroundings.import_path()]


_LOOK_S = 0.1  # between two looks whether lines still come


class _Reader(Struct, frozen=True):
    """Who reads snapshots, and what it asks for."""

    callback: OnSnapshot
    metrics: bool
    rows: int


class News:
    """Reads the news of one job."""

    def __init__(
        self, driver: Driver, *, log_to_driver: bool, sock: socket.socket | None = None, token: str = ""
    ) -> None:
        from nbaccel.local_engine.driver.engine import hello

        assert sock is not None
        self._show = log_to_driver
        self._job = driver.job
        self._drained = threading.Event()
        self._shown = 0  # messages with lines
        self._readers: dict[str, _Reader] = {}  # of snapshots, by name
        self._asking = threading.Lock()  # requests of two readers must not overtake each other
        self._ended = False  # there will be no further snapshot
        self.link = Link(sock, on_lost=lambda why: self._lost())
        receivers = self.link.receivers
        receivers[wire.Lines] = self._lines
        receivers[wire.NoticeMessage] = self._notice
        receivers[wire.SnapshotMessage] = self._snapshot
        receivers[wire.LogsDrained] = lambda message: self._drained.set()
        receivers[wire.Refused] = lambda message: self._drained.set()
        self.link.start("news")
        self.link.send(hello("news", token, None, driver.job))

    def _lines(self, message: wire.Lines) -> None:
        if self._show:
            sinks.installed.lines(
                sinks.Printed(message.name, message.pid, message.stream, message.text, message.parent)
            )
        self._shown += 1

    def _notice(self, message: wire.NoticeMessage) -> None:
        if message.kind == wire.UNREAD and os.environ.get("RAY_IGNORE_UNHANDLED_ERRORS") == "1":  # as for Ray's own
            return
        sinks.installed.notice(sinks.Notice(message.kind, message.message, message.parent, message.task_id))

    def _snapshot(self, message: wire.SnapshotMessage) -> None:
        readers = list(self._readers.values())
        if readers:
            snapshot: Snapshot = decoder(Snapshot).decode(message.body)
            snapshot.runtime.job = self._job
            for reader in readers:
                reader.callback(snapshot)

    def watch(self, callback: OnSnapshot | None, *, metrics: bool, rows: int, reader: str) -> None:
        """Call back with each snapshot from now on, and with None at the end, which may already have come.

        The head sends what all readers together ask for, and a snapshot at once for the new one.
        """
        with self._asking:
            if callback is None:
                self._readers.pop(reader, None)
            else:
                self._readers[reader] = _Reader(callback, metrics, rows)
            wanted = list(self._readers.values())
            if not self._ended:
                any_metrics = any(each.metrics for each in wanted)
                rows = max((each.rows for each in wanted), default=0)
                self.link.send(wire.Watch(bool(wanted), any_metrics, rows))
        if self._ended:
            self.stop_watching()

    def stop_watching(self) -> None:
        """The cluster ends: tell each reader once, and stop calling them."""
        self._ended = True
        while self._readers:
            with suppress(KeyError):  # another thread has taken the last one
                self._readers.popitem()[1].callback(None)

    def _lost(self) -> None:
        self._drained.set()
        self.stop_watching()

    def welcomed(self, timeout_s: float) -> None:
        """Wait until the head knows this connection: what it has to say to us is not lost when it is told to end."""
        with suppress(exceptions.RayError):
            self.link.ask(asks.Synchronise(), timeout_s=timeout_s)

    def await_lines(self, timeout_s: float) -> None:
        """Wait, at most so long, until everything that has been printed so far has been shown.

        The answer comes behind the lines, which a thread of this connection shows one after the other.
        """
        if self._show:
            with suppress(exceptions.RayError):
                self.link.ask(asks.AwaitOutput(), timeout_s=timeout_s)

    def drain(self, patience_s: float) -> None:
        """Wait until everything that was printed has been shown, or nothing more has been shown for `patience_s`."""
        stall = StallTimer(patience_s, time.monotonic(), lambda: self._shown)
        while not self._drained.wait(_LOOK_S) and not stall.is_over(time.monotonic()):
            pass

    def close(self) -> None:
        self.link.close()
