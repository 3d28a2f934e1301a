"""Applications of nbaccel.serve through a real Jupyter server: login, XSRF, addresses, streams, WebSockets."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jupyter_server.utils import url_path_join
from tornado.httpclient import AsyncHTTPClient, HTTPClientError
from tornado.websocket import websocket_connect

from tests.census import Place
from tests.extension.server.conftest import ReadOnly

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

PROGRAM = """
import asyncio, sys
import nbaccel
from nbaccel import serve
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute

left = []

async def echo(request):
    body = b"".join([part async for part in request.stream()])
    found = {"method": request.method, "path": request.url.path, "root": request.scope["root_path"], "size": len(body),
             "query": str(request.query_params), "headers": dict(request.headers), "url": str(request.url_for("echo"))}
    answer = JSONResponse(found, status_code=int(request.query_params.get("status", 200)))
    answer.set_cookie("_xsrf", "evil")
    answer.headers["x-app"] = "1"
    return answer

async def stream(request):
    async def parts():
        try:
            for number in range(int(request.query_params["parts"])):
                yield f"{number}\\n" * int(request.query_params.get("times", 1))
                await asyncio.sleep(float(request.query_params.get("pause", 0)))
            if "break" in request.query_params:
                raise ValueError("broken")
        finally:
            left.append("stream")
    return StreamingResponse(parts(), media_type="text/plain")

async def talk(socket):
    await socket.accept("chat" if "chat" in socket.scope["subprotocols"] else None)
    await socket.send_text(socket.scope["root_path"] + " " + ",".join(sorted(socket.headers)))
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            left.append(f"socket {message['code']}")
            return
        if message.get("text") == "end":
            await socket.close(4001)
            return
        if message.get("bytes") is not None:
            await socket.send_bytes(message["bytes"])
        else:
            await socket.send_text(message["text"])

def app():
    return Starlette(routes=[
        Route("/echo", echo, methods=["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"], name="echo"),
        Route("/stream", stream), Route("/left", lambda request: JSONResponse(left)), WebSocketRoute("/talk", talk)])

@serve.deployment
@serve.ingress(app)
class App:
    pass

nbaccel.init(num_cpus=2)
serve.run(App.bind(), name="my app", route_prefix="/deep/down", token=True)
serve.run(App.options(name="Hidden").bind(), name="hidden", route_prefix=None)
print("READY", serve.token_of("my app"), flush=True)
sys.stdin.readline()
nbaccel.shutdown()
"""


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Place, str]]:
    """A program that serves, and the token of its application."""
    place = Place()
    try:
        process = place.start(PROGRAM)
        line = process.stdout.readline() if process.stdout is not None else ""
        assert line.startswith("READY"), process.communicate()
        yield place, line.split()[1]
        process.communicate("\n", timeout=60)
        place.assert_nothing_left()
    finally:
        place.clear()


@pytest.fixture
def route(served: tuple[Place, str], runtime_folder: Path, jp_serverapp: Any) -> str:
    """Where the application is seen; its head's file lies where this server looks for it."""
    for file in Path(served[0].environ["JUPYTER_RUNTIME_DIR"]).glob("nbaccel-*.json"):
        shutil.copy(file, runtime_folder / file.name)
        (runtime_folder / file.name).chmod(0o600)
    return url_path_join(jp_serverapp.base_url, "nbaccel/serve/my%20app")


@pytest.fixture
def ask(route: str, http_server: Any, http_server_port: Any, jp_auth_header: dict[str, str]) -> Any:
    """Ask the server, with its token unless other headers are given; returns the response, also of an error."""

    async def asked(rest: str = "/echo", headers: dict[str, str] | None = None, **given: Any) -> Any:
        url = f"http://127.0.0.1:{http_server_port[-1]}{given.pop('at', route)}{rest}"
        kept = jp_auth_header if headers is None else headers
        try:
            return await AsyncHTTPClient().fetch(url, headers=kept, request_timeout=60, follow_redirects=False, **given)
        except HTTPClientError as error:
            assert error.response is not None
            return error.response

    return asked


async def test_an_application_is_seen_at_its_name_and_gets_nothing_of_the_login(
    ask: Any, route: str, jp_auth_header: dict[str, str]
) -> None:
    given = {
        **jp_auth_header, "Cookie": "username-x=secret", "X-Forwarded-For": "1.2.3.4", "X-XSRFToken": "x",
        "X-Mine": "y",
        "Referer": "http://hub/?token=secret", "X-Nbaccel-App": "hidden", "Connection": "X-Hop", "X-Hop": "z",
    }  # fmt: skip
    answer = await ask("/echo?a=1&b=%20&a=2", given)
    found = json.loads(answer.body)
    assert (answer.code, found["path"], found["root"]) == (
        200,
        f"{unquote(route)}/echo",
        unquote(route),
    )
    assert found["query"] == "a=1&b=+&a=2"
    assert unquote(found["url"]).endswith(f"{unquote(route)}/echo") and found["url"].startswith("http://127.0.0.1:")
    assert found["headers"]["x-mine"] == "y"
    private = {"cookie", "authorization", "x-forwarded-for", "x-xsrftoken", "referer", "x-hop", "x-nbaccel-app"}
    assert not private & set(found["headers"])
    assert "secret" not in answer.body.decode() and answer.headers["x-app"] == "1"
    assert "_xsrf=evil" not in str(answer.headers.get_list("Set-Cookie"))


async def test_methods_bodies_and_statuses_pass(ask: Any) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = await ask(
            "/echo?status=418", method=method, body=b"x" * 3_000_000, allow_nonstandard_methods=True, raise_error=False
        )
        found = json.loads(answer.body)
        assert (answer.code, found["method"], found["size"]) == (418, method, 3_000_000)
    head = await ask("/echo", method="HEAD")
    assert (head.code, head.body) == (200, b"") and int(head.headers["Content-Length"]) > 0
    assert (await ask("/no-such-page")).code == 404
    too_large = await ask("/echo", method="POST", body=b"x" * (101 << 20))
    assert too_large.code == 413


async def test_without_a_login_nobody_comes_in_and_a_browser_is_sent_to_log_in(ask: Any) -> None:
    for method in ("POST", "PUT"):
        assert (await ask("/echo", {}, method=method, body=b"")).code == 403
    redirect = await ask("/echo", {})
    assert redirect.code == 302 and "login" in redirect.headers["Location"]
    assert (await ask("/echo", {"Authorization": "Bearer wrong"}, method="POST", body=b"")).code == 403


async def test_a_browser_that_posts_needs_the_xsrf_token(ask: Any, jp_auth_header: dict[str, str]) -> None:
    token = jp_auth_header["Authorization"].partition(" ")[2]
    login = await ask(f"/echo?token={token}", {})
    assert "token" not in json.loads(login.body)["query"], "the server's own token stays here"
    cookies = [each.partition(";")[0] for each in login.headers.get_list("Set-Cookie")]
    xsrf = next((each.partition("=")[2] for each in cookies if each.startswith("_xsrf=")), "")
    with_cookie = {"Cookie": "; ".join(cookies)}
    assert (await ask("/echo", with_cookie)).code == 200
    assert (await ask("/echo", with_cookie, method="POST", body=b"")).code == 403
    if xsrf:
        assert (await ask("/echo", {**with_cookie, "X-XSRFToken": xsrf}, method="POST", body=b"")).code == 200


@pytest.mark.parametrize("jp_server_config", [{"authorizer_class": ReadOnly}], indirect=True)
async def test_who_may_only_look_may_not_ask(ask: Any) -> None:
    assert (await ask("/echo")).code == 403


async def test_what_is_not_there_is_a_404_and_an_address_without_a_slash_is_sent_on(
    ask: Any, route: str, jp_serverapp: Any
) -> None:
    base = url_path_join(jp_serverapp.base_url, "nbaccel/serve")
    assert (await ask("/echo", at=f"{base}/nothing")).code == 404
    assert (await ask("/echo", at=f"{base}/hidden")).code == 404
    moved = await ask("?x=1")
    assert (moved.code, moved.headers["Location"]) == (307, f"{route}/?x=1")


async def test_a_stream_comes_piece_by_piece_and_ends_when_the_browser_leaves(ask: Any) -> None:
    whole = await ask("/stream?parts=200&times=1000")
    assert whole.body.count(b"\n") == 200_000
    first: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    asking = asyncio.ensure_future(
        ask("/stream?parts=1000&pause=0.05", streaming_callback=lambda part: first.done() or first.set_result(part))
    )
    assert (await asyncio.wait_for(first, 60)).startswith(b"0\n")
    assert not asking.done()
    before = json.loads((await ask("/left")).body)
    asking.cancel()
    AsyncHTTPClient().close()
    async with asyncio.timeout(60):
        while json.loads((await ask("/left")).body) == before:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(("body", "words"), [(b"2\r\n1\n\r\n2\r\n2\n\r\n", b"2\n"), (b"", b"")], ids=["some", "none"])
async def test_what_a_door_has_said_before_it_broke_is_passed_on(
    route: str, http_server: Any, http_server_port: Any, jp_auth_header: dict[str, str],
    jp_web_app: Any, tmp_path: Path, body: bytes, words: bytes,
) -> None:  # fmt: skip
    """The whole answer and its end are there at the first read, as on a busy machine."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-App: 1\r\n\r\n" + body)
        writer.close()

    class Broken:
        async def find(self, name: str) -> tuple[str, str]:
            return str(tmp_path / "door"), name

    jp_web_app.settings["nbaccel_doors"] = Broken()
    async with await asyncio.start_unix_server(answer, tmp_path / "door"):
        answered = await _until_closed(f"{route}/", http_server_port[-1], jp_auth_header)
    assert answered.startswith(b"HTTP/1.1 200") and b"X-App: 1" in answered
    assert words in answered
    assert not answered.endswith(b"0\r\n\r\n")


async def test_a_stream_that_breaks_is_seen_as_broken(
    route: str, http_server: Any, http_server_port: Any, jp_auth_header: dict[str, str]
) -> None:
    answer = await _until_closed(f"{route}/stream?parts=3&break=1", http_server_port[-1], jp_auth_header)
    assert answer.startswith(b"HTTP/1.1 200") and b"2\n" in answer
    assert not answer.endswith(b"0\r\n\r\n")


async def _until_closed(address: str, port: int, login: dict[str, str]) -> bytes:
    """All that the server says to a GET until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {login['Authorization']}\r\n\r\n"
    writer.write(head.encode())
    async with asyncio.timeout(60):
        answer = await reader.read()
    writer.close()
    return answer


async def test_a_websocket_passes_texts_bytes_subprotocols_and_codes(
    route: str, http_server: Any, http_server_port: Any, jp_auth_header: dict[str, str]
) -> None:
    from tornado.httpclient import HTTPRequest

    url = f"ws://127.0.0.1:{http_server_port[-1]}{route}/talk"

    async def opened() -> Any:
        return await websocket_connect(HTTPRequest(url, headers=jp_auth_header), subprotocols=["other", "chat"])

    socket = await opened()
    assert socket.selected_subprotocol == "chat"
    said = await socket.read_message()
    assert said.startswith(unquote(route)) and "authorization" not in said and "cookie" not in said
    await socket.write_message("hello")
    assert await socket.read_message() == "hello"
    await socket.write_message(b"\x00" * 100_000, binary=True)
    assert await socket.read_message() == b"\x00" * 100_000
    await socket.write_message("end")
    assert await socket.read_message() is None and socket.close_code == 4001
    other = await opened()
    await other.read_message()
    other.close(4002)
    assert await other.read_message() is None
    socket.close()
    with pytest.raises(HTTPClientError) as refused:
        await websocket_connect(url)
    assert refused.value.code == 403
