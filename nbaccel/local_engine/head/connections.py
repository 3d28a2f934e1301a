"""The head's connections to its peers: the peers, the messages to write to them, and the messages from them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.notes import Note
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.poll import Loop
from nbaccel.local_engine.wire.framing import Unreadable

Send = Callable[[Peer, Any], None]  # has a message written to a peer, with the next flush
Handler = Callable[[Peer, Any], None]
Failed = Callable[[Peer, Any, Exception], None]  # tells a sender that its message failed
Alike = Callable[[Peer, list[Any], int], int]  # how many messages, from this one on, are handled together; 0: none
HandleAll = Callable[[Peer, list[Any]], None]
Together = tuple[Alike, HandleAll]
Handlers = Mapping[str, Mapping[type, Handler]]  # the messages of each role, with their handlers


class Connections:
    """All peers of a head by client id. `send` collects messages, and `flush` writes them."""

    def __init__(self, loop: Loop, note: Note) -> None:
        self._loop = loop
        self._note = note
        self._count = 0
        self.peers: dict[int, Peer] = {}
        self.touched: set[Peer] = set()  # those to which something waits to be written
        self.hear: Callable[[Peer, list[Any]], None] = lambda peer, messages: None  # the bytes that were read
        self.on_end: Callable[[Peer], None] = lambda peer: None
        self.on_written: dict[str, Callable[[Peer], None]] = {}  # role -> called when nothing waits any more

    def next_client_id(self) -> int:
        self._count += 1
        return self._count

    def add(self, peer: Peer) -> None:
        """Read the messages of this peer from now on."""
        self.peers[peer.client_id] = peer
        self._loop.register(peer.sock, partial(self.take_in, peer, peer.read))

    def take_in(self, peer: Peer, read: Callable[[], list[Any] | None]) -> None:
        """Handle the result of `read`; None is the end of the connection."""
        try:
            messages = read()
        except Unreadable as error:
            self.expel(peer, f"sent what cannot be read: {error}")
            return
        if messages is None:
            self.end(peer)
        else:
            self.hear(peer, messages)

    # ---- writing

    def send(self, peer: Peer, message: Any) -> None:
        peer.out.append(message)
        self.touched.add(peer)

    def tell_driver(self, client_id: int, message: Any) -> None:
        """Send a message to this client if it is a driver that is still there."""
        peer = self.peers.get(client_id)
        if peer is not None and peer.role == "driver":
            self.send(peer, message)

    def touch(self, peer: Peer) -> None:
        """Write to this peer with the next flush, because its buffers have new data."""
        self.touched.add(peer)

    def flush(self) -> None:
        """Write to every peer with waiting data."""
        touched = self.touched
        while touched:
            peer = touched.pop()
            if peer.closed:
                peer.out.clear()
                continue
            try:
                peer.write()
            except Exception:
                self._cannot_encode(peer)
                self.end(peer)
                continue
            if peer.pending:
                self._write_later(peer)
            elif peer.role in self.on_written:
                self.on_written[peer.role](peer)

    def _write_later(self, peer: Peer) -> None:
        self._loop.want_write(peer.sock, lambda: self.touched.add(peer))

    def _cannot_encode(self, peer: Peer) -> None:
        """Text with half a character, a number beyond 64 bits: the asker gets an error."""
        self._note(f"messages to a {peer.role} cannot be encoded:\n{traceback.format_exc()}")

    # ---- ends

    def expel(self, peer: Peer, why: str) -> None:
        """End a harmful connection, and say why."""
        self._note(f"a {peer.role} connection was closed because it {why}")
        peer.out.append(wire.Refused(f"this connection {why}"))
        try:
            peer.write()
        except Exception:
            self._cannot_encode(peer)
        self.end(peer)

    def end(self, peer: Peer) -> None:
        """Close a connection, and tell the components that it concerns."""
        self.drop(peer)
        self.on_end(peer)

    def drop(self, peer: Peer) -> None:
        """Close a connection without telling anybody."""
        self._loop.unregister(peer.sock)
        peer.close()
        self.peers.pop(peer.client_id, None)
        self.touched.discard(peer)


class Hearing:
    """Passes each message to its handler. An exception is answered or ends the peer; other peers are not affected."""

    def __init__(
        self,
        handlers: Handlers,
        *,
        together: Mapping[str, Mapping[type, Together]],
        failed: Mapping[type, Failed],
        expel: Callable[[Peer, str], None],
        note: Note,
    ) -> None:
        self._handlers = handlers
        self._together = together  # what is handled at once, of each role
        self._failed = failed  # for messages whose sender awaits an answer: sends it the failure
        self._expel = expel
        self._note = note

    def hear(self, peer: Peer, messages: list[Any]) -> None:
        """Handle each message, or several that are alike at once."""
        at = 0
        while at < len(messages) and not peer.closed and not peer.left:
            kind = type(messages[at])
            handler = self._handlers[peer.role].get(kind)
            if handler is None:
                self._expel(peer, f"said {kind.__name__}, which is not for it to say")
                return
            heard = messages[at : at + 1]
            try:
                together = self._together[peer.role].get(kind) if peer.role in self._together else None
                number = together[0](peer, messages, at) if together is not None else 0
                if together is not None and number:
                    heard = messages[at : at + number]
                    together[1](peer, heard)
                else:
                    handler(peer, heard[0])
            except Exception as error:
                self._failed_at(peer, heard, error)
            at += len(heard)

    def _failed_at(self, peer: Peer, heard: list[Any], error: Exception) -> None:
        self._note(f"a {type(heard[0]).__name__} of a {peer.role} failed:\n{traceback.format_exc()}")
        for message in heard:
            if not self._answered(peer, message, error):
                self._expel(peer, f"said something that the head fails at: {type(error).__name__}: {error}")
                break

    def _answered(self, peer: Peer, message: Any, error: Exception) -> bool:
        """Whether the sender awaits an answer, and has now been told of the failure."""
        answer = self._failed.get(type(message))
        if answer is None:
            return False
        try:
            answer(peer, message, error)
        except Exception:  # not even that: its message makes no sense
            self._note(f"the answer about this error failed as well:\n{traceback.format_exc()}")
            return False
        return True
