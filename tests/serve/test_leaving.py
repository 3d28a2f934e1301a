"""Clients that leave at once: what they asked takes no slot of a replica and no place in the queue."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

import nbaccel
from nbaccel import serve
from nbaccel.serve import callers, serving
from nbaccel.serve.exceptions import RequestCancelledError
from nbaccel.serve.link import FrameKind, pack
from nbaccel.serve.records import HandleCall, encode
from tests.rig import Gate, wait_until


@serve.deployment(max_ongoing_requests=1)
class Lone:
    def __init__(self, gate: Any) -> None:
        self._gate = gate

    async def __call__(self, request: Any) -> str:
        if request.url.path == "/wait":
            await self._gate.wait.remote()
        return "ok"


def connected() -> socket.socket:
    url = urlsplit(serve.status().url)
    return socket.create_connection((url.hostname, url.port), timeout=60)


def queued() -> int:
    number: int = serving._ask("status")["apps"]["default"]["queued"]
    return number


def test_a_call_that_is_cancelled_in_its_own_packet_takes_no_slot(door: Any) -> None:
    serve.run(Lone.bind(None))
    [name] = [name for name in os.listdir(callers.folder()) if name not in ("door", "http", "goal")]
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(os.path.join(callers.folder(), name))
        client.sendall(pack(FrameKind.CALL, 1, encode(HandleCall("__call__", "id"))) + pack(FrameKind.CANCEL, 1))
        assert door("/", x_request_timeout_seconds="20").status == 200


def test_a_request_with_damage_behind_it_does_not_run_and_leaves_the_queue(door: Any) -> None:
    gate = Gate.remote()
    serve.run(Lone.bind(gate))
    with connected() as busy, connected() as damaged:
        busy.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the request to run")
        damaged.sendall(b"PUT / HTTP/1.1\r\nHost: x\r\n\r\nabc")
        assert damaged.recv(100).startswith(b"HTTP/1.1 400")
        wait_until(lambda: queued() == 0, "the queue to be empty")
        nbaccel.get(gate.open.remote())
        assert busy.recv(100).startswith(b"HTTP/1.1 200")
    assert serving._ask("status")["apps"]["default"]["counts"]["requests"] == 1


def test_a_response_that_is_cancelled_before_it_is_sent_ends(door: Any) -> None:
    @serve.deployment
    class Waits:
        async def __call__(self) -> None:
            await asyncio.Event().wait()  # no answer can come before the cancel

    handle = serve.run(Waits.bind(), route_prefix=None)
    for _ in range(20):
        response = handle.remote()
        response.cancel()
        with pytest.raises(RequestCancelledError):
            response.result(timeout_s=60)


@pytest.mark.extra("websockets")
def test_a_websocket_to_a_plain_deployment_is_refused_in_one_line(door: Any, capfd: pytest.CaptureFixture[str]) -> None:
    serve.run(Lone.bind(None))
    with connected() as client:
        client.sendall(
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 403")
    said: list[str] = []

    def has_line() -> bool:
        said.extend(capfd.readouterr())
        return "needs an ASGI app" in "".join(said)

    wait_until(has_line, "the line")
    assert "Traceback" not in "".join(said)


@pytest.mark.parametrize("of_door", [True, False], ids=["door", "replica"])
def test_a_call_with_a_damaged_text_closes_its_link_alone(
    door: Any, of_door: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    serve.run(Lone.bind(None))
    [name] = [name for name in os.listdir(callers.folder()) if name not in ("door", "http", "goal")]
    meta = encode({"op": "nothing"} if of_door else HandleCall("nothing", "id")).replace(b"nothing", b"noth\xa1ng")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(os.path.join(callers.folder(), "door" if of_door else name))
        client.sendall(pack(FrameKind.CALL, 1, meta))
        assert client.recv(100) == b""
    assert door("/").status == 200
    assert "Traceback" not in "".join(capfd.readouterr())
