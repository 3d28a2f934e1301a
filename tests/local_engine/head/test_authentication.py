"""What a connection may do before it has shown the token: little, not for long, and to nobody's harm but its own."""

from __future__ import annotations

import gc
import json
import os
import resource
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head import authentication
from nbaccel.local_engine.head.authentication import Authentication
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.wire.framing import FrameReader, LineReader
from tests.rig import DEADLINE_S

TOKEN = "the-token"


class Loop:
    """The head's loop, turned by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.readers: dict[Any, Callable[[], None]] = {}
        self.paused: set[Any] = set()
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def register(self, source: Any, on_readable: Callable[[], None]) -> None:
        self.readers[source] = on_readable

    def unregister(self, source: Any) -> None:
        self.readers.pop(source, None)

    def pause_reading(self, source: Any, paused: bool) -> None:
        (self.paused.add if paused else self.paused.discard)(source)

    def at(self, when: float, call: Callable[[], None]) -> None:
        self.timers.append((when, call))

    def turn(self) -> None:
        for reader in list(self.readers.values()):
            reader()

    def jump(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _when, call in due:
            call()


class House:
    """Who admits, and one who comes."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.authentication = Authentication(self.loop, self, TOKEN, lambda: self.loop.now, most_newcomers=4)
        self.admitted: list[tuple[Peer, list[Any], bytes]] = []
        self.observers: list[tuple[Peer, LineReader]] = []
        self.notes: list[str] = []
        self.said_no = ""
        self.count = 0
        self.open: list[socket.socket] = []

    def next_client_id(self) -> int:
        self.count += 1
        return self.count

    def objection(self, hello: wire.Hello) -> str:
        return self.said_no

    def admit(self, peer: Peer, messages: list[Any], rest: bytes) -> None:
        self.admitted.append((peer, messages, rest))
        self.open.append(peer.sock)

    def admit_observer(self, peer: Peer, lines: LineReader) -> None:
        self.observers.append((peer, lines))
        self.open.append(peer.sock)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def come(self, *, is_our_driver: bool = False) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.settimeout(DEADLINE_S)
        self.open.append(ours)
        self.authentication.let_in(theirs, is_our_driver=is_our_driver)
        return ours

    def send(self, sock: socket.socket, *pieces: bytes) -> None:
        for piece in pieces:
            sock.sendall(piece)
            self.loop.turn()


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    for source in made.loop.readers:
        source.close()
    for sock in made.open:
        sock.close()


def hello(token: str = TOKEN, **more: Any) -> bytes:
    return bytes(wire.frame([wire.Hello("driver", token, 1, wire.VERSION, "3", "/usr", **more)]))


def received(sock: socket.socket) -> bytes:
    """All that is said until the connection ends."""
    data = b""
    while True:
        try:
            piece = sock.recv(1 << 16)
        except ConnectionResetError:
            return data
        if not piece:
            return data
        data += piece


def refusal(sock: socket.socket) -> str:
    (message,) = FrameReader(wire.decode_to_client).feed(received(sock))
    assert type(message) is wire.Refused
    return message.message


def error_line(sock: socket.socket) -> str:
    answer = json.loads(received(sock))
    assert answer["kind"] == "error"
    return str(answer["message"])


def in_bytes(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


# ---- who is let in


@pytest.mark.parametrize("cut", [lambda data: [data], in_bytes], ids=["at once", "byte by byte"])
def test_a_hello_with_the_token_is_let_in(house: House, cut: Any) -> None:
    house.send(house.come(), *cut(hello()))
    ((peer, messages, rest),) = house.admitted
    assert [type(message) for message in messages] == [wire.Hello] and rest == b""
    assert house.loop.readers == {} and not peer.closed


def test_what_follows_the_hello_is_handed_on_unread(house: House) -> None:
    house.send(house.come(), hello() + b"more, which may be the begin of a frame of any size")
    assert house.admitted[0][2].startswith(b"more")


def test_the_driver_that_began_the_head_may_say_more_than_a_stranger(house: House) -> None:
    driver = house.come(is_our_driver=True)
    words = hello(sys_path=["x" * authentication.MOST_BYTES])
    driver.setblocking(False)
    while words or not house.admitted:
        words = words[driver.send(words) :] if words else words
        house.loop.turn()
    assert house.admitted[0][1][0].sys_path == ["x" * authentication.MOST_BYTES]


@pytest.mark.parametrize("cut", [lambda data: [data], in_bytes], ids=["at once", "byte by byte"])
def test_a_line_with_the_token_is_let_in(house: House, cut: Any) -> None:
    house.send(house.come(), *cut(b'{"token": "the-token"}\n'), b"")
    ((_peer, lines),) = house.observers
    assert lines.next_line() is None


def test_the_lines_after_the_token_are_handed_on(house: House) -> None:
    house.send(house.come(), b'{"token": "the-token"}\n{"ask": "snapshot"}\n{"half')
    assert house.observers[0][1].next_line() == b'{"ask": "snapshot"}'


@pytest.mark.parametrize("line", [b"{}\n", b"{ \n", b'{ \t"token": "the-token"}\n', b'{"a":2,"token":"no"}\n'])
def test_a_line_is_told_from_a_frame_whatever_its_fourth_byte(house: House, line: bytes) -> None:
    sock = house.come()
    house.send(sock, line)
    if b"the-token" in line:
        assert len(house.observers) == 1
    else:
        assert error_line(sock)


def test_a_hello_whose_length_begins_like_a_line_is_a_frame(house: House) -> None:
    title = "x" * ((ord("{") - len(hello()) + 4) % 256)
    frame = hello(title=title)
    while frame[0] != ord("{"):
        title += "x"
        frame = hello(title=title)
    house.send(house.come(), *in_bytes(frame))
    assert len(house.admitted) == 1


# ---- who is not


@pytest.mark.parametrize("token", ["wrong", "", "t\u00f6ken", "\u6f22", "the-token\0"])
def test_a_wrong_token_is_told_so_in_both_languages(house: House, token: str) -> None:
    driver, observer = house.come(), house.come()
    house.send(driver, hello(token))
    house.send(observer, json.dumps({"token": token}).encode() + b"\n")
    assert "The token is wrong" in refusal(driver)
    assert error_line(observer) == "The token is missing or wrong."
    assert house.loop.readers == {}


@pytest.mark.parametrize("said", [b'{"token": 5}\n', b'{"token": {"a": [1]}}\n', b'{"ask": "stop"}\n'])
def test_a_line_without_a_token_of_text_is_refused(house: House, said: bytes) -> None:
    sock = house.come()
    house.send(sock, said)
    assert error_line(sock) == "The token is missing or wrong."


@pytest.mark.parametrize(
    "body",
    [
        b"\x91\x91\xa2\xc6\xc6",
        b"\x91\x93\xa3Bye\xc2" + b"\x91" * 60_000 + b"\xc0",
        b"\x90",
        b"",
        b"\xc0",
        bytes(wire.frame([wire.QuestionMessage(1, "stop_head")]))[4:],
        bytes(wire.frame([wire.Submit(b"x" * 24, 1, b"", [], [], b"", b"")]))[4:],
    ],
)
def test_a_frame_that_is_no_hello_is_answered_and_ended(house: House, body: bytes) -> None:
    sock = house.come()
    house.send(sock, struct.pack("<I", len(body)) + body)
    assert refusal(sock)
    assert house.admitted == [] and house.loop.readers == {}


@pytest.mark.parametrize("line", [b'{"a":' + b"[" * 60_000, b'{"token": "\xc6\xc6"}', b'{"token"', b'{"\\ud800": 1}'])
def test_a_line_that_is_no_json_is_answered_and_ended(house: House, line: bytes) -> None:
    sock = house.come()
    house.send(sock, line + b"\n")
    assert "not a line of JSON" in error_line(sock)


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\n\n\n{}", struct.pack(">I", 3) + b"abc"]
)
def test_what_is_neither_language_is_ended_at_once(house: House, garbage: bytes) -> None:
    sock = house.come()
    house.send(sock, garbage)
    received(sock)
    assert house.loop.readers == {}


def test_an_objection_is_told_and_ends_the_connection(house: House) -> None:
    house.said_no = "This head runs another version."
    sock = house.come()
    house.send(sock, hello())
    assert refusal(sock) == "This head runs another version."
    assert house.admitted == []


def test_an_exception_of_our_own_ends_its_connection_only(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(hello: wire.Hello) -> str:
        raise ZeroDivisionError("nobody foresaw it")

    monkeypatch.setattr(house, "objection", fails)
    sock = house.come()
    house.send(sock, hello())
    assert "ZeroDivisionError" in refusal(sock)
    assert house.loop.readers == {}


def test_a_newcomer_that_goes_is_forgotten(house: House) -> None:
    house.come().close()
    house.loop.turn()
    assert house.loop.readers == {} and house.notes == []


# ---- how much, and how long


def test_a_frame_of_more_than_64_kb_is_refused_before_it_is_read(house: House) -> None:
    sock = house.come()
    house.send(sock, hello(title="x" * 70_000)[:100])
    assert "at most 65536 are read before a token" in refusal(sock)


def test_a_line_of_more_than_64_kb_is_refused(house: House) -> None:
    sock = house.come()
    house.send(sock, *[b'{"token": "' + b"x" * 30_000, b"x" * 30_000, b"x" * 30_000])
    assert error_line(sock) == "This line has more than 65536 bytes."


def test_who_shows_no_token_in_ten_seconds_is_ended_and_others_are_not(house: House) -> None:
    silent, half_a_frame, half_a_line = house.come(), house.come(), house.come()
    house.send(half_a_frame, hello()[:20])
    house.send(half_a_line, b'{"tok')
    house.loop.jump(9.9)
    later = house.come()
    house.loop.jump(0.2)
    assert received(silent) == b""
    assert "within 10 s" in refusal(half_a_frame)
    assert "within 10 s" in error_line(half_a_line)
    house.send(later, hello())
    assert len(house.admitted) == 1
    house.loop.jump(100)
    assert not house.admitted[0][0].closed and house.loop.timers == []


def test_who_came_later_has_ten_seconds_of_its_own(house: House) -> None:
    house.come()
    house.loop.jump(6)
    later = house.come()
    house.loop.jump(6)
    house.loop.jump(3.9)
    assert len(house.loop.readers) == 1
    house.loop.jump(0.2)
    assert received(later) == b"" and house.loop.timers == []


def test_our_own_driver_may_take_its_time(house: House) -> None:
    driver = house.come(is_our_driver=True)
    house.come()
    house.loop.jump(1000)
    house.send(driver, hello())
    assert len(house.admitted) == 1


def test_of_too_many_the_one_who_waited_longest_goes(house: House) -> None:
    socks = [house.come() for _ in range(6)]
    assert [received(sock) for sock in socks[:2]] == [b"", b""]
    house.send(socks[5], hello())
    assert len(house.admitted) == 1 and len(house.loop.readers) == 3


def test_who_waits_for_a_head_that_will_not_begin_is_told(house: House) -> None:
    driver, observer = house.come(is_our_driver=True), house.come()
    house.send(observer, b'{"tok')
    house.authentication.refuse_all("There is no GPU here.")
    assert refusal(driver) == "There is no GPU here."
    assert error_line(observer) == "There is no GPU here."


# ---- accepting


def test_without_descriptors_the_listener_rests_instead_of_calling_without_end(house: House, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    house.authentication.listen(path)
    (listener,) = house.loop.readers
    with no_more_descriptors():
        house.loop.turn()
        assert house.loop.paused == {listener}
        for _ in range(3):
            house.loop.jump(authentication.PAUSE_S)
            assert house.loop.paused == set()
            house.loop.turn()
    assert house.notes == ["no connection can be accepted for now: Too many open files"]
    house.loop.jump(authentication.PAUSE_S)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        house.loop.turn()
        assert len(house.loop.readers) == 2


@contextmanager
def no_more_descriptors() -> Iterator[None]:
    """While it lasts, this process may open nothing."""
    gc.collect()  # what earlier tests left open is not closed meanwhile
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    first_free = os.dup(0)
    os.close(first_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


def test_a_connection_that_was_given_up_before_it_was_accepted_is_nothing(house: House, tmp_path: Path) -> None:
    house.authentication.listen(str(tmp_path / "s"))
    house.loop.turn()
    assert house.loop.paused == set() and house.notes == []
