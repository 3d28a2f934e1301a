"""Who is let in: connections that have not shown the token yet, and how a new driver is greeted.

```
  accept ──► newcomer ──┬── a frame with Hello ───────► admit: a driver, or its news
                        ├── a line of JSON with token ► admit: an observer
                        └── neither, MOST_BYTES of it, PATIENCE_S without it: told why, where it can be, and closed
```
A newcomer may send at most MOST_BYTES, and there are at most MOST_NEWCOMERS: the oldest one is closed first. The driver
that started this head is trusted and has no such limits.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from _operator import _compare_digest as compare_digest  # hmac's own; hmac loads OpenSSL, 0.9 MB in each head
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct, field

from nbaccel import __version__
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.connections import Handler, Peer
from nbaccel.local_engine.head.devices.node_devices import Nodes
from nbaccel.local_engine.head.poll import Loop
from nbaccel.local_engine.head.records import Job, Jobs
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.wire.framing import LineReader, Unreadable
from nbaccel.views.observer_lines import ErrorLine

MOST_BYTES = framing.MOST_BYTES_BEFORE_TOKEN
MOST_NEWCOMERS = 512
PATIENCE_S = 10.0
PAUSE_S = 0.2  # when descriptors are short: others may free theirs
BACKLOG = 512
_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_FRAME, _LINE = "frame", "line"


class Host(Protocol):
    """The head, as authentication sees it."""

    def next_client_id(self) -> int: ...
    def objection(self, hello: wire.Hello) -> str: ...
    def admit(self, peer: Peer, messages: list[Any], rest: bytes) -> None: ...
    def admit_observer(self, peer: Peer, lines: LineReader) -> None: ...
    def note(self, text: str) -> None: ...


class _Newcomer(Struct):
    peer: Peer
    until: float | None  # of time.monotonic(); None: our own driver, which may take its time
    frames: bytearray = field(default_factory=bytearray)
    lines: LineReader = field(default_factory=LineReader)
    dialect: str = ""


class Authentication:
    """Accepts connections, and admits those that show the token."""

    def __init__(
        self,
        poll: Loop,
        host: Host,
        token: str,
        clock: Callable[[], float] = time.monotonic,
        most_newcomers: int = MOST_NEWCOMERS,
    ) -> None:
        self._poll = poll
        self._host = host
        self._token = token
        self._clock = clock
        self._most_newcomers = most_newcomers
        self._newcomers: dict[int, _Newcomer] = {}  # by client id, so in the order in which they came
        self._sweeping = False
        self._is_short = False  # of descriptors
        self._listener: socket.socket | None = None

    # ---- who comes

    def listen(self, path: str) -> None:
        """Accept connections at this path. Raises OSError."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        self._listener = listener
        self._poll.register(listener, self._accept)

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            sock, _address = self._listener.accept()
        except OSError as error:  # it gave up meanwhile, or we are out of descriptors
            if error.errno in _SHORT:
                self._rest(error)
            return
        self._is_short = False
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        uid = int.from_bytes(credentials[4:8], sys.byteorder)
        if uid in (os.getuid(), 0):
            self.let_in(sock)
            return
        why = (
            f"This head belongs to user {os.getuid()}, and you are user {uid}. Call nbaccel.init() without an "
            "address for a head of your own."
        )
        _send_last(sock, wire.frame([wire.Refused(why)]))

    def _rest(self, error: OSError) -> None:
        """Stop accepting for a while. New connections wait in the kernel; otherwise the loop would call without end."""
        self._poll.pause_reading(self._listener, True)
        if not self._is_short:
            self._host.note(f"no connection can be accepted for now: {error.strerror}")
        self._is_short = True
        self._poll.at(self._clock() + PAUSE_S, lambda: self._poll.pause_reading(self._listener, False))

    def let_in(self, sock: socket.socket, *, is_our_driver: bool = False) -> None:
        """Read the first bytes of a new connection."""
        if len(self._newcomers) >= self._most_newcomers:
            self._refuse(next(iter(self._newcomers.values())), "Too many connections have not shown the token yet.")
        until = None if is_our_driver else self._clock() + PATIENCE_S
        newcomer = _Newcomer(Peer(sock, "new", self._host.next_client_id()), until)
        newcomer.dialect = _FRAME if is_our_driver else ""
        self._newcomers[newcomer.peer.client_id] = newcomer
        self._poll.register(sock, lambda: self._readable(newcomer))
        if not self._sweeping and until is not None:
            self._sweep_at(until)

    def _sweep_at(self, when: float) -> None:
        self._sweeping = True
        self._poll.at(when, self._sweep)

    def _sweep(self) -> None:
        """Close connections that have not shown the token in time."""
        self._sweeping = False
        now = self._clock()
        for newcomer in [each for each in self._newcomers.values() if each.until is not None and each.until <= now]:
            self._refuse(newcomer, f"The token was not shown within {PATIENCE_S:g} s.")
        waiting = [each.until for each in self._newcomers.values() if each.until is not None]
        if waiting:
            self._sweep_at(min(waiting))

    def refuse_all(self, why: str) -> None:
        """The head does not start: refuse every connection that waits here."""
        for newcomer in list(self._newcomers.values()):
            newcomer.dialect = newcomer.dialect or _FRAME  # it is a driver that waits for its head
            self._refuse(newcomer, why)

    # ---- messages

    def _readable(self, newcomer: _Newcomer) -> None:
        data = newcomer.peer.receive(MOST_BYTES)
        if data is None:
            self._leave(newcomer)
            newcomer.peer.close()
            return
        try:
            self._receive(newcomer, data)
        except Exception as error:  # whatever bytes without a token bring about, it is only their sender's end
            self._refuse(newcomer, str(error) if isinstance(error, Unreadable) else repr(error))

    def _receive(self, newcomer: _Newcomer, data: bytes) -> None:
        newcomer.frames += data
        if not newcomer.dialect:
            newcomer.dialect = _dialect(newcomer.frames)
        if newcomer.dialect == _LINE:
            newcomer.lines.feed(newcomer.frames)
            newcomer.frames.clear()
            self._receive_lines(newcomer)
        elif newcomer.dialect == _FRAME:
            self._receive_frame(newcomer)

    def _receive_frame(self, newcomer: _Newcomer) -> None:
        """Read the first frame: its first message must be an acceptable Hello."""
        came = newcomer.frames
        if len(came) < framing.LENGTH_BYTES:
            return
        end = framing.LENGTH_BYTES + framing.announced(came)
        if end > MOST_BYTES and newcomer.until is not None:
            raise Unreadable(f"The first frame has {end} bytes, but at most {MOST_BYTES} are read before a token.")
        if len(came) < end:
            return
        messages = framing.decode_to_head(came[framing.LENGTH_BYTES : end])
        if not messages or type(messages[0]) is not wire.Hello:
            raise Unreadable("A connection must begin with Hello.")
        hello = messages[0]
        why = self._host.objection(hello) if self._is_token(hello.token) else _WRONG_TOKEN
        if why:
            self._refuse(newcomer, why)
            return
        self._leave(newcomer)
        self._host.admit(newcomer.peer, messages, bytes(came[end:]))

    def _receive_lines(self, newcomer: _Newcomer) -> None:
        line = newcomer.lines.next_line()
        if line is None:
            return
        request = framing.decode_line(line)
        if not self._is_token(request.get("token", "")):
            raise Unreadable("The token is missing or wrong.")
        self._leave(newcomer)
        self._host.admit_observer(newcomer.peer, newcomer.lines)

    def _is_token(self, said: object) -> bool:
        """Compare in constant time, as bytes, because compare_digest accepts only ASCII text."""
        return isinstance(said, str) and compare_digest(said.encode(), self._token.encode())

    # ---- departures

    def _refuse(self, newcomer: _Newcomer, why: str) -> None:
        """Say why in the newcomer's dialect, if it is known, and close."""
        self._leave(newcomer)
        newcomer.peer.closed = True
        last = b""
        if newcomer.dialect == _FRAME:
            last = bytes(wire.frame([wire.Refused(why)]))
        elif newcomer.dialect == _LINE:
            last = ErrorLine(why).encoded()
        _send_last(newcomer.peer.sock, last)
        if newcomer.dialect or newcomer.frames:  # one that only looked whether we are there is no news
            self._host.note(f"a connection without a token was closed: {why}")

    def _leave(self, newcomer: _Newcomer) -> None:
        self._newcomers.pop(newcomer.peer.client_id, None)
        self._poll.unregister(newcomer.peer.sock)


_WRONG_TOKEN = "The token is wrong: this head belongs to another user or session."


def _dialect(start: bytes | bytearray) -> str:
    """The dialect that starts with these bytes, "" if it is too early to tell. Raises Unreadable for neither.

    The first frame has at most MOST_BYTES, so the third byte of its length is 0 or 1 and the fourth is 0. No text has
    such bytes.
    """
    if len(start) >= 3 and start[2] <= 1:
        return _FRAME
    if start[:1] == b"{":
        return _LINE if len(start) >= 3 else ""
    if len(start) >= 3:
        raise Unreadable("The connection sends neither frames nor lines of JSON.")
    return ""


def _send_last(sock: socket.socket, words: bytes | bytearray) -> None:
    """Send one short answer, if the socket takes it, and close."""
    try:
        if words:
            sock.send(words, socket.MSG_DONTWAIT)
    except OSError:
        pass  # the peer has gone, or does not read
    sock.close()


class Handshake:
    """Answers the Hello of connections that are admitted, once the devices of this machine are known."""

    def __init__(
        self,
        config: Config,
        arena_fd: int,
        nodes: Nodes,
        jobs: Jobs,
        *,
        news_came: Callable[[Peer, Job], None],
        why_stopping: Callable[[], str],
    ) -> None:
        self._config = config
        self._arena_fd = arena_fd
        self._nodes = nodes
        self._jobs = jobs
        self._news_came = news_came
        self._why_stopping = why_stopping
        self._waiting_for_node: list[Peer] = []

    def handlers(self) -> dict[type, Handler]:
        """The first messages of a connection, with their handlers."""
        return {wire.Hello: self._hello}

    def _hello(self, peer: Peer, hello: wire.Hello) -> None:
        """Handle the Hello of a connection that was admitted."""
        peer.hello = hello
        if hello.role == "news":
            peer.role = "news"
            self._news_came(peer, self._jobs.by_number[hello.job])
            return
        peer.role = "driver"
        if self._nodes.detection is None:
            self._waiting_for_node.append(peer)
        else:
            self._welcome(peer)

    def objection(self, hello: wire.Hello) -> str:
        """Why this driver or news connection cannot be served, "" if it can."""
        if self._why_stopping():
            return self._why_stopping()
        if hello.version != wire.VERSION:
            return (
                f"This head runs nbaccel {__version__} with another protocol; install the same version on both sides."
            )
        if hello.role not in ("driver", "news"):
            return f"This head does not know the role {hello.role!r}."
        if hello.role == "news" and hello.job not in self._jobs.by_number:
            return f"There is no job {hello.job}."
        ours = "{}.{}".format(*sys.version_info)
        if hello.role == "driver" and hello.python != ours:
            return (
                f"This driver runs Python {hello.python}, but the head runs Python {ours}: functions cannot be "
                "exchanged between "
                f"the two. Start a head with this Python: {hello.prefix}/bin/python -m nbaccel start --head."
            )
        python = f"{hello.prefix}/bin/python"
        if hello.role == "driver" and hello.prefix != sys.prefix and not os.access(python, os.X_OK):
            return f"The workers of this driver would run {python}, which cannot be executed here."
        return ""

    def welcome_waiting(self) -> None:
        """Greet the waiting connections, because the node is known now."""
        waiting, self._waiting_for_node = self._waiting_for_node, []
        for peer in waiting:
            if not peer.closed:
                self._welcome(peer)

    def _welcome(self, peer: Peer) -> None:
        assert peer.hello is not None
        job = self._jobs.begin(peer, peer.hello) if peer.role == "driver" else None
        config = self._config
        welcome = wire.Welcome(
            peer.client_id,
            job.number if job else 0,
            os.getpid(),
            config.session,
            self._nodes.node_id,
            config.directory,
            job.namespace if job else "",
        )
        try:  # the arena's descriptor goes with the first bytes; an empty socket takes them whole
            socket.send_fds(peer.sock, [wire.frame([welcome])], [self._arena_fd])
        except OSError:
            pass  # the driver has gone; reading will show it
