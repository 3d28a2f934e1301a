"""`serve.run` and the other functions of a driver: they check, ask the door, and wait so that Stop is noticed."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import pickle
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles import option_checks
from nbaccel.handles.internal_work import internal_actor
from nbaccel.serve import callers, context
from nbaccel.serve.config import HTTPOptions, http_options
from nbaccel.serve.deployments import Application, Deployment, app_spec
from nbaccel.serve.exceptions import RayServeException
from nbaccel.serve.handle import DeploymentHandle
from nbaccel.serve.link import Frame, LinkLost
from nbaccel.serve.records import AppSpec, encode
from nbaccel.serve.schema import ServeStatus, status_of
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from nbaccel.views import served_snapshot, sinks, wording
from nbaccel.views.served_snapshot import (
    KIND,
    MOST_REPLICAS,
    DeploymentRow,
    LastError,
    ReplicaRow,
    ServedSnapshot,
)
from nbaccel.waits import interruptible

_NEEDED = ("starlette", "uvicorn", "httptools")
_OUTPUT_S = 3.0  # a flood of what constructors print cannot hold a run longer
_LOOK_S = 1.0  # between two looks at a run that takes long
_LOOPBACK = ("127.0.0.1", "localhost", "::1")

_door: tuple[str, Any, HTTPOptions] | None = None  # the folder of the session, the actor, what it was started with
_lock = threading.RLock()


def run(
    target: Application,
    blocking: bool = False,
    name: str = "default",
    route_prefix: str | None = "/",
    logging_config: Any = None,
    *,
    token: bool | str | Sequence[str] | None = None,
    port: int | None = None,
    **unknown: Any,
) -> DeploymentHandle:
    """Serve an application; returns the handle of its ingress once each of its deployments answers.

    To update it, run the cell again. The same code, options and bound values change nothing; new limits or a new
    user_config reconfigure the replicas; new code or values replace them, and where devices suffice the new ones start
    first. An exception in a constructor is raised here, and the old version goes on.

    - `route_prefix`: the path of its URL; None: no HTTP. `blocking`: wait until Stop ends it.
    - `token`: a text, several, or True to make one; HTTP requests then need `Authorization: Bearer TOKEN`.
    - `port`: of the HTTP server; None: the first free one from 8000 on.

    Raises TypeError and ValueError for invalid arguments, ImportError without `nbaccel[serve]`.

    >>> @serve.deployment
    ... class Greeter:
    ...     def __call__(self, name): return f"Hello {name}"
    >>> handle = serve.run(Greeter.bind(), name="greeter")
    >>> handle.remote("Ada").result()
    'Hello Ada'
    >>> serve.delete("greeter")
    """
    _check_run(target, name, route_prefix, logging_config, unknown)
    if port is not None:
        start(http_options={**msgspec.structs.asdict(_wanted()), "port": port})
    tokens = _tokens(token, name)
    _check_address(_wanted(), tokens, token)
    spec = app_spec(target, name, route_prefix, tokens, is_open=token is False)
    _read_zero_as_one(spec)
    facts = _deploy(spec.name, encode(spec))
    handle = DeploymentHandle(spec.ingress, name)
    served_snapshot.own_tokens[id_of(callers.folder(), name)] = tokens[0] if tokens else ""
    _show(name, route_prefix, facts, tokens is not None)
    _seen_of_session().again(name)
    if blocking:
        _block(name)
    return handle


def _read_zero_as_one(spec: AppSpec) -> None:
    global _has_given_notice
    if not _has_given_notice and any(
        each.scaling is not None and not each.scaling.min_replicas for each in spec.deployments
    ):
        _has_given_notice = True
        _notice("min_replicas=0 is read as 1: a deployment keeps one replica.")


_has_given_notice = False


def _check_run(target: Any, name: Any, route_prefix: Any, logging_config: Any, unknown: dict[str, Any]) -> None:
    if isinstance(target, Deployment):
        raise TypeError(f"{target.name} is not bound: serve.run({target.name}.bind(...)).")
    if not isinstance(target, Application):
        raise TypeError(f"serve.run takes an application, as deployment.bind(...) makes one, not {target!r}.")
    if not isinstance(name, str) or not name:
        raise TypeError(f"The name of an application is a text, not {name!r}.")
    if route_prefix is not None and (not isinstance(route_prefix, str) or not route_prefix.startswith("/")):
        raise ValueError(f"route_prefix begins with '/', or is None for no HTTP, not {route_prefix!r}.")
    if route_prefix not in (None, "/") and route_prefix.endswith("/"):
        raise ValueError(f"route_prefix has no '/' at its end: {route_prefix!r}.")
    for option, value in (("name", name), ("route_prefix", route_prefix)):
        option_checks.word(option, value)
    if logging_config is not None:
        raise ValueError("logging_config is not built here: what replicas print is shown as that of any actor.")
    if unknown.pop("_local_testing_mode", False):
        raise ValueError(
            "_local_testing_mode is not built here: nbaccel.init(engine='debug') runs all in this process."
        )
    if unknown := {key: value for key, value in unknown.items() if value not in (None, False)}:
        raise TypeError(
            f"serve.run has no {', '.join(unknown)} here. On a Ray cluster, `from ray import serve` has more."
        )


def _tokens(token: Any, name: str) -> list[str] | None:
    if token is None or token is False:
        return None
    if token is True:
        return [
            _made.setdefault(name, secrets.token_urlsafe(32))
        ]  # the same again, so that the same cell changes nothing
    given = [token] if isinstance(token, str) else list(token)
    if not given or not all(
        isinstance(each, str) and each.isascii() and each.strip() == each and each for each in given
    ):
        raise ValueError("token is True, a text of ASCII without blanks around it, or several of them.")
    return given


_made: dict[str, str] = {}  # tokens of this process's applications


def token_of(name: str = "default") -> str | None:
    """The token that `serve.run(token=True)` made in this process for an application, or None."""
    return _made.get(name)


def _wanted() -> HTTPOptions:
    """What the door listens at, or will."""
    return _door[2] if _door is not None and _is_ours() else HTTPOptions()


def _check_address(http: HTTPOptions, tokens: list[str] | None, token: Any) -> None:
    if http.host not in _LOOPBACK and tokens is None and token is not False:
        raise ValueError(
            f"The door listens at {http.host}, where others reach it. Pass token=True to serve.run, which then asks "
            "for a token, or token=False if whoever reaches it may ask."
        )


# ---- the door


def start(proxy_location: Any = None, http_options: Any = None, **unknown: Any) -> None:
    """Start the HTTP server, or restart it elsewhere. `http_options`: an HTTPOptions or a dict of its fields."""
    if unknown := {key: value for key, value in unknown.items() if value is not None}:
        raise TypeError(
            f"serve.start has no {', '.join(unknown)} here: it takes http_options. Ray Serve has gRPC and more."
        )
    settings = _checked(http_options)
    global _door
    with _lock:
        if not nbaccel.is_initialized():
            nbaccel.init()
        if not _has_door():
            _start_door(settings)
        elif http_options is not None and settings != _wanted():
            _check_move(settings)
            _ask("http", encode(settings))
            if _door is not None:
                _door = (_door[0], _door[1], settings)


def _check_move(settings: HTTPOptions) -> None:
    open_to_all = [name for name, app in _ask("status")["apps"].items() if not app["asks_token"] and not app["is_open"]]
    if settings.host not in _LOOPBACK and open_to_all:
        raise ValueError(
            f"At {settings.host} others reach the door, and {', '.join(open_to_all)} asks for no token. Run it with "
            "serve.run(..., token=True) first, or with token=False if whoever reaches it may ask."
        )


def _checked(given: Any) -> HTTPOptions:
    settings = http_options(given)
    if given is None and _door is not None and _is_ours():
        return _door[2]
    return settings


def _is_ours() -> bool:
    """Whether the door is of the session that this process is in."""
    return _door is not None and engines.started() is not None and _door[0] == callers.folder()


def _start_door(settings: HTTPOptions) -> None:
    global _door
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"nbaccel.serve needs {', '.join(missing)}: pip install 'nbaccel[serve]'", name=missing[0])
    from nbaccel.serve.http_server import ServerActor

    here = NodeAffinitySchedulingStrategy(nbaccel.get_runtime_context().get_node_id(), soft=False)
    actor = internal_actor(
        ServerActor, num_cpus=0, max_restarts=-1, max_concurrency=2, scheduling_strategy=here
    ).remote(callers.folder(), settings)
    try:
        nbaccel.get(actor.address.remote())
    except exceptions.RayActorError as error:
        if error.cause is not None and isinstance(error.cause, exceptions.RayTaskError):
            raise OSError(str(error.cause.cause)) from None
        raise
    _door = (callers.folder(), actor, settings)


def _session_ends(engine: Any) -> None:
    global _door
    _door = None
    _close_seen()
    _made.clear()


engines.before_end(_session_ends)


_seen: ShownApplications | None = None  # shows what this process serves


def _seen_of_session() -> ShownApplications:
    global _seen
    with _lock:
        if _seen is None:
            _seen = ShownApplications(callers.folder(), _status, _takes_requests)
        return _seen


def _status() -> dict[str, Any]:
    """The door's; another process of the job may have ended it."""
    return _ask("status") if _has_door() else {"apps": {}}


def _close_seen() -> None:
    global _seen
    with _lock:
        ended, _seen = _seen, None
    if ended is not None:
        ended.close()


def _takes_requests(name: str) -> Callable[[str], object]:
    """What somebody asks of an application in a view: to stop."""

    def asked(what: str) -> None:
        if what.partition(" ")[0] == "stop":  # it returns at once; the view shows the end
            threading.Thread(target=_stop, args=(name,), name="nbaccel-serve-stop", daemon=True).start()

    return asked


def _stop(name: str) -> None:
    with contextlib.suppress(exceptions.RayError, RayServeException, OSError):
        delete(name)


def _ask(op: str, body: bytes = b"", **facts: Any) -> dict[str, Any]:
    """Ask the door; waits so that Stop is noticed. Raises what the door raises."""
    return msgspec.msgpack.decode(_asked(op, body, **facts).meta)  # type: ignore[no-any-return]


def _asked(op: str, body: bytes = b"", look: Callable[[], None] | None = None, **facts: Any) -> Frame:
    ways = callers.blocking()
    answer = ways.submit(lambda: ways.ask_door(op, body, **facts))
    try:
        while not interruptible.until(
            lambda seconds: bool(futures.wait([answer], seconds).done), None if look is None else _LOOK_S
        ):
            if look is not None:
                look()
        return answer.result()
    except KeyboardInterrupt:
        answer.cancel()
        raise
    except (LinkLost, OSError, futures.CancelledError) as error:
        raise RayServeException(f"The door of this session does not answer: {error or 'the session ends'}") from None


def _deploy(name: str, packed: bytes) -> dict[str, Any]:
    """Have the door serve it. Raises what user code raised."""
    with _lock:
        if not nbaccel.is_initialized():
            nbaccel.init()
        is_new = not _has_door()
        if is_new:
            _start_door(_wanted())
        if _door is not None and _is_ours():
            nbaccel.get(_door[1].enter.remote())
    frame = _asked("deploy", packed, look=_Looker(name))
    facts: dict[str, Any] = msgspec.msgpack.decode(frame.meta)
    facts["is_new"] = is_new
    if facts.get("error") or facts["changed"]:
        engines.current().await_output(_OUTPUT_S)  # what constructors have printed stands above the line or the error
    if facts.get("error"):
        error = pickle.loads(frame.body)
        raise error.as_instanceof_cause() if isinstance(error, exceptions.RayTaskError) else error
    return facts


class _Looker:
    """Shows once what a run waits for, when it takes long."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown: set[tuple[str, str]] = set()

    def __call__(self) -> None:
        try:
            app = _ask("status")["apps"].get(self._name, {})
        except RayServeException:
            return  # the run itself fails as well
        for name, facts in app.get("deployments", {}).items():
            words = facts["waits"] or facts["message"]
            kind = words.partition(" for ")[0]  # the seconds of a constructor count on
            if words and (name, kind) not in self._shown:
                self._shown.add((name, kind))
                _notice(f"{name}: {words}")


def _notice(sentence: str) -> None:
    sinks.installed.notice(sinks.Notice("serve", sentence))


def _show(name: str, route_prefix: str | None, facts: dict[str, Any], made: bool) -> None:
    """One line about what is served, and about a port that is another one than asked."""
    if not facts["changed"]:
        _notice(f"{name}: nothing has changed.")
        return
    where = f" at {facts['url']}{route_prefix}" if route_prefix is not None else ""
    if where and (route := _route(name)):
        where = f" at {route} below the JupyterHub, and on its machine{where}"
    token = " Requests need the token of serve.token_of()." if made else ""
    is_other = facts["is_new"] and facts["wanted_port"] is None and facts["port"] != 8000
    port = " (the ports before are taken)" if is_other else ""
    _notice(f"{name} is served{where}{port}.{token}")


def _block(name: str) -> None:
    """Wait for Stop, then end the application."""
    forever = threading.Event()
    try:
        interruptible.until(lambda seconds: forever.wait(seconds), None)
    except KeyboardInterrupt:
        delete(name)


# ---- what there is


def _has_door() -> bool:
    """Whether this job has a door: this process has made it, or another one of the job."""
    return engines.started() is not None and os.path.exists(callers.door_path())


def delete(name: str, _blocking: bool = True) -> None:
    """End an application: it takes no new requests, finishes those it has, then its replicas end."""
    if _has_door():
        _ask("delete", name=name)
    _made.pop(name, None)
    if _seen is not None:
        _seen.look()


def shutdown() -> None:
    """End all applications of this job, and the HTTP server.

    >>> serve.shutdown()
    """
    global _door
    with _lock:
        if not _has_door():
            return
        _ask("shutdown")
        _close_seen()
        if _door is not None:
            nbaccel.kill(_door[1])
            _door = None
        callers.close()
        _made.clear()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(callers.door_path())


def status() -> ServeStatus:
    """All applications of this job with their deployments: states, what they wait for, requests, the last error.

    >>> serve.status().applications
    {}
    """
    if not _has_door():
        return ServeStatus()
    return status_of(_ask("status"), nbaccel.get_runtime_context().get_node_id())


def get_app_handle(name: str) -> DeploymentHandle:
    """The handle of an application's ingress. Raises RayServeException if there is no such application.

    >>> @serve.deployment
    ... def double(x): return 2 * x
    >>> started = serve.run(double.bind(), name="double", route_prefix=None)
    >>> serve.get_app_handle("double").remote(3).result()
    6
    >>> serve.delete("double")
    """
    apps = _ask("status")["apps"] if _has_door() else {}
    if name not in apps or apps[name]["status"] == "DELETING":
        raise RayServeException(f"There is no application {name!r}. {_there_are(apps)}")
    return DeploymentHandle(apps[name]["ingress"], name)


def get_deployment_handle(deployment_name: str, app_name: str | None = None) -> DeploymentHandle:
    """The handle of a deployment. In a replica, `app_name` defaults to the replica's own application.

    Raises RayServeException where there is no such deployment.
    """
    if app_name is None:
        here = context.replica.get(None)
        if here is None:
            raise RayServeException("get_deployment_handle() needs app_name outside of a replica.")
        app_name = here().app_name
    apps = _ask("status")["apps"] if _has_door() and not callers.current().is_here() else None
    if apps is not None and deployment_name not in apps.get(app_name, {}).get("deployments", {}):
        raise RayServeException(f"There is no deployment {deployment_name!r} in {app_name!r}. {_there_are(apps)}")
    return DeploymentHandle(deployment_name, app_name)


def _there_are(apps: dict[str, Any]) -> str:
    found = [f"{name} ({', '.join(app['deployments'])})" for name, app in apps.items()]
    return f"There are {', '.join(found)}." if found else "None is served here."


EVERY_S = 1.0
_TRACEBACK = 4000  # characters
_STATES = {
    "DEPLOYING": "deploying", "RUNNING": "serving", "UNHEALTHY": "unhealthy", "DEPLOY_FAILED": "failed",
    "DELETING": "ending",
}  # fmt: skip


class ShownApplications:
    """The applications of a job, as one process shows them: it publishes a snapshot of each, and draws it.

    ```
      the thread `nbaccel-serve-seen` ── status? ──► door          each second, while something is served
            └── snapshots_of ──┬── publish("application", …) ──► snapshots of the cluster
                               └── sinks.installed.application ──► the card
    ```
    Each process of the job that has served something does it. One of them publishes the record of an application; the
    others try at each look, so that another one does when it has ended.
    """

    def __init__(
        self, folder: str, ask: Callable[[], dict[str, Any]], asked: Callable[[str], Callable[[str], object]]
    ) -> None:
        """`ask` gives the door's status, without applications if there is no door.

        `asked` gives what takes the requests to an application, such as "stop".
        """
        self._folder = folder
        self._ask = ask
        self._asked = asked
        self._last: dict[str, ServedSnapshot] = {}  # by name
        self._published: dict[str, ServedSnapshot] = {}  # of these, what this process publishes
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nbaccel-serve-seen", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            self.look()

    def look(self) -> None:
        """Show what has changed. A door that does not answer has a successor, or the session ends."""
        try:
            status = self._ask()
            with self._lock:
                if not self._over.is_set():
                    self._show(status)
        except (exceptions.RayError, RayServeException, OSError, RuntimeError):
            pass

    def _show(self, status: dict[str, Any]) -> None:
        now = snapshots_of(self._folder, status)
        for name, snapshot in now.items():
            if snapshot != self._last.get(name):
                self._last[name] = snapshot
                sinks.installed.application(snapshot)
            if snapshot != self._published.get(name):
                self._publish(name, snapshot)
        for name in [name for name in self._last if name not in now]:
            self._end(name)

    def _publish(self, name: str, snapshot: ServedSnapshot) -> None:
        try:
            engines.current().publish(KIND, snapshot.id, msgspec.to_builtins(snapshot), self._asked(name))
        except ValueError:  # another process of the job publishes it
            self._published.pop(name, None)
        else:
            self._published[name] = snapshot

    def _end(self, name: str) -> None:
        sinks.installed.application(ended(self._last.pop(name)))
        published = self._published.pop(name, None)
        if published is not None:
            engines.current().publish(KIND, published.id, None)

    def again(self, name: str) -> None:
        """A cell has served this application: it has the card now."""
        self.look()
        with self._lock:
            if name in self._last:
                sinks.installed.application(self._last[name], under_this_cell=True)

    def close(self) -> None:
        """The session ends: what is shown stays as it was, as ended."""
        self._over.set()
        with self._lock:
            for name in list(self._last):
                try:
                    self._end(name)
                except (exceptions.RayError, OSError, RuntimeError):
                    pass  # the head has gone, and its records with it


def ended(last: ServedSnapshot) -> ServedSnapshot:
    """The last that was known, without what has gone."""
    rows = [replace(each, replicas=[], more=0, message="") for each in last.deployments]
    return replace(last, state="ended", ended_at=time.time(), deployments=rows, under_way=0, queued=0, why="")


def snapshots_of(folder: str, status: dict[str, Any]) -> dict[str, ServedSnapshot]:
    """From what the door answers, by name."""
    return {name: _application(folder, name, app, status) for name, app in status["apps"].items()}


def id_of(folder: str, name: str) -> str:
    """Of an application of the door in this folder."""
    return f"served-{hashlib.sha256(f'{folder} {name}'.encode()).hexdigest()[:12]}"


def _application(folder: str, name: str, app: dict[str, Any], door: dict[str, Any]) -> ServedSnapshot:
    counts, prefix = app["counts"], app["route_prefix"]
    rows = [_deployment(each, facts) for each, facts in app["deployments"].items()]
    is_unhealthy = any(facts["status"] == "UNHEALTHY" for facts in app["deployments"].values())
    return ServedSnapshot(
        id_of(folder, name),
        wording.encodable(name),
        "unhealthy" if is_unhealthy and app["status"] == "RUNNING" else _STATES.get(app["status"], "deploying"),
        "" if prefix is None else f"{door['url']}{prefix}",
        "" if prefix is None else _route(name),
        door["socket"],
        prefix or "",
        app["asks_token"],
        wording.encodable(app["message"])[:500],
        app["last_deployed_time_s"],
        None,
        rows,
        counts.get("requests", 0),
        counts.get("statuses", {}),
        counts.get("per_s", 0.0),
        counts.get("p50_s"),
        counts.get("p95_s"),
        counts.get("under_way", 0),
        app["queued"],
        counts.get("failed", 0),
    )


def _route(name: str) -> str:
    """Where nbaccel's server extension has the application, below a JupyterHub (`extension/nbaccel_lab/served.py`)."""
    user = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "")
    return f"{user}nbaccel/serve/{quote(name, safe='')}/" if user.startswith("/") else ""


def _deployment(name: str, facts: dict[str, Any]) -> DeploymentRow:
    shown = facts["replicas"][:MOST_REPLICAS]
    more = sum(row["state"] == "RUNNING" for row in facts["replicas"][MOST_REPLICAS:])
    batches = sum(row["batches"][0] for row in facts["replicas"])
    items = sum(row["batches"][1] for row in facts["replicas"])
    limit = max((row["batches"][2] for row in facts["replicas"]), default=0)
    return DeploymentRow(
        wording.encodable(name),
        facts["wanted"],
        [_replica(row) for row in shown],
        more,
        facts["max_ongoing_requests"],
        _share(facts["asks"]),
        round(items / batches, 1) if batches else 0.0,
        limit,
        wording.encodable(facts["message"])[:500],
        _error(facts["last_error"]),
    )


def _share(asks: dict[str, float]) -> str:
    """ "½ GPU" is written as 0.5: terminals differ."""
    gpus = asks.get("num_gpus", 0)
    return wording.demand({"GPU": gpus}) if gpus else ""


def _replica(row: dict[str, Any]) -> ReplicaRow:
    return ReplicaRow(
        row["actor_id"],
        row["state"],
        row["pid"],
        {name: ids for name, ids in row["device_ids"].items() if ids},
        row["since"],
        row["ongoing"],
        wording.encodable(row["fallback"]),
        wording.encodable(row["blocked"])[-_TRACEBACK:],
    )


def _error(error: dict[str, Any]) -> LastError | None:
    if not error:
        return None
    words = wording.encodable(error["message"])[:500]
    return LastError(
        error["time"], wording.encodable(error["type"]), words, wording.encodable(error["traceback"])[-_TRACEBACK:]
    )
