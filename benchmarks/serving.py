"""Requests over HTTP: nbaccel.serve, uvicorn with a bare ASGI function, FastAPI, Ray Serve, LitServe and mosec.

    python benchmarks/serving.py --repeat 5
    python benchmarks/serving.py --only uvicorn,nbaccel --repeat 7

Each contender answers a no-op and a JSON of 1 KB that it parses and returns, over 1 and 50 connections, 3 s each, and a
stream of 2,000 chunks, each in a turn of its own; before and after, an answer is compared. Load is wrk's if it is
installed (apt install wrk), else that of a small client in Python, which is itself the bottleneck. CPU is that of all
processes of a contender but the one that asks. The handler is the same async function wherever there is one, and its
stream is Starlette's; `nbaccel_fastapi` is a FastAPI ingress and is compared with `fastapi`, plain uvicorn and FastAPI.
LitServe and mosec (pip install litserve mosec) take POST requests alone, so that they have no row of the no-op.
`ray_throughput` is Ray Serve with RAY_SERVE_THROUGHPUT_OPTIMIZED=1, whose handles give nothing to a driver that waits,
so that it has no row of them. Ratios are to uvicorn in the same round. With Ray a
round takes two minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a script, the directory above is not there

from benchmarks import census, rounds  # noqa: E402
from benchmarks.rounds import Figures  # noqa: E402

SECONDS = 3
CHUNKS = 2000
PAYLOAD = json.dumps({"text": "x" * 1000}).encode()
ROWS = {
    f"{kind}_{connections}_{what}": f"{words}, {connections} connections: {unit}"
    for kind, words in (("noop", "no-op"), ("echo", "1 KB of JSON"))
    for connections in (1, 50)
    for what, unit in (("rate", "requests/s"), ("p50", "p50 (ms)"), ("p95", "p95 or p90 (ms)"), ("cpu", "CPU (µs)"))
} | {
    "first": "first byte of a stream (ms)",
    "chunk": "CPU of a chunk of a stream (µs)",
    "idle": "CPU of all processes without a request (% of a core)",
    "up": "from the cell to the first answer, cluster up (s)",
    "again": "the same cell again (s)",
    "handle": "a lone call of a handle, plain method (ms)",
    "async_handle": "the same, async method (ms)",
    "batch": "more for a lone call of a batch function with nothing to wait for (ms)",
    "call": "a lone call of an actor (ms)",
    "memory": "memory of all processes but the client's (MB)",
}

PLAIN = """
import asyncio
import json

from starlette.responses import StreamingResponse

async def chunks():
    for number in range(2000):
        yield b"%15d\\n" % number
        await asyncio.sleep(0)

async def app(scope, receive, send):
    if scope["path"] == "/stream":
        return await StreamingResponse(chunks(), media_type="text/plain")(scope, receive, send)
    body = b""
    more = scope["method"] == "POST"
    while more:
        message = await receive()
        body += message["body"]
        more = message["more_body"]
    answer = json.dumps(json.loads(body), separators=(",", ":")).encode() if body else b"ok"
    kind = b"application/json" if body else b"text/plain; charset=utf-8"
    headers = [(b"content-type", kind), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
"""
FASTAPI = """
import asyncio

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, StreamingResponse

app = FastAPI()

async def chunks():
    for number in range(2000):
        yield b"%15d\\n" % number
        await asyncio.sleep(0)

@app.get("/stream")
async def stream():
    return StreamingResponse(chunks(), media_type="text/plain")

@app.get("/", response_class=PlainTextResponse)
async def noop():
    return "ok"

@app.post("/")
async def echo(request: Request):
    return await request.json()
"""

LITSERVE = """
import sys

sys.modules["mcp"] = None  # LitServe 0.2.19 does not start beside mcp 2
import litserve

class Echo(litserve.LitAPI):
    def setup(self, device):
        pass

    def decode_request(self, request):
        return request

    def predict(self, thing):
        return thing

    def encode_response(self, thing):
        return thing

if __name__ == "__main__":
    server = litserve.LitServer(Echo(), accelerator="cpu", workers_per_device=1)
    server.run(port=int(sys.argv[1]), generate_client_file=False, log_level="error", access_log=False)
"""
MOSEC = """
from mosec import Server, Worker

class Echo(Worker):
    def forward(self, data):
        return data

if __name__ == "__main__":
    server = Server()
    server.append_worker(Echo)
    server.run()
"""


async def chunks() -> AsyncIterator[bytes]:
    for number in range(CHUNKS):
        yield b"%15d\n" % number
        await asyncio.sleep(0)


async def handler(request: Any) -> Any:
    if request.url.path == "/stream":
        from starlette.responses import StreamingResponse

        return StreamingResponse(chunks(), media_type="text/plain")
    return await request.json() if request.method == "POST" else "ok"


# ---- load


def measured(url: str) -> Figures:
    """All rows of one server."""
    return requested(url, "noop", "echo") | streamed(url) | at_rest()


def requested(url: str, *kinds: str) -> Figures:
    figures: Figures = {}
    for kind in kinds:
        check(url, kind)
        for connections in (1, 50):
            pids = census.members()
            before = census.cpu_s(pids)
            facts = load(url, kind, connections)
            cpu_s = census.cpu_s(pids) - before
            name = f"{kind}_{connections}"
            figures[f"{name}_rate"] = facts["requests"] / SECONDS
            figures[f"{name}_cpu"] = cpu_s / facts["requests"] * 1e6
            figures[f"{name}_p50"], figures[f"{name}_p95"] = facts["p50"], facts["p95"]
        check(url, kind)
    return figures


def at_rest() -> Figures:
    return {"idle": idle_percent(), "memory": census.pss_bytes(census.members()) / 1e6}


def streamed(url: str) -> Figures:
    firsts = []
    before = census.cpu_s(pids := census.members())
    for _ in range(5):
        began = time.perf_counter()
        with urllib.request.urlopen(f"{url}stream", timeout=60) as answer:
            answer.read(1)
            firsts.append(time.perf_counter() - began)
            assert len(answer.read()) == CHUNKS * 16 - 1
    return {"first": sorted(firsts)[2] * 1000, "chunk": (census.cpu_s(pids) - before) / (5 * CHUNKS) * 1e6}


def idle_percent() -> float:
    time.sleep(1)
    before = census.cpu_s(pids := census.members())
    time.sleep(SECONDS)
    return (census.cpu_s(pids) - before) / SECONDS * 100


def check(url: str, kind: str) -> None:
    data = PAYLOAD if kind == "echo" else None
    asked = urllib.request.Request(url, data, {"content-type": "application/json"} if data else {})
    answer = urllib.request.urlopen(asked, timeout=60).read()
    assert (json.loads(answer) if data else answer) == (json.loads(PAYLOAD) if data else b"ok"), answer


def load(url: str, kind: str, connections: int) -> dict[str, float]:
    """Ask for some seconds: requests, p50 and p95 in ms. Raises AssertionError for an answer that is not 200."""
    return by_wrk(url, kind, connections) if shutil.which("wrk") else asyncio.run(by_hand(url, kind, connections))


def by_wrk(url: str, kind: str, connections: int) -> dict[str, float]:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        if kind == "echo":
            script.write(f"wrk.method = 'POST'\nwrk.body = '{PAYLOAD.decode()}'\n")
            script.write("wrk.headers['Content-Type'] = 'application/json'\n")
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}", "--latency", "-s", script.name, url]
        environ = {name: value for name, value in os.environ.items() if name != census.TOKEN_VARIABLE}
        out = subprocess.run(command, capture_output=True, text=True, check=True, env=environ).stdout
    assert "Non-2xx" not in out and "Socket errors" not in out, out
    found = re.search(r"(\d+) requests in", out)
    assert found is not None, out
    return {"requests": float(found[1]), "p50": wrks_ms(out, "50"), "p95": wrks_ms(out, "90")}


def wrks_ms(out: str, percent: str) -> float:
    found = re.search(rf"^ +{percent}% +([\d.]+)(us|ms|s)", out, re.MULTILINE)
    assert found is not None, out
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


async def by_hand(url: str, kind: str, connections: int) -> dict[str, float]:
    host, _, port = url.removeprefix("http://").strip("/").partition(":")
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(PAYLOAD)
    request = head + PAYLOAD if kind == "echo" else b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    times: list[float] = []
    end = time.perf_counter() + SECONDS

    async def client() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        while (began := time.perf_counter()) < end:
            writer.write(request)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert answer.startswith(b"http/1.1 200"), answer
            await reader.readexactly(int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0]))
            times.append(time.perf_counter() - began)
        writer.close()

    await asyncio.gather(*(client() for _ in range(connections)))
    times.sort()
    return {
        "requests": len(times),
        "p50": times[len(times) // 2] * 1000,
        "p95": times[int(len(times) * 0.95)] * 1000,
    }


def lone_ms(call: Callable[[], Any], number: int = 300) -> float:
    """The median of so many calls, one after the other."""
    times = []
    for _ in range(number):
        began = time.perf_counter()
        assert call() == "ok"
        times.append(time.perf_counter() - began)
    return sorted(times)[number // 2] * 1000


# ---- contenders


@contextlib.contextmanager
def uvicorns(source: str) -> Iterator[str]:
    """uvicorn with a program of this source, as a user starts it, without logs."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(source)
        command = [sys.executable, "-m", "uvicorn", "--app-dir", folder, "program:app", "--port", "0"]
        process = subprocess.Popen([*command, "--no-access-log"], stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if found := re.search(r"running on (http://\S+)", line):
                    yield found[1] + "/"
                    break
        finally:
            process.terminate()
            process.communicate()


def plain_uvicorn() -> Figures:
    os.environ[census.TOKEN_VARIABLE] = secrets.token_hex(8)
    with uvicorns(PLAIN) as url:
        return measured(url)


def plain_fastapi() -> Figures:
    os.environ[census.TOKEN_VARIABLE] = secrets.token_hex(8)
    with uvicorns(FASTAPI) as url:
        return measured(url)


def posted(source: str, path: str, options: Callable[[int], list[str]]) -> Figures:
    """A program that answers POST requests alone, once it does."""
    os.environ[census.TOKEN_VARIABLE] = secrets.token_hex(8)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/{path}"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(source)
        server = subprocess.Popen([sys.executable, str(program), *options(port)], stdout=2, start_new_session=True)
        try:
            end = time.monotonic() + 60
            while not answers(url):
                assert server.poll() is None and time.monotonic() < end, "the server has not come up"
                time.sleep(0.1)
            return requested(url, "echo") | at_rest()
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def answers(url: str) -> bool:
    try:
        check(url, "echo")
    except OSError:
        return False
    return True


def with_litserve() -> Figures:
    return posted(LITSERVE, "predict", lambda port: [str(port)])


def with_mosec() -> Figures:
    return posted(MOSEC, "inference", lambda port: ["--port", str(port)])


class Called:
    def call(self) -> str:
        return "ok"

    async def plain(self) -> str:
        return "ok"

    async def batched(self) -> Any:
        return await self.answers(None)

    async def __call__(self, request: Any) -> Any:
        return await handler(request)


def served(serve: Any, core: Any, *, with_calls: bool = True) -> Figures:
    """The same program on nbaccel and on Ray."""

    class Served(Called):
        @serve.batch(max_batch_size=8, batch_wait_timeout_s=0)
        async def answers(self, items: list[Any]) -> list[str]:
            return ["ok"] * len(items)

    deployment = serve.deployment(max_ongoing_requests=100)(Served)
    url = "http://127.0.0.1:8000/"
    began = time.perf_counter()
    handle = serve.run(deployment.bind())
    if hasattr(serve.status(), "url"):
        url = f"{serve.status().url}/"
    check(url, "noop")
    figures = {"up": time.perf_counter() - began}
    began = time.perf_counter()
    serve.run(deployment.bind())
    figures["again"] = time.perf_counter() - began
    return figures | measured(url) | (called(handle, core) if with_calls else {})


def called(handle: Any, core: Any) -> Figures:
    """Lone calls from the driver."""
    figures = {"handle": lone_ms(lambda: handle.call.remote().result())}
    plain_ms = lone_ms(lambda: handle.plain.remote().result())
    figures["async_handle"] = plain_ms
    figures["batch"] = lone_ms(lambda: handle.batched.remote().result()) - plain_ms
    actor = core.remote(Called).remote()
    figures["call"] = lone_ms(lambda: core.get(actor.call.remote()))
    return figures


def with_nbaccel() -> Figures:
    os.environ[census.TOKEN_VARIABLE] = secrets.token_hex(8)
    import nbaccel
    from nbaccel import serve

    with contextlib.redirect_stdout(sys.stderr):
        nbaccel.init(num_cpus=2)
        try:
            return served(serve, nbaccel)
        finally:
            nbaccel.shutdown()


def with_nbaccel_and_fastapi() -> Figures:
    os.environ[census.TOKEN_VARIABLE] = secrets.token_hex(8)
    import nbaccel
    from nbaccel import serve

    scope: dict[str, Any] = {}
    exec(FASTAPI, scope)

    @serve.deployment(max_ongoing_requests=100)
    @serve.ingress(scope["app"])
    class Api:
        """The app has the routes."""

    with contextlib.redirect_stdout(sys.stderr):
        nbaccel.init(num_cpus=2)
        try:
            serve.run(Api.bind())
            return measured(f"{serve.status().url}/")
        finally:
            nbaccel.shutdown()


def with_ray_for_throughput() -> Figures:
    os.environ["RAY_SERVE_THROUGHPUT_OPTIMIZED"] = "1"
    return with_ray(with_calls=False)


def with_ray(*, with_calls: bool = True) -> Figures:
    os.environ[census.TOKEN_VARIABLE] = secrets.token_hex(8)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray import serve

    with contextlib.redirect_stdout(sys.stderr):
        ray.init("local", num_cpus=4, include_dashboard=False, logging_level="ERROR")
        serve.start()
        try:
            return served(serve, ray, with_calls=with_calls)
        finally:
            serve.shutdown()
            ray.shutdown()


CONTENDERS = {
    "uvicorn": plain_uvicorn,
    "nbaccel": with_nbaccel,
    "fastapi": plain_fastapi,
    "nbaccel_fastapi": with_nbaccel_and_fastapi,
    "ray": with_ray,
    "ray_throughput": with_ray_for_throughput,
    "litserve": with_litserve,
    "mosec": with_mosec,
}

if __name__ == "__main__":
    rounds.main(__file__, __doc__, ROWS, CONTENDERS)
