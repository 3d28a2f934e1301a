"""The way from a process of a job to the job's collector: whether somebody watches, and the reports."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable
from typing import Any

import ray
from ray.experimental import internal_kv

from nbaccel_in_ray.shared_look import SharedLook
from nbaccel_in_ray.short_notes import Briefs, Note

NAMESPACE = "nbaccel"
LOOK_EVERY_S = 2.0
END_TIMEOUT_S = 1.0

# A task's name and kind, and the state in which it ended -> how many ended so.
Forgotten = dict[tuple[str, str, str], int]


def collector_name(job_id: str) -> str:
    """The name of the collector actor of a job."""
    return f"nbaccel_reports_{job_id}"


def watched_key(job_id: str) -> bytes:
    """The key that exists while somebody watches a job."""
    return f"nbaccel:watched:{job_id}".encode()


def _is_watched(job_id: str) -> bool:
    return bool(internal_kv._internal_kv_get(watched_key(job_id), namespace=NAMESPACE))


class CollectorLink:
    """Finds the collector of this job, if somebody watches, and sends it reports."""

    def __init__(self) -> None:
        self._collector: Any = None
        self._is_watched = False
        self._answer: Any = None  # Ray's ref of the collector's answer to the last report
        self._looked_at = 0.0
        self._anew = False  # the next look asks the cluster, whatever others of this node have found
        self._shared = SharedLook(_is_watched)

    def __bool__(self) -> bool:
        """Whether somebody watched at the last look."""
        return self._is_watched

    @property
    def has_collector(self) -> bool:
        """Whether there is a collector, which may have notes of this process."""
        return self._collector is not None

    def look(self, is_new: Callable[[], None]) -> bool:
        """Whether somebody watches this job; `is_new` is called when the collector knows nothing of this process."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_EVERY_S:
            return bool(self)
        self._looked_at = now
        if self._has_died():
            self.let_go()
        job_id = ray.get_runtime_context().get_job_id()
        anew, self._anew = self._anew, False
        sign: bool = self._shared.is_watched(job_id, anew=anew)
        if sign and self._collector is None:
            self._collector = ray.get_actor(collector_name(job_id), namespace=NAMESPACE)
            is_new()
        self._is_watched = sign
        return sign

    def look_anew(self) -> None:
        """Make the next look a real one, even if the last look was just now."""
        self._looked_at, self._anew = -LOOK_EVERY_S, True

    def let_go(self) -> None:
        """Send nothing more until the next look: the cluster or the collector has ended."""
        self._collector, self._is_watched = None, False

    def _has_died(self) -> bool:
        """Whether the collector's answer to the last report is an error."""
        if self._answer is None or not ray.wait([self._answer], timeout=0)[0]:
            return False
        answer, self._answer = self._answer, None
        try:
            value_of(answer, END_TIMEOUT_S)
        except ray.exceptions.RayError:
            return True
        except concurrent.futures.TimeoutError:
            pass  # it is on its way: the next report has an answer too
        return False

    def send(self, where: Note, batch: list[Note], briefs: Briefs, forgotten: Forgotten) -> Any:
        """Report notes of the process that `where` describes; returns Ray's ref of the answer."""
        self._answer = self._collector.report.remote(where, batch, briefs, forgotten)
        return self._answer


def value_of(ref: Any, timeout_s: float) -> Any:
    """The value of a ref of Ray's. For a `ray.get`, in whatever thread, Ray would scold the user of an async actor."""
    return ref.future().result(timeout_s)
