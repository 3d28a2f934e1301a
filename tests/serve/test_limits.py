"""Strangers at the door: what its protocol of HTTP does with heads, bodies, connections and readers."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nbaccel.serve import http_protocol
from nbaccel.serve.http_protocol import REQUEST, Counters, HttpProtocol, Limits
from tests.rig import wait_until
from tests.serve.loop_thread import LoopThread


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the method, the path and the length of the body; /big sends without end."""
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-app", b"1")]})
    task = asyncio.current_task()
    assert task is not None
    if REQUEST in scope:  # uvicorn's own protocol has none
        scope[REQUEST].leave = task.cancel
    while scope["path"] == "/big":
        await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
    body = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} {size}".encode()
    await send({"type": "http.response.body", "body": body})


class Server:
    def __init__(self, protocol: Callable[..., Any], counters: Counters) -> None:
        self.counters = counters
        self.loop = LoopThread()
        config = Config(app, log_config=None, lifespan="off", server_header=False, ws="none")
        config.load()
        listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port = listener.getsockname()[1]

        async def begin() -> asyncio.Server:
            loop = asyncio.get_running_loop()
            return await loop.create_server(lambda: protocol(config, counters, loop), sock=listener)

        self._server = self.loop.run(begin())

    def end(self) -> None:
        async def end() -> None:
            self._server.close()
            for connection in list(self.counters.connections):
                connection.transport.abort()
            await asyncio.sleep(0)

        self.loop.run(end())
        self.loop.end()

    def connect(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port))
        made.settimeout(30)
        return made

    def ask(self, request: bytes) -> bytes:
        """Send it, and read until the server closes."""
        with self.connect() as client:
            client.sendall(request)
            return everything(client)


def everything(client: socket.socket) -> bytes:
    received = b""
    try:
        while part := client.recv(1 << 16):
            received += part
    except ConnectionResetError:
        pass
    return received


def status(answer: bytes) -> int:
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0


@contextmanager
def serving(**limit: Any) -> Iterator[Server]:
    server = Server(HttpProtocol, Counters(Limits(**limit)))
    try:
        yield server
    finally:
        server.end()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


GOOD = b"GET /ok HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def test_half_a_head_is_closed_after_its_time_and_others_are_served() -> None:
    with serving(head_s=0.3) as server:
        clients = [server.connect() for _ in range(100)]
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        assert status(server.ask(GOOD)) == 200
        for client in clients:
            assert status(everything(client)) == 408
            client.close()
        assert server.counters.slow == 100


def test_a_head_that_trickles_does_not_get_more_time() -> None:
    with serving(head_s=0.3) as server, server.connect() as client:
        answer: list[bytes] = []
        reading = threading.Thread(target=lambda: answer.append(everything(client)))
        reading.start()
        for sign in b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000:
            try:
                client.sendall(bytes([sign]))
            except OSError:
                break
            if answer:
                break
            time.sleep(0.01)
        reading.join()
        assert status(answer[0]) in (0, 408)
        assert server.counters.slow == 1


def test_a_body_that_stops_or_trickles_is_closed() -> None:
    with serving(body_pause_s=0.2) as server, server.connect() as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        assert everything(client) == b""
        assert server.counters.slow == 1
    with serving(body_span_s=0.3) as server, server.connect() as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")

        def refused() -> bool:
            try:
                client.sendall(b"x")
            except OSError:
                return True
            return server.counters.slow == 1

        wait_until(refused, "the end of a trickle")


def test_a_connection_after_a_slow_body_is_measured_anew(server: Server) -> None:
    with server.connect() as client:
        client.sendall(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab")
        time.sleep(0.01)
        client.sendall(b"c" + GOOD)
        answer = everything(client)
    assert answer.count(b"HTTP/1.1 200") == 2 and b"POST /a  3" in answer


def test_beyond_the_limit_the_oldest_idle_connection_goes() -> None:
    with serving(max_connections=10) as server:
        idle = [server.connect() for _ in range(10)]
        wait_until(lambda: len(server.counters.connections) == 10, "the connections")
        assert status(server.ask(GOOD)) == 200
        assert everything(idle[0]) == b""
        wait_until(lambda: len(server.counters.connections) == 9, "the others to stay")
        for client in idle:
            client.close()


def test_where_all_connections_are_busy_a_new_one_gets_503() -> None:
    with serving(max_connections=2) as server:
        busy = [server.connect(), server.connect()]
        for client in busy:
            client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
        wait_until(lambda: len(server.counters.connections) == 2 and not server.counters.idle, "the requests")
        assert status(server.ask(GOOD)) == 503
        for client in busy:
            client.close()


def test_a_reader_that_takes_nothing_is_closed_and_its_app_waits_meanwhile() -> None:
    with serving(reader_s=0.3) as server, server.connect() as client:
        client.sendall(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: server.counters.slow == 1, "the end of the reader")
        assert status(server.ask(GOOD)) == 200


def test_descriptors_bound_the_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol.resource, "getrlimit", lambda which: (64, 64))
    assert http_protocol.connections(2000) == 32


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 70_000, 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(201)) + b"\r\n", 431),
        (b"GET /" + b"y" * 17_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\rHost: x\r\r", 400),
        (b"GET / HTTP/1.1\nHost: x\n\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n", 400),
        (b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /%ff%00\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400),
    ],
    ids=lambda value: (
        value[:30].decode("latin-1").encode("unicode_escape").decode() if isinstance(value, bytes) else str(value)
    ),
)
def test_what_is_too_large_or_no_http_is_refused_and_closed(server: Server, request_: bytes, expected: int) -> None:
    assert status(server.ask(request_)) == expected
    assert status(server.ask(GOOD)) == 200


ORDINARY = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /a/?x=1&x=2&y=%20 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /a%2Fb/%C3%A4 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://x/abs HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
    b"POST /3 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"Cookie: a%d=b\r\n" % n for n in range(150)) + b"\r\n",
    b"PATCH / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
    b"DELETE /x HTTP/1.1\r\nhOsT:   x  \r\nX-Empty:\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n",
]


def test_ordinary_requests_are_answered_byte_for_byte_as_by_uvicorn_alone(server: Server) -> None:
    def uvicorns(config: Config, counters: Counters, loop: asyncio.AbstractEventLoop) -> HttpToolsProtocol:
        return HttpToolsProtocol(config, counters, {}, loop)

    plain = Server(uvicorns, Counters(Limits()))
    try:
        for request in [*ORDINARY, *(each + GOOD for each in ORDINARY)]:
            answers = [
                b"\r\n".join(line for line in one.split(b"\r\n") if not line.lower().startswith(b"date:"))
                for one in (plain.ask(request + GOOD), server.ask(request + GOOD))
            ]
            assert answers[0] == answers[1]
    finally:
        plain.end()


def test_mutated_requests_never_reach_the_loops_exception_handler(server: Server) -> None:
    chance = random.Random(1)
    seen: list[Any] = []
    server.loop.loop.call_soon_threadsafe(
        lambda: server.loop.loop.set_exception_handler(lambda loop, facts: seen.append(facts))
    )
    for _ in range(400):
        request = bytearray(chance.choice(ORDINARY))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(request))
            request[place : place + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 4))
        with server.connect() as client:
            client.sendall(bytes(request))
            client.shutdown(socket.SHUT_WR)
    assert status(server.ask(GOOD)) == 200
    wait_until(lambda: len(server.counters.connections) == 0, "the connections to end")
    assert seen == []
