"""Who may come: tokens, addresses, sizes, and where the door listens."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from nbaccel import serve
from tests.ports import free_port
from tests.rig import wait_until
from tests.serve.conftest import Answer, connection

Door = Callable[..., Answer]


@serve.deployment
async def size(request: Any) -> int:
    return len(await request.body())


def test_a_token_is_asked_for_before_the_body_is_read(door: Door) -> None:
    serve.run(size.bind(), token=True)
    token = serve.token_of()
    assert token is not None and len(token) >= 43
    assert door("/", authorization=f"Bearer {token}").status == 200
    assert door("/", authorization=f"bearer {token}").status == 200
    refused = door("/")
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    for wrong in ("Bearer x", f"Basic {token}", f"Bearer {token}x", token, "Bearer", f"Bearer {token} {token}"):
        assert door("/", authorization=wrong).status == 401
    assert door("/-/healthz").status == 200
    with socket.create_connection(_address()) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")  # and no byte of it
        assert client.recv(12) == b"HTTP/1.1 401"


def test_a_header_that_comes_twice_is_refused(door: Door) -> None:
    serve.run(size.bind(), token=["one", "two"])
    assert [door("/", authorization=f"Bearer {name}").status for name in ("one", "two", "three")] == [200, 200, 401]
    client = connection()
    client.putrequest("GET", "/")
    client.putheader("Authorization", "Bearer one")
    client.putheader("Authorization", "Bearer two")
    client.endheaders()
    assert client.getresponse().status == 401
    client.close()


def test_the_same_cell_with_a_token_changes_nothing(door: Door) -> None:
    serve.run(size.bind(), token=True)
    before = serve.token_of()
    serve.run(size.bind(), token=True)
    assert serve.token_of() == before
    with pytest.raises(ValueError, match="blanks"):
        serve.run(size.bind(), token=" x")


def _address() -> tuple[str, int]:
    url = urlsplit(serve.status().url)
    return url.hostname or "", url.port or 0


def test_a_body_that_is_too_large_is_a_413_by_its_length_or_as_soon_as_it_is(door: Door) -> None:
    serve.run(size.bind())
    serve.start(http_options={"max_body_mb": 1})
    try:
        assert door("/", "POST", b"x" * (1 << 20)).json == 1 << 20
        with socket.create_connection(_address()) as client:
            client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 413"
        with socket.create_connection(_address()) as client:
            client.settimeout(60)
            client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                for _ in range(40):
                    client.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            except OSError:
                pass  # it has been closed already
            assert client.recv(12) in (b"HTTP/1.1 413", b"")
    finally:
        serve.start(http_options={})


def test_another_start_moves_the_door_and_open_connections_go_on(door: Door) -> None:
    serve.run(size.bind())
    before = serve.status().url
    client = connection()
    client.request("GET", "/")
    client.getresponse().read()
    port = free_port()
    serve.start(http_options={"port": port, "request_timeout_s": 5})
    try:
        assert serve.status().url == f"http://127.0.0.1:{port}"
        assert door("/").status == 200
        client.request("GET", "/")
        assert client.getresponse().read() == b"0"

        def is_shut() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", int(before.rpartition(":")[2]))) != 0

        wait_until(is_shut, "the old port")
    finally:
        client.close()
        serve.start(http_options={})


def test_another_address_than_loopback_needs_a_token_or_a_word(door: Door) -> None:
    serve.delete("default")
    serve.start(http_options={"host": "0.0.0.0", "port": free_port()})
    try:
        with pytest.raises(ValueError, match="token=True"):
            serve.run(size.bind())
        serve.run(size.bind(), token=False)
        assert door("/").status == 200
    finally:
        serve.start(http_options={})


def test_moving_a_door_without_tokens_to_another_address_is_refused(door: Door) -> None:
    serve.run(size.bind())
    with pytest.raises(ValueError, match="default asks for no token"):
        serve.start(http_options={"host": "0.0.0.0"})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"prot": 1}, TypeError, "no prot"),
        ({"port": "x"}, TypeError, "http_options"),
        ({"location": "EveryNode"}, ValueError, "one door"),
        ({"ssl_keyfile": "x"}, ValueError, "together"),
    ],
)
def test_wrong_options_of_the_door_are_named(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        serve.start(http_options=options)
