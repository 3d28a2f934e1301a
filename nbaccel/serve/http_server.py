"""The door: one actor of the job, which speaks HTTP and controls the replicas. It uses no CPU of the cluster's.

```
  its thread and loop    uvicorn's protocol ─► Front ─► replicas, over links
                         ServeController, asked by drivers and replicas over the socket `door`
  its main thread        nothing: the worker's own
```
The kernel may be stuck: nothing here waits for it. With the driver the door ends, and its replicas with it. A door that
is killed has a successor with its options and on its port, which starts what the file `goal` has.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

import msgspec

from nbaccel.serve.config import HTTPOptions
from nbaccel.serve.controller import Replaced, ServeController
from nbaccel.serve.deployment_state import UserFailure
from nbaccel.serve.exceptions import RayServeException
from nbaccel.serve.front import Front
from nbaccel.serve.http_protocol import Limits
from nbaccel.serve.link import Exchange, Frame, FrameKind, FrameLink, LinkLost, listen, new_loop
from nbaccel.serve.records import AppSpec, Membership, decode_app, encode

_STARTING_S = 60.0  # a door that has just made its folder may not listen yet
FIRST_PORT, LAST_PORT = 8000, 8099
HTTP_SOCKET = "http"  # in the folder of the door


class ServerActor:
    """The actor."""

    def __init__(self, folder: str, http: HTTPOptions) -> None:
        self._door: HttpServer | None = None
        self._trouble: BaseException | None = None
        ready = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(folder, http, ready), name="nbaccel-serve-door", daemon=True
        )
        self._thread.start()
        ready.wait()
        if self._trouble is not None:
            raise self._trouble

    def _run(self, folder: str, http: HTTPOptions, ready: threading.Event) -> None:
        loop = new_loop()
        asyncio.set_event_loop(loop)
        try:
            self._door = HttpServer(folder)
            loop.run_until_complete(self._door.begin(http))
        except BaseException as error:  # the constructor raises it
            self._trouble = error
            ready.set()
            return
        ready.set()
        loop.run_until_complete(self._door.ended.wait())

    def address(self) -> dict[str, Any]:
        assert self._door is not None
        return self._door.address()

    def enter(self) -> None:
        """What replicas print from now on belongs to the cell that calls this: this call's context knows it."""
        assert self._door is not None
        self._door.cell = copy_context()


class HttpServer:
    """All of the door that runs in its loop."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._http = HTTPOptions()
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = 0
        self._counters: Any = None
        self.cell: Context = copy_context()

    async def begin(self, http: HTTPOptions) -> None:
        """Listen for HTTP and for the session's own processes. Raises OSError where the asked port is taken."""
        self.ended = asyncio.Event()
        self.controller = ServeController(
            self._folder, keep=self._keep, changed=self._routes_changed, submit=self._submit
        )
        self.front = Front(self.controller)
        self._later: asyncio.Task[None] | None = None
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        _sweep(self._folder)
        for name in set(os.listdir(self._folder)) - {"goal"}:  # of a door that was killed; its replicas end with it
            _remove(os.path.join(self._folder, name))
        goal, kept, port = self._kept()
        if kept is None:
            await self._listen(http)
        else:
            await self._listen_again(kept, port)
        self._control = await listen(
            os.path.join(self._folder, "door"), lambda: FrameLink(self._opened, self._link_ended)
        )
        self._watches: dict[Exchange, Any] = {}
        for spec in goal:
            self._spawn(self._deploy_again(spec))
        self._keep(goal)

    async def _listen_again(self, http: HTTPOptions, port: int) -> None:
        """At the port of the door before; at another one if somebody has taken it meanwhile, and say so."""
        try:
            await self._listen(msgspec.structs.replace(http, port=port))
        except OSError as error:
            await self._listen(msgspec.structs.replace(http, port=None))
            sys.stderr.write(f"The door has started again, at {self.address()['url']}. {error}\n")
        self._http = http

    async def _deploy_again(self, spec: AppSpec) -> None:
        try:
            await self.controller.deploy(spec)
        except (UserFailure, RayServeException):
            pass  # its status has the words

    def _submit(self, act: Callable[[], Any]) -> Any:
        """Call an actor, as the cell that has run last."""
        return self.cell.run(act)

    # ---- HTTP

    async def _listen(self, http: HTTPOptions) -> None:
        from uvicorn.config import Config

        from nbaccel.serve.http_protocol import Counters, HttpProtocol

        loop = asyncio.get_running_loop()
        config = Config(
            self.front,
            http="httptools",
            lifespan="off",
            log_config=None,
            server_header=False,
            proxy_headers=False,
            root_path=http.root_path,
            timeout_keep_alive=int(http.keep_alive_timeout_s),
            ssl_keyfile=http.ssl_keyfile,
            ssl_certfile=http.ssl_certfile,
        )
        config.load()
        counters = Counters(Limits(max_connections=http.max_connections))
        listener = _bound(http.host, http.port)
        server = await loop.create_server(
            lambda: HttpProtocol(config, counters, loop, self.front.quick),
            sock=listener,
            ssl=config.ssl if http.ssl_certfile else None,
            backlog=2048,
        )
        own = await self._listen_to_own_user(config, counters)
        before, self._servers = self._servers, [server, own]
        self._http, self._port, self._counters = http, listener.getsockname()[1], counters
        self.front.timeout_s = http.request_timeout_s
        self.front.max_body_bytes = int(http.max_body_mb * (1 << 20))
        for each in before:
            each.close()  # open connections go on

    async def _listen_to_own_user(self, config: Any, counters: Any) -> asyncio.Server:
        """HTTP at a Unix socket of the session's directory: for a Jupyter server, which has the user's login."""
        from nbaccel.serve.http_protocol import HttpProtocol

        loop = asyncio.get_running_loop()
        path = os.path.join(self._folder, HTTP_SOCKET)
        _remove(path)
        return await loop.create_unix_server(lambda: HttpProtocol(config, counters, loop), path, backlog=256)

    def address(self) -> dict[str, Any]:
        scheme = "https" if self._http.ssl_certfile else "http"
        host = "127.0.0.1" if self._http.host in ("0.0.0.0", "") else self._http.host
        shown = f"[{host}]" if ":" in host else host
        return {
            "url": f"{scheme}://{shown}:{self._port}",
            "host": self._http.host,
            "port": self._port,
            "pid": os.getpid(),
            "wanted_port": self._http.port,
            "socket": os.path.join(self._folder, HTTP_SOCKET),
        }

    def _routes_changed(self) -> None:
        self.front.routes_changed()

    # ---- what a successor needs

    def _kept(self) -> tuple[list[AppSpec], HTTPOptions | None, int]:
        """What the door before served, and where it listened: its options, and the port that it had."""
        try:
            with open(os.path.join(self._folder, "goal"), "rb") as file:
                return msgspec.msgpack.decode(file.read(), type=tuple[list[AppSpec], HTTPOptions, int])
        except (FileNotFoundError, msgspec.MsgspecError):
            return [], None, 0

    def _keep(self, specs: list[AppSpec]) -> None:
        path = os.path.join(self._folder, "goal")
        with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(encode((specs, self._http, self._port)))
        os.replace(f"{path}.new", path)

    # ---- the session's own processes

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _opened(self, exchange: Exchange, frame: Frame) -> None:
        try:
            request = msgspec.msgpack.decode(frame.meta, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError):  # msgspec raises the second for a damaged text
            exchange.link.close("a question is damaged")
            return
        if request.get("op") == "watch":
            self._watch(exchange, request)
            return
        task = self._spawn(self._answer(exchange, request, frame.body))
        exchange.on_cancel = lambda: _cancel(task)

    def _watch(self, exchange: Exchange, request: dict[str, Any]) -> None:
        def callback(members: Membership) -> None:
            exchange.link.send(FrameKind.CHUNK, exchange.id, encode(members))

        self._watches[exchange] = self.controller.watch(request["app"], request["deployment"], callback)
        reading = self._spawn(self._read_queue(exchange, request["app"], request["deployment"]))

        def over() -> None:
            self._watches.pop(exchange, lambda: None)()
            reading.cancel()

        exchange.on_cancel = over

    async def _read_queue(self, exchange: Exchange, app: str, deployment: str) -> None:
        """A caller reports how many requests wait at it."""
        try:
            while (frame := await exchange.next()).kind is FrameKind.CHUNK:
                state = self.controller.state_of(app, deployment)
                if state is not None:
                    state.queues[exchange] = msgspec.msgpack.decode(frame.meta, type=int)
        finally:
            state = self.controller.state_of(app, deployment)
            if state is not None:
                state.queues.pop(exchange, None)

    def _link_ended(self, link: FrameLink) -> None:
        for exchange in [each for each in self._watches if each.link is link]:
            self._watches.pop(exchange)()

    async def _answer(self, exchange: Exchange, request: dict[str, Any], body: bytes) -> None:
        try:
            if request.get("size", 0) > len(body):
                body = await exchange.rest_of_body(body)
            answer = await self._carried_out(request, body)
        except LinkLost:
            return
        except UserFailure as error:
            await exchange.send_chunk(error.error, encode({"error": "user"}))
            exchange.finish(FrameKind.END)
        except Replaced as error:
            exchange.finish(FrameKind.ERROR, encode({"message": str(error)}))
        except (RayServeException, OSError, KeyError, ValueError, TypeError, msgspec.MsgspecError) as error:
            exchange.finish(FrameKind.ERROR, encode({"message": str(error)}))
        else:
            await exchange.finish_with(encode(answer), b"")

    async def _carried_out(self, request: dict[str, Any], body: bytes) -> dict[str, Any]:
        op = request["op"]
        if op == "deploy":
            changed = await self.controller.deploy(decode_app(body))
            return {"changed": changed, **self.address()}
        if op == "delete":
            return {"was_there": await self.controller.delete(request["name"])}
        if op == "status":
            return self.status()
        if op == "http":
            await self._listen(msgspec.msgpack.decode(body, type=HTTPOptions))
            self.controller._write_down()
            return self.address()
        if op == "shutdown":
            await self._shutdown()
            return {}
        raise RayServeException(f"The door is asked {op!r}, which it does not know.")

    def status(self) -> dict[str, Any]:
        """All that views and `serve.status` show."""
        apps = self.controller.status()
        for name, facts in apps.items():
            counts = self.front.counts.get(name)
            facts["counts"] = counts.facts() if counts is not None else {}
            state = self.controller.state_of(name, facts["ingress"])
            facts["queued"] = state.route.queued if state is not None else 0
            facts["retries"] = state.route.retries if state is not None else 0
        return {
            **self.address(),
            "apps": apps,
            "refused": {str(status): number for status, number in self._counters.refused.items()},
            "slow": self._counters.slow,
            "left": self.front.left,
        }

    async def _shutdown(self) -> None:
        for server in self._servers:
            server.close()
        await self.controller.shutdown()
        for connection in list(self._counters.connections):
            connection.shutdown()
        for name in ("goal", HTTP_SOCKET):
            _remove(os.path.join(self._folder, name))


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


def _sweep(own: str) -> None:
    """Remove what doors of killed drivers have left in a session that goes on without them."""
    for entry in os.scandir(os.path.dirname(own)):
        is_other = entry.name.startswith("serve-") and entry.path != own and entry.is_dir(follow_symlinks=False)
        if (
            is_other
            and time.time() - entry.stat().st_mtime > _STARTING_S
            and not _answers(os.path.join(entry.path, "door"))
        ):
            shutil.rmtree(entry.path, ignore_errors=True)


def _answers(path: str) -> bool:
    """Whether a process listens at this path."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _bound(host: str, port: int | None) -> socket.socket:
    """A socket at the asked port, or at the first free one from 8000 on. Raises OSError, with who has the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wanted = range(FIRST_PORT, LAST_PORT + 1) if port is None else [port]
    for number in wanted:
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sets TCP_NODELAY for it alone
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, number))
            made.listen(2048)
        except OSError as error:
            made.close()
            if number != wanted[-1]:
                continue
            raise OSError(error.errno, f"{_taken(host, number, port)} ({error.strerror})") from None
        made.setblocking(False)
        return made
    raise AssertionError(wanted)


def _taken(host: str, number: int, port: int | None) -> str:
    if port is None:
        return f"All ports from {FIRST_PORT} to {LAST_PORT} of {host} are taken: give port= to serve.run"
    return f"The port {number} of {host} cannot be had{_who_has(number)}. Give another one, or none to take a free one"


def _who_has(port: int) -> str:
    """ "; process 4711 (python) has it", where the system lets us know."""
    import psutil

    try:
        for each in psutil.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr.port == port and each.pid:
                return f": process {each.pid} ({psutil.Process(each.pid).name()}) has it"
    except (psutil.Error, OSError):
        pass
    return ""
