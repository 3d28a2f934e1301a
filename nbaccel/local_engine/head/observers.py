"""Observers: programs that watch and sometimes act, with lines of JSON on the head's socket.

```
  {"token": …}             ──► {"kind": "welcome", …}        (authentication)
  {"ask": "snapshot"}      ──► {"kind": "snapshot", …}
  {"ask": "watch"}         ──► {"kind": "snapshot", …} now, and at every change
  {"ask": "explain", …}    ──► {"kind": "explanations", …}
``` `views.observer_lines` has all of these lines, and `question_table.py` the table of the answers. Each pass of the
head's loop answers one question of each observer, so that others have their turn. The head reads no further question
while more than MOST_UNREAD_BYTES of answers are unread: an observer that never reads costs that and one answer. A
mistake is answered and the observer may go on; an unexpected exception is answered and ends the observer.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Connections
from nbaccel.local_engine.head.notes import Note
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.poll import Loop
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.wire.framing import LineReader, Unreadable
from nbaccel.views.observer_lines import (
    PROTOCOL,
    ErrorLine,
    ObserverLine,
    ObserverQuestion,
    TakeSnapshot,
    WatchSnapshots,
    WelcomeLine,
    question_of,
)

READ_BYTES = 1 << 16
MOST_UNREAD_BYTES = 1 << 20


class _Observer(Struct):
    peer: Peer
    lines: LineReader
    waits: bool = False  # for a snapshot, until the devices have been looked at
    wants_snapshot: bool = False  # they have
    obeying: bool = False
    goes_on: bool = False  # in the loop's next pass
    has_ended: bool = False  # it sends no more, and takes its last answers


class Observers:
    """All observers of a head."""

    def __init__(
        self,
        loop: Loop,
        connections: Connections,
        note: Note,
        session: str,
        *,
        answer: Callable[[Peer, ObserverQuestion[Any]], ObserverLine],
        freshen: Callable[[Callable[[], None]], None],
        watch: Callable[[Peer, wire.Watch], None],
        send_snapshot: Callable[[Peer], None],
    ) -> None:
        self._loop = loop
        self._connections = connections
        self._note = note
        self._session = session
        self._answer = answer
        self._freshen = freshen  # looks at the devices, then calls
        self._watch = watch
        self._send_snapshot = send_snapshot
        self._known: dict[Peer, _Observer] = {}

    def adopt(self, peer: Peer, lines: LineReader) -> None:
        """Take over a connection that has shown the token, with the bytes that followed it."""
        peer.role = "observer"
        observer = self._known[peer] = _Observer(peer, lines)
        self._loop.register(peer.sock, lambda: self._readable(observer))
        self.say(peer, WelcomeLine(PROTOCOL, self._session))
        self._go_on(observer)

    def gone(self, peer: Peer) -> None:
        self._known.pop(peer, None)

    def written(self, peer: Peer) -> None:
        """An observer has read all answers: handle its next question."""
        observer = self._known.get(peer)
        if observer is None:
            return
        if observer.has_ended:
            self._end(observer)
        else:
            self._go_on(observer)

    def say(self, peer: Peer, line: ObserverLine) -> None:
        peer.pending += line.encoded()
        self._connections.touch(peer)

    # ---- reading

    def _readable(self, observer: _Observer) -> None:
        data = observer.peer.receive(READ_BYTES)
        if data is None and observer.peer.pending:
            observer.has_ended = True
            self._loop.pause_reading(observer.peer.sock, True)
        elif data is None:
            self._end(observer)
        elif data:
            observer.lines.feed(data)
            self._go_on(observer)

    def _end(self, observer: _Observer) -> None:
        self._connections.end(observer.peer)

    def _go_on(self, observer: _Observer) -> None:
        """Handle the next line, if the earlier answers have been read. Later passes handle the other lines."""
        peer = observer.peer
        if observer.obeying or peer.closed:
            return  # an answer that came at once is sent in the next pass
        observer.obeying = True
        try:
            if self._obey_next(observer):
                self._go_on_later(observer)
        except Unreadable as error:
            self._expel(observer, str(error))
        except Exception as error:  # a failure of one observer's line ends that observer only
            self._note(f"a question of an observer failed:\n{traceback.format_exc()}")
            self._expel(observer, f"The head could not answer: {type(error).__name__}: {error}")
        finally:
            observer.obeying = False
        if not peer.closed:
            paused = observer.goes_on or observer.has_ended or self._is_busy(observer)
            self._loop.pause_reading(peer.sock, paused)

    def _go_on_later(self, observer: _Observer) -> None:
        if not observer.goes_on:
            observer.goes_on = True
            self._loop.after(0, lambda: self._next_pass(observer))

    def _next_pass(self, observer: _Observer) -> None:
        observer.goes_on = False
        self._go_on(observer)

    def _obey_next(self, observer: _Observer) -> bool:
        """Handle the next line. Returns whether there was one."""
        if observer.wants_snapshot:
            observer.wants_snapshot = False
            self._send_snapshot(observer.peer)
            return True
        line = None if self._is_busy(observer) else observer.lines.next_line()
        if line is not None:
            self._obey(observer, line)
        return line is not None

    def _is_busy(self, observer: _Observer) -> bool:
        return observer.waits or len(observer.peer.pending) > MOST_UNREAD_BYTES

    def _expel(self, observer: _Observer, why: str) -> None:
        self.say(observer.peer, ErrorLine(why))
        observer.peer.write()
        self._end(observer)

    # ---- obeying

    def _obey(self, observer: _Observer, line: bytes) -> None:
        peer = observer.peer
        try:
            request = framing.decode_line(line)
            question = question_of(request) if "ask" in request else None
        except (Unreadable, ValueError) as error:
            self.say(peer, ErrorLine(str(error)))
            return
        if isinstance(question, TakeSnapshot):
            observer.waits = True
            self._freshen(lambda: self._show(observer))
        elif isinstance(question, WatchSnapshots):
            self._watch(peer, wire.Watch(question.on, rows=question.rows))
        elif question is not None:
            self.say(peer, self._answer(peer, question))

    def _show(self, observer: _Observer) -> None:
        observer.waits, observer.wants_snapshot = False, True
        if not observer.peer.closed:
            self._go_on(observer)
