"""Starts a Ray on this machine or joins a cluster: arguments of Ray's own init, checks, packages, several nodes."""

from __future__ import annotations

import importlib
import json
import logging
import os
import shlex
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

from nbaccel import addresses as nbaccel_addresses
from nbaccel import engine as engines
from nbaccel import exceptions, package_environments, ray_preflight, surroundings
from nbaccel.addresses import is_own
from nbaccel.handles.options import InitOptions
from nbaccel.light_imports import lighter_imports
from nbaccel.quantities import ACCELERATORS
from nbaccel.ray_engine.rays import HIDE_UNASSIGNED, PACKAGE, Environment, Keywords, import_shipped
from nbaccel.views import sinks, wording
from nbaccel.views.sinks import StartSteps

OLDEST, NEWEST = (2, 49), (2, 60)  # the minor versions of Ray that `make test-ray-versions` is for
T = TypeVar("T")
_ATTEMPTS = 3
_TOO_SLOW = "timed out during startup"
_CLIENT_SERVER_CRASHED = ("Starting Ray client server failed", "Proxy failed to Connect to backend")
_INSTALL = "pip install 'nbaccel[ray]'"


def import_ray() -> ModuleType:
    """Import Ray. Raises an ImportError that says what to type if Ray is missing; an untested version gets a line."""
    # Ray holds lines back that differ in their numbers only, and forgets them at a cell's end.
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    # Ray looks for KeyboardInterrupt once a second while it waits in `get`: too late for the Stop button.
    os.environ.setdefault("RAY_get_check_signal_interval_milliseconds", "50")
    # A task without a device keeps its environment: Ray's default since 2.60, and an option from 2.54 on.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        with lighter_imports():
            ray = importlib.import_module("ray")
    except ModuleNotFoundError as error:
        raise ImportError(f"engine='ray' needs Ray, which is not installed here ({error}). Type: {_INSTALL}") from None
    version = str(getattr(ray, "__version__", "unknown"))
    if not _is_tested(version):
        sinks.installed.notice(sinks.Notice("version", _untested(version)))
    return ray


def _untested(version: str) -> str:
    """In one sentence, with what is known to be lost."""
    oldest, newest = (".".join(map(str, each)) for each in (OLDEST, NEWEST))
    import_shipped()
    lost = dict.fromkeys(importlib.import_module("nbaccel_in_ray.internals").missing().values())
    return wording.sentence(
        [f"Ray {version} is installed here, and nbaccel is tested with {oldest} to {newest}: parts may fail", *lost]
    )


def _is_tested(version: str) -> bool:
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    return major.isdigit() and minor.isdigit() and OLDEST <= (int(major), int(minor)) <= NEWEST


def planned(options: InitOptions) -> list[str]:
    """The steps of a start, in words."""
    address = options.address
    way = "Start its processes" if is_own(address) else "Join the cluster" if address == "auto" else f"Join {address}"
    return ["Import Ray", way, "Look for devices"]


def devices_found(resources: Mapping[str, float]) -> str:
    """What a cluster can give, in words: "2 GPU, 4 CPU"."""
    return wording.demand({name: resources.get(name, 0.0) for name in (*ACCELERATORS, "CPU")})


def connect(options: InitOptions, steps: StartSteps, kept: RaysLines) -> tuple[str | None, bool]:
    """Start or join Ray; (the address joined, whether shutdown should end our use of Ray)."""
    if options.token_file:
        ray_preflight.show_token_of(options.token_file)
    steps.next()
    ray = import_ray()
    kept.watch_log()
    import_shipped()
    _refuse_foreign(options)
    steps.next()
    if ray.is_initialized():
        return None, False  # the program has called ray.init itself
    with early_imports():
        address = resolved(options.address)
        if address is not None:
            _join(ray, address, options)
        else:
            _start(ray, options, steps)
    return address, True


def _start(ray: ModuleType, options: InitOptions, steps: StartSteps) -> None:
    keywords = _start_keywords(options)

    def give_up() -> None:
        steps.found("once more: this machine is too busy for the time that Ray gives them")
        ray.shutdown()

    with told_to_workers():
        patiently(lambda: ray.init(**keywords), give_up)


def patiently(start: Callable[[], T], give_up: Callable[[], object]) -> T:
    """Ray gives its own processes 15 to 30 s to start, too little on a busy machine: then again."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with lighter_imports():
                return start()
        except Exception as error:  # Ray raises nothing narrower
            if _TOO_SLOW not in str(error) or attempt == _ATTEMPTS:
                raise
            give_up()
    raise AssertionError("there is at least one attempt")


def _refuse_foreign(options: InitOptions) -> None:
    """Options of the local engine that would otherwise be ignored without a word."""
    if options.simulate:
        raise ValueError(
            f"simulate={options.simulate!r} simulates devices, which only engine='local' can do. With Ray, "
            "num_gpus=2 gives logical devices."
        )
    if options.shared:
        raise ValueError(
            "shared=True starts an nbaccel head. A Ray that several notebooks share is started with "
            "`ray start --head`; join it with address='auto', engine='ray'."
        )


def _join(ray: ModuleType, address: str, options: InitOptions) -> None:
    """Raises ConnectionError.

    Through Ray Client the head starts a process for each client, which now and then crashes inside gRPC (seen with
    1.85) while it starts: another one is asked for.
    """
    show_token(address)
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            ray.init(address, **_joining_keywords(options))
            return
        except (ConnectionError, RuntimeError, ValueError, ImportError, exceptions.RayError) as error:
            crashed = any(words in str(error) for words in _CLIENT_SERVER_CRASHED)
            if attempts_left == 0 or not crashed:
                raise ConnectionError(why_not_joined(address, error)) from error


def show_token(address: str) -> None:
    """Whether the cluster takes our token and runs what we run, in milliseconds: Ray itself tries for 20 s.

    Raises ConnectionError. Of Ray Client, Ray says it soon enough.
    """
    if address.startswith("ray://"):
        return
    try:
        versions = ray_preflight.ask_versions(address)
    except ray_preflight.token_errors() as error:
        raise ConnectionError(why_not_joined(address, error)) from error
    wrong = ray_preflight.mismatch(versions, ray_preflight.versions_here()) if versions else ""
    if wrong:
        raise ConnectionError(f"address={address!r}: the cluster could not be joined: {wrong}")


def _start_keywords(options: InitOptions) -> Keywords:
    keywords = {
        "num_cpus": options.num_cpus,
        "num_gpus": options.num_gpus,
        "resources": options.resources or None,
        "labels": options.labels or None,
        "object_store_memory": options.object_store_memory,
        "_memory": options.memory,
        "dashboard_host": options.dashboard_host,
        "dashboard_port": options.dashboard_port,
        "job_config": _job_config(options),
        # The cockpit shows what runs; Ray's dashboard costs another 300 MB and a second of its start.
        "include_dashboard": bool(options.include_dashboard),
        "address": "local",
    }
    environment = installed(_environment(options))
    return _given(keywords) | _common_keywords(options, environment)


def _joining_keywords(options: InitOptions) -> Keywords:
    environment = _environment(options)
    modules = [*(environment.get("py_modules") or []), str(PACKAGE)]
    environment["py_modules"] = modules
    config = options.job_config
    if config is None and options.code_search_path:  # with its own code_search_path Ray would import every function
        from ray.job_config import JobConfig

        config = JobConfig(_py_driver_sys_path=list(options.code_search_path))
    return _given({"job_config": config}) | _common_keywords(options, environment)


def _common_keywords(options: InitOptions, environment: Environment) -> Keywords:
    keywords = {
        "namespace": options.namespace,
        "runtime_env": environment or None,
        "log_to_driver": options.log_to_driver,
        "logging_format": options.logging_format,
        "logging_config": _rays_logging(options.logging_config),
        "logging_level": options.logging_level if options.logging_level != "info" else None,
        "configure_logging": None if options.configure_logging else False,
    }
    return _given(keywords) | options.passed_on


def _rays_logging(config: Any) -> Any:
    """Ray's own record of the same."""
    if config is None:
        return None
    from ray import LoggingConfig

    return LoggingConfig(
        encoding=config.encoding,
        log_level=config.log_level,
        additional_log_standard_attrs=list(config.additional_log_standard_attrs),
    )


def _given(keywords: Mapping[str, object]) -> Keywords:
    return {name: value for name, value in keywords.items() if value is not None}


def _environment(options: InitOptions) -> Environment:
    environment = dict(options.runtime_env or {})
    if options.hide_unassigned:
        environment["env_vars"] = {**HIDE_UNASSIGNED, **(environment.get("env_vars") or {})}
    hook = environment.get("worker_process_setup_hook")
    if hook is not None:
        import_shipped()
        guarded = importlib.import_module("nbaccel_in_ray.setup_hooks").guarded
        environment["worker_process_setup_hook"] = guarded(hook)
    return environment


def _job_config(options: InitOptions) -> Any:
    """On this machine the search path is enough: a runtime environment would cost every worker a second start."""
    from ray.job_config import JobConfig

    config = options.job_config or JobConfig()
    entries = [os.path.abspath(entry) for entry in (*options.code_search_path, *sys.path)]
    config._py_driver_sys_path.extend(entry for entry in entries if os.path.isdir(entry))
    return config


# ---- imports what the engine needs beside Ray while Ray's processes start: the main thread then mostly waits
#
# On a quiet machine these imports take a tenth of a second, on a busy one seconds.


# None of them imports Ray: while Ray starts, it imports modules of its own, and two threads would wait for each other.
WITHOUT_RAY = (
    "nbaccel.accelerators.visibility",
    "nbaccel.freshness",
    "nbaccel.handles.internal_work",
    "nbaccel.handles.placement_group_handle",
    "nbaccel.handles.unpicklable",
    "nbaccel.scheduling.explain",
    "nbaccel.views.tables",
    "nbaccel.views.observer_server",
    "nbaccel.views.explanations",
    "nbaccel.views.task_lines",
    "nbaccel.views.history.book",
    "nbaccel.views.history.answers",
    "nbaccel.views.snapshot",
    "nbaccel.views.record_book",
    "nbaccel.views.tables",
    "nbaccel.views.totals",
    "nbaccel.views.trace_events",
    "nbaccel.views.unused_devices",
)


@contextmanager
def early_imports() -> Iterator[None]:
    """Import beside what is done inside, and wait for the end of both."""
    thread = threading.Thread(target=_import_all, name="nbaccel-imports", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _import_all() -> None:
    with suppress(ImportError):  # whoever needs the module gets the error
        for name in WITHOUT_RAY:
            importlib.import_module(name)


# ---- checks whether anything answers at the address of a Ray cluster, before Ray itself connects
#
# ```
#   "host:6379"        a cluster that this machine is a node of (Ray needs its own processes here)
#   "ray://host:10001" a cluster elsewhere, through Ray Client
# ```
# `nbaccel.addresses` says what an address means, and where "auto" searches.


CONNECT_TIMEOUT_S = 3.0
CLIENT_PORT = 10001


def resolved(address: str | None) -> str | None:
    """The address to give to Ray, None for a Ray of our own. Raises ConnectionError when nothing answers within 3 s."""
    if address is None or nbaccel_addresses.is_own(address):
        return None
    found = _found() if address == "auto" else address
    _check(found)
    return found


def _found() -> str:
    address, _where = nbaccel_addresses.find_ray()
    if address:
        return address
    raise ConnectionError(
        "address='auto': no Ray cluster found. Looked for RAY_ADDRESS in the environment, which is not set, "
        f"and for {nbaccel_addresses.note_of_ray()}, which `ray start` writes. Start one with `ray start --head`, pass "
        "its address ('host:6379' or 'ray://host:10001'), or leave the address out for a Ray of your own."
    )


def host_and_port(address: str) -> tuple[str, int]:
    """Of "host:port" or "ray://host[:port]". Raises ValueError for anything else."""
    plain = address.removeprefix("ray://")
    host, colon, port = plain.rpartition(":")
    if not colon and address.startswith("ray://"):
        return plain, CLIENT_PORT
    if not host or not port.isdigit():
        raise ValueError(
            f"address={address!r} is not an address of a Ray cluster: write 'auto', 'host:6379' or 'ray://host:10001'."
        )
    return host.strip("[]"), int(port)


def _check(address: str) -> None:
    """Whether somebody listens there at all: Ray's own attempts last much longer and say less."""
    host, port = host_and_port(address)
    try:
        socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S).close()
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise ConnectionError(
            f"address={address!r}: nothing answers at {host} port {port} ({why}). {_advice(address, port)}"
        ) from None


def _advice(address: str, port: int) -> str:
    if address.startswith("ray://"):
        return (
            f"Ray Client listens on port {CLIENT_PORT} unless `ray start --head --ray-client-server-port` says "
            "otherwise, and only where Ray was installed with pip install 'ray[client]'."
        )
    advice = "`ray start --head` listens on port 6379 unless told otherwise."
    if port == CLIENT_PORT:
        advice += f" Port {CLIENT_PORT} is Ray Client's: write ray://host:{CLIENT_PORT}."
    return advice


_TOKEN = (
    "A cluster may demand a token (Ray's default since 2.59), and answers InvalidAuthToken to who has none or another: "
    "copy the file ~/.ray/auth_token of its head and pass token_file='~/.ray/auth_token', or set RAY_AUTH_MODE=token "
    "and RAY_AUTH_TOKEN before nbaccel.init()."
)


def _refuses_token(error: BaseException) -> bool:
    """Whether this, or what it came from, says that the token is missing or another."""
    links: list[str] = []
    link: BaseException | None = error
    while link is not None and len(links) < _MOST_LINKS:
        links.append(f"{type(link).__name__} {link}")
        link = link.__cause__ or link.__context__
    return any(word in text for word in _TOKEN_WORDS for text in links)


_TOKEN_WORDS = ("InvalidAuthToken", "AuthenticationError", "Unauthenticated", "UNAUTHENTICATED")
_MOST_LINKS = 10


def why_not_joined(address: str, error: BaseException) -> str:
    """Words for a cluster that answers but could not be joined."""
    host, _ = host_and_port(address)
    text = str(error).strip() or type(error).__name__
    if address.startswith("ray://"):
        return f"address={address!r}: the cluster could not be joined through Ray Client: {text}\n{_TOKEN}"
    if _refuses_token(error):
        return f"address={address!r}: the cluster could not be joined: {text}\n{_TOKEN}"
    return (
        f"address={address!r}: the cluster could not be joined: {text}\n{_TOKEN}\nAn address without ray:// needs "
        f"Ray's own node processes on this machine (`ray start --address={address}`). From a machine outside of the "
        f"cluster use address='ray://{host}:{CLIENT_PORT}'."
    )


# ---- keeps Ray's own lines of a start out of the cell: its log up to warnings, and Python's warnings meanwhile
#
# A person who starts a cluster can do nothing about them. Errors are shown, and where the start fails, everything is.
# The lines are kept: `logs` without a task has them.


_RAYS = "ray"  # the logger of all that Ray logs in a driver
_DASHBOARD = "View the dashboard at"  # of somebody who has asked for a dashboard


class RaysLines:
    """What is kept of one start. A filter of handlers, since a logger's own sees no record of the loggers below it."""

    def __init__(self, *, is_wanted: bool) -> None:
        self.lines: list[str] = []
        self.is_wanted = is_wanted
        self._held: list[Callable[[], None]] = []  # shows each of them after all
        self._handlers: list[logging.Handler] = []

    def watch_log(self) -> None:
        """Keep records from now on; called once Ray is imported, which makes its handlers."""
        self._handlers = list(logging.getLogger(_RAYS).handlers) if self.is_wanted else []
        for handler in self._handlers:
            handler.addFilter(self)

    def unwatch_log(self) -> None:
        for handler in self._handlers:
            handler.removeFilter(self)
        self._handlers = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is shown."""
        if record.levelno >= logging.ERROR or _DASHBOARD in record.getMessage():
            return True
        self.lines.append(f"{record.levelname} {record.filename}:{record.lineno} -- {record.getMessage()}")
        handler = self._handlers[0]
        self._held.append(lambda: handler.emit(record))
        return False

    def keep_warning(self, text: str, show: Callable[[], None]) -> None:
        self.lines.append(text.rstrip())
        self._held.append(show)

    def hint(self) -> str:
        """Where they are, in words; "" if there are none."""
        return f"{wording.count(len(self.lines), 'line')} of Ray's log: %accel_logs" if self.lines else ""

    def show_all(self) -> None:
        """Show what was kept: the start has failed."""
        for show in self._held:
            show()


@contextmanager
def kept_back(options: InitOptions) -> Iterator[RaysLines]:
    """Keep Ray's lines while it starts, unless the program has said how Ray is to log."""
    kept = RaysLines(is_wanted=not _says_how_to_log(options))
    try:
        with _warnings_kept(kept):
            yield kept
    except BaseException:
        kept.unwatch_log()
        kept.show_all()
        raise
    finally:
        kept.unwatch_log()


def _says_how_to_log(options: InitOptions) -> bool:
    asked = options.logging_level != "info" or options.logging_format or options.logging_config
    return bool(asked) or not options.configure_logging


@contextmanager
def _warnings_kept(kept: RaysLines) -> Iterator[None]:
    """Other threads of the program may warn meanwhile: their warnings are shown."""
    show, here = warnings.showwarning, threading.get_ident()

    def keep(message: Any, category: type[Warning], filename: str, lineno: int, *rest: Any, **given: Any) -> None:
        if threading.get_ident() != here or not kept.is_wanted:
            show(message, category, filename, lineno, *rest, **given)
            return
        text = warnings.formatwarning(message, category, filename, lineno)
        kept.keep_warning(text, lambda: show(message, category, filename, lineno, *rest, **given))

    warnings.showwarning = keep
    try:
        yield
    finally:
        if warnings.showwarning is keep:
            warnings.showwarning = show


_HERE = "NBACCEL_RAY_OF_THIS_MACHINE"
_LOG_LEVELS = "NBACCEL_LOG_LEVELS"  # as nbaccel_in_ray.printing calls it


@contextmanager
def told_to_workers() -> Iterator[None]:
    """Inside of it a Ray is started whose processes know that its only node is this machine, and how to log."""
    before = dict(os.environ)
    variables = {_HERE: "1", _LOG_LEVELS: json.dumps(surroundings.log_levels())}
    forced = before.keys() - surroundings.without_forced_colour().keys()
    os.environ.update(variables)
    for name in forced:
        del os.environ[name]
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update({name: before[name] for name in forced})


def is_worker_of_one() -> bool:
    """Whether this process belongs to such a Ray."""
    return _HERE in os.environ


# ---- packages that tasks request, on a Ray that nbaccel started: installed as the local engine does
#
# Ray's own tool needs `virtualenv`, and where Ray runs in a virtual environment it copies all of that for each list
# and session: 42 s for one small wheel where JupyterLab and torch are installed, instead of 2 s once. It is left to
# clusters that we join, whose nodes do not see our files.


def or_error(environment: Environment) -> Environment:
    """The environment with its packages installed, or one in which every task raises why they could not be."""
    try:
        return installed(environment)
    except exceptions.RuntimeEnvSetupError as error:
        fail = importlib.import_module("nbaccel_in_ray.setup_hooks").fail
        sentence = str(error).removeprefix("Failed to set up runtime environment: ")  # Ray's class says that itself
        return {**_without_tools(environment), "worker_process_setup_hook": partial(fail, sentence)}


def installed(environment: Environment) -> Environment:
    """The environment with an interpreter that sees its packages, in the place of their list.

    Raises RuntimeEnvSetupError with the tool's output, ValueError for a requirements file that cannot be read.
    """
    tool = next((name for name in package_environments.TOOLS if environment.get(name)), None)
    if tool is None:
        return environment
    spec = package_environments.spec_of(tool, environment[tool])
    with _line_under_the_cell(tool, spec):
        python = package_environments.python_for({tool: spec, "config": environment.get("config")})
    return {**_without_tools(environment), "py_executable": shlex.quote(python)}


def _without_tools(environment: Environment) -> Environment:
    return {name: value for name, value in environment.items() if name not in package_environments.TOOLS}


@contextmanager
def _line_under_the_cell(tool: str, spec: Environment) -> Iterator[None]:
    """What the cell waits for, while it does."""
    if package_environments.is_made(tool, spec):
        yield
        return
    parent = engines.cell_source()[1] if engines.cell_source is not None else b""
    words = f"{tool} installs {', '.join(spec['packages'])} for this runtime_env; it is kept for the next time."
    line = b"installing"
    sinks.installed.notice(sinks.Notice("waiting", words, parent, line))
    try:
        yield
    finally:
        sinks.installed.notice(sinks.Notice("waiting", "", parent, line))


# ---- several nodes on this machine, for cluster_utils


_NOTICED_WITHIN_S = 60.0
_WAIT_S = 0.05


class RayNodes:
    """Nodes by their ids, of one cluster; Ray ends them with this process."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster()
        self._nodes: dict[str, Any] = {}

    @property
    def address(self) -> str | None:
        address: str | None = self._cluster.address
        return address

    @property
    def session(self) -> str:
        return str(self._cluster.head_node.session_name)

    def start_head(self, given: dict[str, Any]) -> str:
        return self._started({**given, "include_dashboard": False, "dashboard_port": None})  # None: one that is free

    def add(self, given: dict[str, Any]) -> str:
        return self._started(given)

    def _started(self, given: dict[str, Any]) -> str:
        node = patiently(
            lambda: self._cluster.add_node(**given),
            lambda: None,  # started processes of the node end with this process
        )
        self._nodes[node.node_id] = node
        return str(node.node_id)

    def remove(self, node_id: str, *, graceful: bool) -> None:
        """Ray learns at once of a node that could say so, of a killed one some seconds later."""
        self._cluster.remove_node(self._nodes.pop(node_id), allow_graceful=graceful)
        deadline = time.monotonic() + _NOTICED_WITHIN_S
        while graceful and node_id in self.alive() and time.monotonic() < deadline:
            time.sleep(_WAIT_S)

    def alive(self) -> set[str]:
        if self.address is None:
            return set()
        return {row["NodeID"] for row in self._cluster.global_state.node_table() if row["Alive"]}

    def are_alive(self) -> bool:
        return self.address is not None and bool(self._cluster.remaining_processes_alive())

    def stop(self) -> None:
        self._nodes.clear()
        self._cluster.shutdown()
