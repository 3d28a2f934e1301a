"""Who may speak but says nonsense, or asks and never reads: it costs nobody anything but itself."""

from __future__ import annotations

import gc
import json
import os
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy
import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.options import init_options
from nbaccel.local_engine import wire
from nbaccel.local_engine.driver import engine as driver
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.head.watchers import MOST_UNREAD_BYTES, Observers
from nbaccel.local_engine.wire.framing import FrameReader, LineReader
from nbaccel.scheduling.terms import TaskKind, Terms
from nbaccel.views import observing, sessions
from nbaccel.views.observer_lines import QUESTIONS, SnapshotLine
from nbaccel.views.snapshot import Runtime, Snapshot
from tests.census import Place
from tests.local_engine import misbehaving
from tests.rig import DEADLINE_S, wait_until


def record() -> sessions.SessionRecord:
    engine: Any = engines.started()
    (found,) = [each for each in sessions.find() if each.session == engine.welcome.session]
    return found


@pytest.fixture
def observer(cluster: Place) -> Iterator[observing.Observer]:
    with observing.connected(record()) as connected:
        yield connected


def raw_driver() -> tuple[socket.socket, FrameReader]:
    """A driver's connection that says what we want."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(DEADLINE_S)
    sock.connect(record().socket)
    sock.sendall(wire.frame([driver.hello("driver", record().token, init_options())]))
    data, fds, _flags, _address = socket.recv_fds(sock, 1 << 16, 1)
    os.close(fds[0])
    assert b"Welcome" in data
    return sock, FrameReader(wire.decode_to_client)


def last_word(sock: socket.socket, reader: FrameReader) -> Any:
    messages: list[Any] = []
    while data := sock.recv(1 << 16):
        messages += reader.feed(data)
    return messages[-1]


# ---- mistakes


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"ask": "watch", "rows": "abc"}, "takes a whole number of rows: 'abc'"),
        ({"ask": "watch", "rows": [1]}, "takes a whole number of rows"),
        ({"ask": "cancel", "task_id": 5}, "takes text for task_id: 5"),
        ({"ask": "cancel", "task_id": "no hex"}, "'no hex' is not the hex id of a task"),
        ({"ask": "cancel"}, "needs the field 'task_id'"),
        ({"ask": "kill", "actor_id": None}, "takes text for actor_id: None"),
        ({"ask": "explain", "task_id": ["a"]}, "takes text or null for task_id"),
        ({"ask": "logs", "task_id": "00" * 24}, "The head does not know task"),
        ({"ask": "logs", "tail": "many"}, "takes a whole number of tail: 'many'"),
        ({"ask": {"a": 1}}, "does not know the question"),
    ],
)
def test_an_observers_mistake_is_answered_and_it_goes_on(
    observer: observing.Observer, request_: dict[str, Any], words: str
) -> None:
    answer = observer.ask(request_)
    assert answer["kind"] == "error" and words in answer["message"]
    assert observer.ask({"ask": "notes"})["kind"] == "notes"


NONSENSE = ["no id", "", "é", -1, 10**30, 1.5, None, True, [], {"x": 1}, "nan", "0x10"]
OF_PYTHON = ("fromhex", "Expected", "null`", "object at", "NoneType", "must be", "Traceback", "KeyError")


@pytest.mark.parametrize("ask", sorted(QUESTIONS.keys() - {"stop"}))
def test_nonsense_in_a_field_is_answered_without_words_of_python(observer: observing.Observer, ask: str) -> None:
    fields = msgspec.structs.fields(QUESTIONS[ask])
    given: dict[str, Any] = {each.name: {} if each.name == "options" else "no id" for each in fields if each.required}
    for field in fields:
        for value in NONSENSE:
            answer = observer.ask({"ask": ask, **given, field.name: value})
            assert not any(word in answer.get("message", "") for word in OF_PYTHON), (field.name, value, answer)


def test_a_line_that_is_no_json_is_answered_and_the_observer_goes_on(observer: observing.Observer) -> None:
    for line in (b"no json", b'{"a":' + b"[" * 30_000, b'{"a": "\xc6"}'):
        observer._sock.sendall(line + b"\n")
        assert "not a line of JSON" in observer.read()["message"]
    assert observer.ask({"ask": "notes"})["kind"] == "notes"


def test_a_line_that_is_too_long_ends_its_observer_also_after_the_token(observer: observing.Observer) -> None:
    with pytest.raises(ConnectionError):
        for _ in range(20):
            observer._sock.sendall(b"x" * 10_000)
        assert "more than 65536 bytes" in observer.read()["message"]
        observer.read()
    assert nbaccel.get(misbehaving.echo.remote(7)) == 7


def test_what_nobody_foresaw_is_answered_and_ends_its_observer(observer: observing.Observer) -> None:
    answer = observer.ask({"ask": "add_node", "options": {"resources": 5}})
    assert "could not answer: AttributeError" in answer["message"]
    with pytest.raises(ConnectionError, match="closed the connection"):
        observer.read()
    assert nbaccel.get(misbehaving.echo.remote(7)) == 7


@contextmanager
def nothing_left_open() -> Iterator[None]:
    """Python warns of a socket that nobody has closed."""
    gc.collect()
    with warnings.catch_warnings(record=True) as notified:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert not [str(each.message) for each in notified if each.category is ResourceWarning]


def test_an_observer_that_is_refused_leaves_no_connection_open(cluster: Place) -> None:
    refused = record()
    refused.token = "0" * 32
    with nothing_left_open(), pytest.raises(ConnectionError, match="refused: The token is missing or wrong"):
        observing.Observer(refused)


def test_a_driver_whose_head_ends_before_it_answers_leaves_no_connection_open(cluster: Place, tmp_path: Path) -> None:
    ending = record()
    ending.socket = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(ending.socket)
        listener.listen()
        threading.Thread(target=lambda: listener.accept()[0].close()).start()
        with nothing_left_open(), pytest.raises(exceptions.RaySystemError, match="The head ended while it started"):
            driver.join(ending, init_options())


# ---- those who do not read


def ask_without_reading(observer: observing.Observer, count: int) -> threading.Thread:
    """Ask for so many snapshots; the thread ends when the head has taken all questions."""
    line = json.dumps({"ask": "snapshot", "filler": "x" * 500}).encode() + b"\n"
    thread = threading.Thread(target=lambda: observer._sock.sendall(line * count), daemon=True)
    observer._sock.settimeout(DEADLINE_S)
    thread.start()
    return thread


def test_who_asks_and_reads_late_gets_every_answer_and_others_theirs_at_once(
    observer: observing.Observer, watched: list[Snapshot]
) -> None:
    count = 500
    asking = ask_without_reading(observer, count)
    assert nbaccel.get([misbehaving.echo.remote(i) for i in range(20)]) == list(range(20))
    answers = [observer.read() for _ in range(count)]
    asking.join(DEADLINE_S)
    assert {answer["kind"] for answer in answers} == {"snapshot"}
    numbers = [answer["snapshot"]["seq"] for answer in answers]
    assert numbers == sorted(set(numbers))


def test_a_watcher_that_does_not_read_keeps_no_snapshot_from_the_others(
    observer: observing.Observer, watched: list[Snapshot]
) -> None:
    observer._sock.sendall(b'{"ask": "watch"}\n')
    asking = ask_without_reading(observer, 500)
    ref = misbehaving.Fragile.options(num_gpus=1).remote()
    pid = nbaccel.get(ref.pid.remote())
    wait_until(lambda: [row.pid for row in watched[-1].actors if row.state == "ALIVE"] == [pid], "a snapshot of it")
    assert {observer.read()["kind"] for _ in range(500)} == {"snapshot"}
    asking.join(DEADLINE_S)


@pytest.fixture
def watched(cluster: Place) -> Iterator[list[Snapshot]]:
    """The snapshots that our own news connection gets."""
    snapshots: list[Snapshot] = []
    engines.current().watch(lambda snapshot: snapshots.append(snapshot) if snapshot is not None else None)
    wait_until(lambda: snapshots, "the first snapshot")
    yield snapshots
    engines.current().watch(None)


def test_who_says_all_at_once_and_closes_its_side_gets_every_answer(cluster: Place) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(DEADLINE_S)
        sock.connect(record().socket)
        sock.sendall(json.dumps({"token": record().token}).encode() + b'\n{"ask": "snapshot"}\n' * 300)
        sock.shutdown(socket.SHUT_WR)
        with sock.makefile("rb") as lines:
            answers = [json.loads(line) for line in lines]
    assert [answer["kind"] for answer in answers] == ["welcome"] + ["snapshot"] * 300


class Mouth:
    """A head for one observer: a snapshot is a large answer, and comes when we say so."""

    def __init__(self, *, at_once: bool) -> None:
        self.looks: list[Any] = []
        self.timers: list[Any] = []
        self.reader: Any = None
        self.paused = False
        self.at_once = at_once
        self.sent = 0
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.sock = ours
        self.peer = Peer(theirs, "new", 1)
        self.observers = Observers(
            self, self, self._note, "s",  # type: ignore[arg-type]
            answer=self._answer, freshen=self.freshen, watch=self._answer, send_snapshot=self.send_snapshot,
        )  # fmt: skip
        self.observers.adopt(self.peer, LineReader())

    def touch(self, peer: Peer) -> None:
        pass  # `flush` writes to the only peer

    def register(self, source: Any, on_readable: Any) -> None:
        self.reader = on_readable

    def pause_reading(self, source: Any, paused: bool) -> None:
        self.paused = paused

    def after(self, pause_s: float, call: Any) -> None:
        self.timers.append(call)

    def _note(self, text: str) -> None:
        raise AssertionError(text)

    def _answer(self, peer: Peer, asked: Any) -> Any:
        raise AssertionError("only snapshots are asked for")

    def freshen(self, then: Any) -> None:
        then() if self.at_once else self.looks.append(then)

    def send_snapshot(self, peer: Peer) -> None:
        self.sent += 1
        large = Snapshot(Runtime("local", "0", "3"), seq=self.sent, found=["x" * 100_000])
        self.observers.send_line(peer, SnapshotLine(large))

    def flush(self) -> None:
        """As the head does, once for each pass of its loop."""
        self.peer.write()
        if not self.peer.pending:
            self.observers.written(self.peer)

    def turn(self) -> None:
        if not self.paused:
            self.reader()
        before = self.sent
        timers, self.timers = self.timers, []
        for timer in timers:
            timer()
        assert self.sent <= before + 1, "others have no turn"
        self.flush()
        assert len(self.looks) <= 1
        while self.looks:
            self.looks.pop()()
        assert len(self.peer.pending) < MOST_UNREAD_BYTES + 101_000

    def received(self) -> bytes:
        try:
            return self.sock.recv(1 << 20)
        except BlockingIOError:
            return b""


@pytest.mark.parametrize("at_once", [True, False])
def test_one_who_never_reads_costs_a_megabyte_and_one_answer(at_once: bool) -> None:
    mouth = Mouth(at_once=at_once)
    try:
        mouth.sock.sendall(b'{"ask": "snapshot"}\n' * 200)
        for _ in range(100):
            mouth.turn()
            mouth.sock.sendall(b" ")  # what is not read stays where the kernel keeps it
        assert mouth.paused and mouth.sent < 30
        answers = LineReader(1 << 20)
        numbers: list[int] = []
        while len(numbers) < 201:  # once it reads, it goes on where it was
            mouth.turn()
            answers.feed(mouth.received())
            while (line := answers.next_line()) is not None:
                numbers += [json.loads(line).get("snapshot", {}).get("seq", 0)]
        assert numbers == list(range(201))
    finally:
        mouth.sock.close()
        mouth.peer.close()


# ---- drivers and workers


def test_a_driver_that_says_what_is_not_for_it_is_told_and_ended(cluster: Place) -> None:
    sock, reader = raw_driver()
    sock.sendall(wire.frame([wire.Done(b"x" * 24, [])]))
    assert last_word(sock, reader).message == "this connection said Done, which is not for it to say"
    sock.close()
    assert nbaccel.get(misbehaving.echo.remote(7)) == 7


def test_a_driver_that_cannot_be_understood_is_told_and_ended(cluster: Place) -> None:
    for body in (b"\x91\x91\xa2\xc6\xc6", b"\x91\x93\xa3Bye\xc2" + b"\x91" * 60_000 + b"\xc0"):
        sock, reader = raw_driver()
        sock.sendall(len(body).to_bytes(4, "little") + body)
        assert "sent what cannot be read" in last_word(sock, reader).message
        sock.close()
    assert nbaccel.get(misbehaving.echo.remote(7)) == 7


def test_a_driver_whose_words_the_head_fails_at_is_told_and_ended(cluster: Place) -> None:
    sock, reader = raw_driver()
    terms = Terms("f", TaskKind.TASK, function_key=b"f", environment="e", runtime_env=b"\xff")
    sock.sendall(wire.frame([wire.DefineTemplate(1, terms)]))
    assert "said something that the head fails at" in last_word(sock, reader).message
    sock.close()
    assert nbaccel.get(misbehaving.echo.remote(7)) == 7


def test_a_task_of_more_results_than_could_ever_be_written_down_ends_who_asks_for_it(cluster: Place) -> None:
    sock, reader = raw_driver()
    terms = Terms("f", TaskKind.TASK, function_key=b"f", num_returns=1 << 62)
    sock.sendall(wire.frame([wire.DefineTemplate(1, terms), wire.Submit(b"x" * 24, 1)]))
    assert "a template with 4611686018427387904 return values" in last_word(sock, reader).message
    sock.close()


def test_a_submission_that_makes_no_sense_fails_its_results_and_the_driver_goes_on(cluster: Place) -> None:
    sock, reader = raw_driver()
    sock.sendall(wire.frame([wire.Submit(b"x" * 24, 99), wire.QuestionMessage(1, "no such question"), wire.Bye()]))
    messages: list[Any] = []
    while not {wire.ObjectValue, wire.Answer} <= {type(message) for message in messages}:
        messages += reader.feed(sock.recv(1 << 16))
    assert {type(message) for message in messages} == {wire.ObjectValue, wire.Answer}
    sock.close()
    assert nbaccel.get(misbehaving.echo.remote(7)) == 7


@pytest.mark.parametrize(
    "what", ["what only a driver says", "that it has room which it was not granted", "its name again"]
)
def test_a_worker_that_says_what_cannot_be_is_ended_and_its_task_fails(cluster: Place, what: str) -> None:
    with pytest.raises(exceptions.WorkerCrashedError):
        nbaccel.get(misbehaving.speak_out_of_turn.remote(what))
    assert nbaccel.get(misbehaving.echo.remote(7)) == 7


def test_a_driver_that_tells_of_room_it_was_not_granted_is_told_and_ended(cluster: Place) -> None:
    ours = nbaccel.put(numpy.ones(1_000_000, dtype=numpy.uint8))
    for offset in (0, 4096, -1, 1 << 40):
        sock, reader = raw_driver()
        sock.sendall(wire.frame([wire.Put(b"o" * 28, wire.Value(wire.OK, None, offset, 100))]))
        assert "where its writer was given no range" in last_word(sock, reader).message
        sock.close()
    assert int(nbaccel.get(ours).sum()) == 1_000_000


def test_what_a_driver_still_says_after_its_goodbye_counts_for_nothing(cluster: Place) -> None:
    everything = int(nbaccel.cluster_resources()["object_store_memory"])
    sock, reader = raw_driver()
    with sock:
        sock.sendall(
            wire.frame([wire.Bye(), wire.Allocate(1, everything), wire.QuestionMessage(1, "no such question")])
        )
        sock.shutdown(socket.SHUT_WR)
        received: list[Any] = []
        while data := sock.recv(1 << 16):
            received += reader.feed(data)
    assert received == []
    assert nbaccel.available_resources()["object_store_memory"] == everything


def test_room_that_a_driver_waited_for_when_it_ended_stays_free(cluster: Place) -> None:
    everything = int(nbaccel.cluster_resources()["object_store_memory"])
    first, reader = raw_driver()
    second, _reader = raw_driver()
    with first, second:
        first.sendall(wire.frame([wire.Allocate(1, everything)]))
        while not any(type(message) is wire.Allocated for message in reader.feed(first.recv(1 << 16))):
            pass
        second.sendall(wire.frame([wire.Allocate(1, 100)]))
        second.shutdown(socket.SHUT_WR)
        while second.recv(1 << 16):  # the head has read all of it, and lets the driver go
            pass
    wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "the room to be free")


def test_a_value_larger_than_the_room_that_was_granted_is_not_taken(cluster: Place) -> None:
    sock, reader = raw_driver()
    sock.sendall(wire.frame([wire.Allocate(1, 100)]))
    rooms: list[Any] = []
    while not rooms:
        rooms += [message for message in reader.feed(sock.recv(1 << 16)) if type(message) is wire.Allocated]
    (room,) = rooms
    sock.sendall(wire.frame([wire.Put(b"o" * 28, wire.Value(wire.OK, None, room.offset, 1 << 20))]))
    assert "where the range is smaller" in last_word(sock, reader).message
    sock.close()
