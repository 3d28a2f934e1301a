"""The role of this process in a Ray cluster, driver or worker; and whether the cluster's head is alive.

Without its head, Ray is silent for a minute and then ends this process. A thread therefore connects to the head's
address from time to time. When nothing answers, waiting calls raise HeadDiedError, one line says so, and this process
leaves the cluster by itself: the notebook keeps its memory.
"""

from __future__ import annotations

import gc
import importlib
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import ray

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.options import InitOptions
from nbaccel.ray_engine.rays import import_shipped

import_shipped()

from nbaccel_in_ray import internals as internals  # noqa: E402  # found once the line above has run

KNOCK_EVERY_S = 5.0
AGAIN_AFTER_S = 1.0
CONNECT_TIMEOUT_S = 3.0
SLICE_S = 2.0  # waiting calls look up so often
LAST_CALL_S = 3 * SLICE_S  # until they have noticed

T = TypeVar("T")


def _whole_ms(seconds: float) -> float:
    """Rounded up: Ray cuts a timeout to whole milliseconds, and would be back too early."""
    return math.ceil(seconds * 1000) / 1000


class HeadWatch:
    """Knocks at (host, port) until `stop`; `told` is called with the sentence and `leave` to disconnect."""

    def __init__(self, where: tuple[str, int], told: Callable[[str], object], leave: Callable[[], object]) -> None:
        self.lost = ""  # the sentence, once it is known
        self._where = where
        self._told = told
        self._leave = leave
        self._waiting = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="nbaccel-head-watch", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()

    def check(self) -> None:
        """Raise HeadDiedError if the head is known to be gone."""
        engines.end_daemon_thread()  # Ray has left its cluster by then, and would start another one
        if self.lost:
            raise exceptions.HeadDiedError(self.lost)

    def patiently(self, ask: Callable[[float], T], timeout_s: float | None) -> T:
        """What `ask(seconds)` answers; asked again as long as it raises Ray's GetTimeoutError and there is time.

        A wait that lasts collects cycles once: they may have the last handle of what is waited for, and Ray, which asks
        all processes to collect when work cannot be placed, does so at most each half a minute.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        collected = False
        while True:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            last = left is not None and left <= SLICE_S
            with self._counted():
                try:
                    return ask(_whole_ms(left) if last and left is not None else SLICE_S)
                except ray.exceptions.GetTimeoutError:
                    if deadline is not None and time.monotonic() >= deadline:
                        raise
            if not collected:
                gc.collect()
                collected = True

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self.check()
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1

    # ---- the thread

    def _run(self) -> None:
        while not self._ended.wait(KNOCK_EVERY_S):
            if not self._answers() and not self._ended.wait(AGAIN_AFTER_S) and not self._answers():
                self._lose()
                return

    def _answers(self) -> bool:
        try:
            socket.create_connection(self._where, timeout=CONNECT_TIMEOUT_S).close()
        except OSError:
            return False
        return True

    def _lose(self) -> None:
        host, port = self._where
        self.lost = (
            f"Ray's head at {host}:{port} does not answer any more: it has ended, or the network between is cut. What "
            "was running there is lost to this process, which has left the cluster. Call nbaccel.shutdown(), and "
            "init() once there is a cluster again."
        )
        self._told(self.lost)
        deadline = time.monotonic() + LAST_CALL_S
        while self._waiting and time.monotonic() < deadline:
            self._ended.wait(0.1)
        if not self._ended.is_set():
            self._leave()


@dataclass(frozen=True, slots=True)
class RaySession:
    """One process's time at one cluster. `serial` marks what it has noted on functions and classes."""

    options: InitOptions
    joined: str | None  # the address of a cluster that others started
    ours: bool  # init() started or joined this cluster, so shutdown() leaves it
    in_worker: bool
    serial: int
    namespace: str
    head: HeadWatch
    reporting: ModuleType  # the module nbaccel_in_ray.reporting
    lines_of_start: Sequence[str] = ()  # Ray's own, which the start did not show

    @property
    def through_client(self) -> bool:
        return bool(self.joined and self.joined.startswith("ray://"))

    @property
    def is_of_one_machine(self) -> bool:
        """Whether init() started this Ray, which no other node can join and no autoscaler makes larger."""
        return self.ours and self.joined is None

    @property
    def namespace_of_reports(self) -> str:
        return str(importlib.import_module("nbaccel_in_ray.collector_link").NAMESPACE)

    @property
    def refuses_infeasible(self) -> bool:
        return self.options.infeasible == "raise"

    def asked_inside(self, module: str, function: str, *args: object) -> Any:
        """Call a function of nbaccel_in_ray where it reaches Ray's own tables: through Ray Client, in the cluster."""
        ask = getattr(importlib.import_module(f"nbaccel_in_ray.{module}"), function)
        return ray.get(ray.remote(num_cpus=0)(ask).remote(*args)) if self.through_client else ask(*args)
