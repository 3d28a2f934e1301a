"""The door's ASGI function: it finds the application of a request, has a replica answer, and counts.

It moves bytes: what a request means is the replica's business.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import json
import secrets
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote

from nbaccel.serve import asgi
from nbaccel.serve.controller import ServeController, ServedApp
from nbaccel.serve.deployment_state import DeploymentState
from nbaccel.serve.exceptions import BackPressureError, DeploymentUnavailableError, ReplicaUnavailableError
from nbaccel.serve.http_protocol import REQUEST, HttpRequest, OverLimit, TooSlow
from nbaccel.serve.link import LONGEST_BODY, Frame, FrameKind, LinkLost
from nbaccel.serve.records import HttpCall, decode_failure, decode_head, encode
from nbaccel.serve.routing import Candidate, Sent, Upload

PATIENCE_S = 30.0  # so long a request waits while its deployment has no replica
_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
_first_id, _ids = secrets.token_hex(8), itertools.count()  # random ones would cost a call of the system each
_JSON = (b"content-type", b"application/json")

_APP = "nbaccel.app"  # in the scope: the application that the Jupyter server's route names
_OF_ROUTE = b"x-nbaccel-"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _Facts:
    """What the door reads in the headers of a request."""

    __slots__ = ("authorization", "has_body", "is_repeatable", "length", "model", "request_id", "timeout_s")

    def __init__(self, method: str, headers: list[tuple[bytes, bytes]], timeout_s: float | None) -> None:
        self.request_id = ""
        self.timeout_s = timeout_s
        self.is_repeatable = method in _REPEATABLE
        self.has_body = False
        self.length = 0
        self.model = ""
        self.authorization: list[bytes] = []
        for name, value in headers:
            if name in _READ:
                self._read(name, value)
        self.request_id = self.request_id or f"{_first_id}{next(_ids):016x}"

    def _read(self, name: bytes, value: bytes) -> None:
        if name == b"content-length":
            self.length = int(value)
            self.has_body = self.length > 0
        elif name == b"transfer-encoding":
            self.has_body = True
        elif name == b"x-request-id":
            self.request_id = value.decode("latin-1")[:200]
        elif name == b"authorization":
            self.authorization.append(value)
        elif name == b"serve_multiplexed_model_id":
            self.model = value.decode("latin-1")
        elif name == b"idempotency-key":
            self.is_repeatable = True
        else:
            self.timeout_s = _seconds(value, self.timeout_s)


_READ = frozenset(
    b"content-length transfer-encoding x-request-id authorization serve_multiplexed_model_id idempotency-key "
    b"x-request-timeout-seconds".split()
)


class _Begun:
    """A request that was sent to a replica without a task."""

    __slots__ = ("at", "counts", "facts", "frame", "front", "request", "sent")

    def __init__(self, front: Front, request: HttpRequest, facts: _Facts, sent: Sent, counts: Counts) -> None:
        self.front = front
        self.request = request
        self.facts = facts
        self.sent = sent
        self.counts = counts
        self.at = counts.begin()
        self.frame: Frame  # the first that has come, if it needs a task
        sent.exchange.on_first = self.first_came
        request.leave = self.has_left

    def first_came(self, frame: Frame) -> None:
        """A whole answer is written at once; anything else is the business of a task."""
        request = self.request
        request.leave = None  # from here on a task sees whether the client has left
        if frame.kind is FrameKind.DONE and not request.protocol.flow.write_paused:
            head = decode_head(frame.meta)
            if head.length == len(frame.body) or (head.length >= 0 and request.method == "HEAD"):
                self.sent.release()
                self.counts.end(head.status, self.at)
                request.write_whole(head, self.facts.request_id.encode("latin-1"), frame.body)
                return
        self.frame = frame
        request.begun = self
        request.protocol.start_task(request)

    def has_left(self) -> None:
        self.front.left += 1
        self.sent.exchange.on_first = None
        self.sent.release()
        self.counts.end(499, self.at)


def _seconds(value: bytes, default: float | None) -> float | None:
    try:
        given = float(value)
    except ValueError:
        return default
    return given if given > 0 else default


class Front:
    """The ASGI function of the door."""

    def __init__(self, controller: ServeController) -> None:
        self.timeout_s: float | None = None
        self.max_body_bytes = 100 << 20
        self.left = 0  # clients that went away before their answer
        self.counts: dict[str, Counts] = {}
        self._controller = controller
        self._prefixes: list[tuple[str, ServedApp]] = []

    def routes_changed(self) -> None:
        """Applications have come or gone; the longest prefix is looked at first."""
        served = [app for app in self._controller.apps.values() if app.serving or app.status == "DEPLOY_FAILED"]
        found = [((app.serving or app.goal).route_prefix, app) for app in served]
        self._prefixes = sorted(
            ((prefix.rstrip("/"), app) for prefix, app in found if prefix is not None), key=lambda each: -len(each[0])
        )
        self.counts = {app.name: self.counts.get(app.name) or Counts() for app in self._controller.apps.values()}

    def _found(self, scope: Scope) -> tuple[str, ServedApp] | None:
        """The application of a request and its prefix, which is empty for one that the Jupyter server passes on."""
        if scope["server"] is not None and scope["server"][1] is None:
            _take_route(scope)
            app = self._controller.apps.get(scope[_APP])
            return ("", app) if app is not None and (app.serving or app.goal).route_prefix is not None else None
        return self._app_of(_path_of(scope))

    def _app_of(self, path: str) -> tuple[str, ServedApp] | None:
        for prefix, app in self._prefixes:
            if path.startswith(prefix) and (len(path) == len(prefix) or path[len(prefix)] == "/" or not prefix):
                return prefix, app
        return None

    def quick(self, request: HttpRequest) -> bool:
        """Send a whole request to a replica at once, without a task, if there is nothing special about it."""
        path = request.path
        found = self._app_of(path)
        if found is None or path.startswith("/-/") or len(request.body) > min(LONGEST_BODY, self.max_body_bytes):
            return False
        prefix, app = found
        facts = _Facts(request.method, request.headers, self.timeout_s)
        state = app.deployments.get((app.serving or app.goal).ingress)
        if (
            state is None
            or facts.timeout_s is not None
            or not _may_come_in(app, facts.authorization)
            or (replica := state.route.pick_now(facts.model)) is None
        ):
            return False
        try:
            sent = state.route.open(replica, encode(_quick_call(request, facts, prefix)), bytes(request.body), None)
        except LinkLost:
            return False
        _Begun(self, request, facts, sent, self.counts[app.name])
        return True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
            return
        request: HttpRequest = scope[REQUEST]
        begun: _Begun | None = request.begun
        facts = begun.facts if begun is not None else _Facts(scope["method"], scope["headers"], self.timeout_s)
        found = self._found(scope)
        path = _path_of(scope)
        if path.startswith("/-/") and await self._own_page(path, send):
            return
        if found is None:
            await _refuse(send, facts, 404, "NotFound", f"No application serves the path {path[:200]}.")
            return
        prefix, app = found
        counts = begun.counts if begun is not None else self.counts[app.name]
        began = begun.at if begun is not None else counts.begin()
        status = 499
        try:
            status = await self._serve(scope, receive, send, facts, prefix, app, begun)
        finally:
            if begun is not None:
                begun.sent.release()
            counts.end(status, began)

    async def _own_page(self, path: str, send: Send) -> bool:
        if path == "/-/healthz":
            await _whole(send, 200, [(b"content-type", b"text/plain; charset=utf-8")], b"success")
        elif path == "/-/routes":
            routes = {prefix or "/": app.name for prefix, app in self._prefixes}
            await _whole(send, 200, [_JSON], json.dumps(routes, separators=(",", ":")).encode())
        else:
            return False
        return True

    async def _serve(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        facts: _Facts,
        prefix: str,
        app: ServedApp,
        begun: _Begun | None,
    ) -> int:
        """Answer a request of an application; its status, for the counters."""
        spec = app.serving or app.goal
        if _APP not in scope and not _may_come_in(app, facts.authorization):
            words = "Send the header `Authorization: Bearer TOKEN` with the token of serve.run(token=...)."
            extra = [(b"www-authenticate", b"Bearer"), (b"connection", b"close")]
            return await _refuse(send, facts, 401, "Unauthorized", words, *extra)
        if facts.length > self.max_body_bytes:
            return await self._too_large(send, facts)
        state = app.deployments.get(spec.ingress)
        if state is None:
            return await _refuse(send, facts, 503, "DeploymentUnavailableError", app.message or "It is not there.")
        request: HttpRequest = scope[REQUEST]
        if request.has_left():
            self.left += 1
            return 499
        task = asyncio.current_task()
        assert task is not None
        request.leave = task.cancel
        answer = _Answer(send, facts)
        try:
            if facts.timeout_s is None:
                return await self._exchange(scope, receive, facts, prefix, state, answer, begun)
            async with asyncio.timeout(facts.timeout_s):
                return await self._exchange(scope, receive, facts, prefix, state, answer, begun)
        except asyncio.CancelledError:
            if not request.has_left():
                raise  # the door ends
            self.left += 1
            return 499
        except TimeoutError:
            words = f"There was no answer within {facts.timeout_s:g} s."
            return await answer.refuse(408, "TimeoutError", words)
        except BackPressureError as error:
            return await answer.refuse(error.status_code, "BackPressureError", str(error), (b"retry-after", b"1"))
        except DeploymentUnavailableError as error:
            return await answer.refuse(503, "DeploymentUnavailableError", str(error), (b"retry-after", b"1"))
        except ReplicaUnavailableError as error:
            status = 500 if error.deaths > 1 else 503
            return await answer.refuse(status, "ReplicaUnavailableError", str(error), (b"retry-after", b"1"))
        except OverLimit as error:
            return await answer.refuse(error.status, type(error).__name__, str(error), (b"connection", b"close"))

    async def _too_large(self, send: Send, facts: _Facts) -> int:
        words = f"The body may have {self.max_body_bytes >> 20} MB (max_body_mb)."
        return await _refuse(send, facts, 413, "TooLarge", words, (b"connection", b"close"))

    async def _exchange(
        self,
        scope: Scope,
        receive: Receive,
        facts: _Facts,
        prefix: str,
        state: DeploymentState,
        answer: _Answer,
        begun: _Begun | None,
    ) -> int:
        body, more = await self._first_part(receive) if facts.has_body else (b"", False)
        upload = None
        if more or len(body) > LONGEST_BODY:
            rest = _Rest(receive, body[LONGEST_BODY:], len(body), self.max_body_bytes, more=more)
            body, more, upload = body[:LONGEST_BODY], True, Upload(rest)
        call = _call(scope, facts, prefix, more=more)
        sent, frame = await state.route.send(
            encode(call),
            body,
            upload,
            may_repeat=facts.is_repeatable,
            patience_s=PATIENCE_S,
            begun=None if begun is None else (begun.sent, begun.frame),
            model=facts.model,
        )
        try:
            return await answer.pass_on(sent, frame, state)
        finally:
            sent.release()

    async def _first_part(self, receive: Receive) -> tuple[bytes, bool]:
        """The whole body if it is short, else the first of it; and whether more follows."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise TooSlow("The body did not come.")
            part = message.get("body", b"")
            more = message.get("more_body", False)
            size += len(part)
            parts.append(part)
            if not more or size >= LONGEST_BODY >> 1:
                break
        body = b"".join(parts)
        return body, more

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._found(scope)
        await receive()  # websocket.connect
        facts = _Facts("GET", scope["headers"], None)
        if found is None or not (_APP in scope or _may_come_in(found[1], facts.authorization)):
            await send({"type": "websocket.close", "code": 1008 if found else 1000, "reason": ""})
            return
        prefix, app = found
        state = app.deployments.get((app.serving or app.goal).ingress)
        if state is None:
            await send({"type": "websocket.close", "code": 1013, "reason": ""})
            return
        call = _call(scope, facts, prefix, websocket=True)
        await _talk(state, call, receive, send)


def _path_of(scope: Scope) -> str:
    """The path below the door's own root_path, which uvicorn puts before it."""
    path: str = scope["path"]
    return path.removeprefix(scope["root_path"])


def _take_route(scope: Scope) -> None:
    """Take off the headers of the Jupyter server's route, which name the application and the place of the route.

    Only a process of this user reaches the Unix socket that such a request comes from, and the server has asked for
    its login.
    """
    named = {name: value.decode("latin-1") for name, value in scope["headers"] if name.startswith(_OF_ROUTE)}
    scope["headers"] = [each for each in scope["headers"] if not each[0].startswith(_OF_ROUTE)]
    root = named.get(b"x-nbaccel-root", "")
    path = _path_of(scope)
    scope[_APP] = unquote(named.get(b"x-nbaccel-app", ""))
    scope["root_path"] = unquote(root)
    scope["path"] = scope["root_path"] + path
    scope["raw_path"] = root.encode() + scope["raw_path"]
    scope["scheme"] = named.get(b"x-nbaccel-scheme", scope["scheme"])
    scope["server"] = None


def _may_come_in(app: ServedApp, authorization: list[bytes]) -> bool:
    tokens = (app.serving or app.goal).tokens
    return tokens is None or _may_come(authorization, tokens)


def _may_come(given: list[bytes], tokens: list[str]) -> bool:
    """Whether the one header names a token. Each is compared in constant time."""
    if len(given) != 1 or len(given[0]) > 1000:
        return False
    scheme, _, token = given[0].partition(b" ")
    if scheme.lower() != b"bearer":
        return False
    return bool(sum([hmac.compare_digest(token.strip(), each.encode()) for each in tokens]))


def _call(scope: Scope, facts: _Facts, prefix: str, *, more: bool = False, websocket: bool = False) -> HttpCall:
    return HttpCall(
        scope.get("method", "GET"),
        scope["path"],
        scope["raw_path"],
        scope["query_string"],
        scope.get("root_path", "") + prefix,
        scope["headers"],
        scope["client"],
        scope["server"],
        scope["scheme"],
        scope["http_version"],
        facts.request_id,
        more,
        websocket,
        facts.model,
    )


def _quick_call(request: HttpRequest, facts: _Facts, prefix: str) -> HttpCall:
    protocol = request.protocol
    root = protocol.root_path
    return HttpCall(
        request.method,
        root + request.path if root else request.path,
        root.encode() + request.raw_path if root else request.raw_path,
        request.query,
        root + prefix,
        request.headers,
        protocol.client,
        protocol.server,
        protocol.scheme or "http",
        request.http_version,
        facts.request_id,
        False,
        False,
        facts.model,
    )


class _Rest:
    """Reads the part of a body that follows its beginning. Raises OverLimit when the whole is too large."""

    def __init__(self, receive: Receive, ready: bytes, read: int, most: int, *, more: bool) -> None:
        self._receive = receive
        self._ready = ready  # has been read, and goes first
        self._read = read
        self._most = most
        self._more = more

    async def __call__(self) -> bytes:
        if self._ready:
            ready, self._ready = self._ready, b""
            return ready
        while self._more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise TooSlow("The body was cut.")
            self._more = message.get("more_body", False)
            part: bytes = message.get("body", b"")
            self._read += len(part)
            if self._read > self._most:
                raise OverLimit(413, f"The body may have {self._most >> 20} MB (max_body_mb).")
            if part:
                return part
        return b""


class _Answer:
    """An answer on its way to the client."""

    def __init__(self, send: Send, facts: _Facts) -> None:
        self._send = send
        self._facts = facts
        self._begun = False

    async def pass_on(self, sent: Sent, frame: Frame, state: DeploymentState) -> int:
        """Send what the replica answers; the status."""
        if frame.kind is FrameKind.ERROR:
            failure = decode_failure(frame.meta)
            state.note_error(failure)
            return await self.refuse(500, failure.type, failure.message)
        head = decode_head(frame.meta)
        self._begun = True
        id = self._facts.request_id.encode("latin-1")
        if frame.kind is FrameKind.DONE and head.length == len(frame.body):
            request: HttpRequest = self._send.__self__  # type: ignore[attr-defined]
            if request.flow.write_paused and not request.disconnected:
                await request.flow.drain()
            request.write_whole(head, id, frame.body)
            return head.status
        headers = [*head.headers, (b"x-request-id", id)]
        await self._send({"type": "http.response.start", "status": head.status, "headers": headers})
        more = frame.kind is FrameKind.CHUNK
        await self._send({"type": "http.response.body", "body": frame.body, "more_body": more})
        while more:
            frame = await sent.exchange.next()
            if frame.kind not in (FrameKind.CHUNK, FrameKind.END):
                if frame.kind is FrameKind.ERROR:
                    state.note_error(decode_failure(frame.meta))
                raise CutStream
            more = frame.kind is FrameKind.CHUNK
            body = sent.exchange.also(frame.body) if more else frame.body
            await self._send({"type": "http.response.body", "body": body, "more_body": more})
        return head.status

    async def refuse(self, status: int, kind: str, words: str, *headers: tuple[bytes, bytes]) -> int:
        """Answer with an error, unless the answer has begun: then the client sees it cut."""
        if self._begun:
            raise CutStream
        self._begun = True
        return await _refuse(self._send, self._facts, status, kind, words, *headers)


class CutStream(Exception):
    """An answer that has begun cannot be finished: the connection is closed without its last chunk."""


async def _refuse(send: Send, facts: _Facts, status: int, kind: str, words: str, *headers: tuple[bytes, bytes]) -> int:
    body = json.dumps({"error": words, "type": kind, "request_id": facts.request_id}).encode()
    id = (b"x-request-id", facts.request_id.encode("latin-1"))
    await _whole(send, status, [_JSON, id, *headers], body)
    return status


async def _whole(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def _talk(state: DeploymentState, call: HttpCall, receive: Receive, send: Send) -> None:
    """Pass a WebSocket's messages on in both directions until either side ends it."""
    first = asyncio.ensure_future(receive())  # before it is accepted, only its end comes
    try:
        replica = await _turn_unless(first, state)
        sent = state.route.open(replica, encode(call), b"", None) if replica is not None else None
    except (BackPressureError, DeploymentUnavailableError, LinkLost):
        sent = None
    if sent is None:
        if not first.done():
            await send({"type": "websocket.close", "code": 1013, "reason": ""})
        first.cancel()
        return

    async def forwards() -> None:
        message = await first
        while True:
            await asgi.send_message(sent.exchange, message)
            if message["type"] == "websocket.disconnect":
                return
            message = await receive()

    pump = asyncio.ensure_future(forwards())
    try:
        while (message := await asgi.next_message(sent.exchange))["type"] != "websocket.disconnect":
            await send(message)
            if message["type"] == "websocket.close":
                return
        if message["code"] == 1006 and not pump.done():
            await send({"type": "websocket.close", "code": 1011, "reason": ""})
    finally:
        pump.cancel()
        sent.release()


async def _turn_unless(left: asyncio.Future[Any], state: DeploymentState) -> Candidate | None:
    """A replica with room; None if the client leaves first. Raises what `Route.turn` raises."""
    turn = asyncio.ensure_future(state.route.turn(PATIENCE_S))
    try:
        await asyncio.wait([turn, left], return_when=asyncio.FIRST_COMPLETED)
        return await turn if turn.done() else None
    finally:
        turn.cancel()


# Upper edges of the times, in seconds: 0.25 ms to 33 minutes, each 1.5 times the one before.
EDGES = [0.00025 * 1.5**number for number in range(40)]
_SLICES, _SLICE_S = 12, 5.0  # one minute, in slices of which the oldest is forgotten


class _Slice:
    def __init__(self, number: int) -> None:
        self.number = number
        self.times = [0] * (len(EDGES) + 1)
        self.requests = 0


class Counts:
    """The requests of one application at the door, which the card, `status` and the metrics show."""

    def __init__(self) -> None:
        self.under_way = 0
        self.requests = 0
        self.statuses: dict[int, int] = {}
        self._slices: list[_Slice] = []

    def begin(self) -> float:
        """The time now, for `end`."""
        self.under_way += 1
        return time.monotonic()

    def end(self, status: int, began: float) -> None:
        ended = time.monotonic()
        self.under_way -= 1
        self.requests += 1
        self.statuses[status] = self.statuses.get(status, 0) + 1
        now = self._slice(ended)
        now.requests += 1
        now.times[bisect_left(EDGES, ended - began)] += 1

    def _slice(self, now: float) -> _Slice:
        number = int(now / _SLICE_S)
        slices = self._slices
        if not slices or slices[-1].number != number:
            slices.append(_Slice(number))
            self._slices = [each for each in slices if each.number > number - _SLICES]
        return self._slices[-1]

    def facts(self) -> dict[str, Any]:
        """Totals, and the rate and times of the last minute. A time is None while there was no request."""
        newest = int(time.monotonic() / _SLICE_S)
        recent = [each for each in self._slices if each.number > newest - _SLICES]
        times = [sum(column) for column in zip(*(each.times for each in recent), strict=True)]
        requests = sum(times)
        span_s = min(_SLICES, newest - recent[0].number + 1) * _SLICE_S if recent else 0.0
        return {
            "requests": self.requests,
            "under_way": self.under_way,
            "statuses": {str(status): number for status, number in sorted(self.statuses.items())},
            "failed": sum(number for status, number in self.statuses.items() if status >= 500),
            "per_s": requests / span_s if span_s else 0.0,
            "p50_s": _quantile(times, 0.5),
            "p95_s": _quantile(times, 0.95),
        }


def _quantile(times: list[int], share: float) -> float | None:
    """The upper edge of the column that this share of all times reaches."""
    total = sum(times)
    if not total:
        return None
    seen = 0
    for number, edge in zip(times, [*EDGES, EDGES[-1]], strict=True):
        seen += number
        if seen >= share * total:
            return edge
    return EDGES[-1]
