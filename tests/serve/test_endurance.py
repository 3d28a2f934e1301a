"""What only numbers show: damaged requests and frames, many requests, many redeployments. `-m slow` runs them."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import re
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from nbaccel import serve
from nbaccel.serve import callers, serving
from nbaccel.serve.link import FrameKind, FrameLink, LinkLost, connect, pack
from nbaccel.serve.records import ControlCall, HandleCall, HttpCall, encode
from tests.census import Place
from tests.rig import wait_until
from tests.serve.conftest import connection
from tests.serve.load import load
from tests.serve.loop_thread import LoopThread

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

REQUESTS = 10_000
FRAMES = 10_000
MANY = 100_000
DEPLOYMENTS = 1_000
PATIENCE_S = 0.2  # some cases are the beginning of a request: the door waits, and we go
MOST_GROWTH = 12 << 20  # bytes of a process; the allocator keeps some of a burst
VALID = [
    b"GET /a?b=1 HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"PUT /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    b"HEAD / HTTP/1.1\r\nHost: x\r\nx-request-timeout-seconds: 3\r\nx-request-id: a\r\n\r\n" * 2,
]

MINUTE_S = 60
MINUTE = f"""
import ctypes, os, signal, time
import nbaccel
from nbaccel import serve

def deployed(version):
    @serve.deployment(num_replicas=2, max_ongoing_requests=20)
    class Model:
        async def __call__(self, request):
            return version

    serve.run(Model.bind())

nbaccel.init(num_cpus=4)
deployed("0")
print(serve.status().url + "/", flush=True)
began = time.monotonic()
killed = 0
while time.monotonic() - began < {MINUTE_S}:
    if killed in (3, 6, 9):
        deployed(str(killed))
    replicas = serve.status().applications["default"].deployments["Model"].replicas
    os.kill(next(each["pid"] for each in replicas if each["state"] == "RUNNING"), signal.SIGKILL)
    killed += 1
    ctypes.PyDLL(None).sleep(4)  # and holds the interpreter
print(killed, "were killed", flush=True)
time.sleep(2)
nbaccel.shutdown()
print("ended", flush=True)
"""


@serve.deployment(max_ongoing_requests=20)
class Echo:
    def __init__(self, number: int = 0) -> None:
        self.number = number

    async def __call__(self, request: Any) -> Any:
        return {"number": self.number, "size": len(await request.body())}


def mutated(rng: random.Random, text: bytes) -> bytes:
    """Some bytes are changed, taken away, doubled, or made long."""
    made = bytearray(text)
    for _ in range(rng.randint(1, 6)):
        at, length = rng.randrange(len(made) or 1), rng.choice((1, 1, 2, 5, 20))
        how = rng.randrange(6)
        if how == 0:
            made[at : at + length] = rng.randbytes(length)
        elif how == 1:
            del made[at : at + length]
        elif how == 2:
            made[at:at] = made[at : at + 5 * length]
        elif how == 3:
            made[at:at] = rng.choice(
                (b"\r\n", b"\n", b"\0", b"\xff\xfe", b": ", b"99999999999", b"-1", b"%zz", b"chunked")
            )
        elif how == 4:
            made[at:at] = bytes([rng.randrange(256)]) * rng.choice((100, 3000))
        else:
            made = made[: at + 1]
    return bytes(made)


def door_process() -> psutil.Process:
    return psutil.Process(serving._ask("status")["pid"])


def replica_process() -> psutil.Process:
    [row] = serve.status().applications["default"].deployments["Echo"].replicas
    return psutil.Process(row["pid"])


def sizes(*processes: psutil.Process) -> list[tuple[int, int]]:
    """Memory and descriptors of each."""
    return [(each.memory_full_info().uss, each.num_fds()) for each in processes]


def assert_no_growth(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> None:
    for (bytes_before, fds_before), (bytes_after, fds_after) in zip(before, after, strict=True):
        assert bytes_after - bytes_before < MOST_GROWTH and fds_after - fds_before < 20, (before, after)


def throw(cases: list[bytes], connected: Any) -> None:
    for case in cases:
        with connected() as client:
            try:
                client.sendall(case)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65_536):
                    pass
            except OSError:
                pass  # it was refused in the midst of it


def test_damaged_requests_do_no_harm(door: Any, capfd: pytest.CaptureFixture[str]) -> None:
    serve.run(Echo.bind())
    url = urlsplit(serve.status().url)
    rng = random.Random(1)
    cases = [mutated(rng, rng.choice(VALID)) for _ in range(REQUESTS)]

    def connected() -> socket.socket:
        made = socket.create_connection((url.hostname, url.port))
        made.settimeout(PATIENCE_S)
        return made

    processes = [door_process(), replica_process()]
    throw(cases[:1000], connected)
    before = sizes(*processes)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda part: throw(part, connected), [cases[start::4] for start in range(4)]))
    wait_until(lambda: door_process().num_fds() < before[0][1] + 20, "the door to see that its clients have left")
    assert_no_growth(before, sizes(*processes))
    assert [door_process().pid, replica_process().pid] == [each.pid for each in processes]
    assert door("/", "POST", b"abc").json == {"number": 0, "size": 3}
    assert serving._ask("status")["apps"]["default"]["counts"]["under_way"] == 0
    assert "Traceback" not in "".join(capfd.readouterr())


def frames(rng: random.Random) -> bytes:
    """Some frames of the language, of which some are damaged."""
    metas = [
        encode(HttpCall("GET", "/", b"/", b"", "", [(b"host", b"x")], None, None, "http", "1.1", "id")),
        encode(HandleCall("__call__", "id")),
        encode(ControlCall(rng.choice(("check", "state", "nothing")))),
        encode(
            {"op": rng.choice(("status", "delete", "nothing", "watch")), "name": "x", "app": "x", "deployment": "y"}
        ),
        b"",
    ]
    kinds = [kind for kind in FrameKind if kind is not FrameKind.LOST]
    made = b"".join(
        pack(
            rng.choice(kinds),
            rng.choice((0, 1, 1, 2, 2**31, 2**32 - 1)),
            rng.choice(metas),
            rng.randbytes(rng.choice((0, 9))),
        )
        for _ in range(rng.randint(1, 4))
    )
    return mutated(rng, made) if rng.random() < 0.8 else made


def test_damaged_frames_do_no_harm_at_either_end(door: Any, capfd: pytest.CaptureFixture[str]) -> None:
    serve.run(Echo.bind())
    folder = callers.folder()
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    own = [path for path in paths if os.path.basename(path) != "http" and not os.path.isfile(path)]
    assert len(own) == 2, "the door's and one replica's"
    rng = random.Random(2)
    cases = [frames(rng) for _ in range(FRAMES)]
    processes = [door_process(), replica_process()]
    before: list[tuple[int, int]] = []
    for number, case in enumerate(cases):

        def connected(path: str = own[number % 2]) -> socket.socket:
            made = socket.socket(socket.AF_UNIX)
            made.settimeout(PATIENCE_S)
            made.connect(path)
            return made

        throw([case], connected)
        if number == 1000:
            before = sizes(*processes)
    assert_no_growth(before, sizes(*processes))
    assert [door_process().pid, replica_process().pid] == [each.pid for each in processes]
    assert door("/", "POST", b"abc").json == {"number": 0, "size": 3}
    _throw_at_the_calling_end(cases, os.path.join(folder, "fuzz"))
    assert "Traceback" not in "".join(capfd.readouterr())


def _throw_at_the_calling_end(cases: list[bytes], path: str) -> None:
    """Each case is the answer to a call."""
    troubles: list[dict[str, Any]] = []
    left = iter(cases)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(next(left))
        writer.close()

    async def some(part: list[bytes]) -> int:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: troubles.append(context))
        server = await asyncio.start_unix_server(answer, path)
        ended = 0
        for _ in part:
            link = await connect(path, FrameLink)
            try:
                async with asyncio.timeout(60):
                    await link.ask(b"x")
            except (LinkLost, OSError):
                pass
            ended += 1
            link.close()
        server.close()
        os.unlink(path)
        gc.collect()
        return ended

    loop = LoopThread()
    try:
        ended = sum(loop.run(some(cases[start : start + 1000])) for start in range(0, len(cases), 1000))
    finally:
        loop.end()
    assert ended == len(cases)
    assert troubles == []


def test_many_requests_leave_nothing(door: Any) -> None:
    serve.run(Echo.bind())
    processes = [door_process(), replica_process()]

    def ask(number: int) -> None:
        client = connection()
        for _ in range(number):
            client.request("POST", "/", b"x" * 100)
            assert client.getresponse().read() == b'{"number":0,"size":100}'
        client.close()

    def all_at_once(number: int) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, [number // 4] * 4))

    all_at_once(MANY // 5)
    before = sizes(*processes)
    all_at_once(MANY)
    after = sizes(*processes)
    print("bytes and descriptors of door and replica:", before, after)
    assert_no_growth(before, after)


def test_many_redeployments_leave_nothing_and_lose_no_request(door: Any) -> None:
    serve.run(Echo.bind(0))
    process, own = door_process(), psutil.Process()
    before: list[tuple[int, int]] = []
    with load(1) as asking:
        for number in range(1, DEPLOYMENTS + 1):
            serve.run(Echo.bind(number))
            if number == DEPLOYMENTS // 5:
                before = sizes(process, own)
        asking.more()
    after = sizes(process, own)
    print("bytes and descriptors of door and driver:", before, after, "requests:", asking.good)
    assert asking.wrong == []
    assert door("/", "POST", b"").json["number"] == DEPLOYMENTS
    assert len(os.listdir(callers.folder())) <= 5
    assert_no_growth(before, after)


@pytest.mark.skipif(not (shutil.which("wrk") and shutil.which("hey")), reason="apt-get install wrk hey")
def test_no_client_sees_replicas_that_are_killed_or_versions_that_are_replaced(place: Place) -> None:
    """Public tools ask for a minute. Each cell that is run again has other code, and its kernel sits in C meanwhile."""
    driver = place.start(MINUTE)
    assert driver.stdout is not None
    url = driver.stdout.readline().strip()
    commands = (["wrk", "-t1", "-c20", f"-d{MINUTE_S}", url], ["hey", "-z", f"{MINUTE_S}s", "-c", "10", url])
    clients = [subprocess.Popen(each, stdout=subprocess.PIPE, text=True) for each in commands]
    by_wrk, by_hey = (client.communicate()[0] for client in clients)
    out, errors = driver.communicate(timeout=300)
    print(by_wrk, by_hey, out)
    assert out.split()[-1] == "ended", errors[-3000:]
    assert "requests in" in by_wrk and "Non-2xx" not in by_wrk and "Socket errors" not in by_wrk
    assert re.findall(r"\[(\d+)]\t\d+ responses", by_hey) == ["200"] and "Error distribution" not in by_hey
