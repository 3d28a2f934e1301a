"""What notebooks hold on a Ray cluster, added up and written into the cluster's one request.

Ray keeps one request and not whose it is. One small actor for the cluster knows who holds what; it adds that to the
request that programs have made, writes the sum, and takes out what a driver held when that driver has ended. A
program that replaces the request meanwhile is seen within a second: its request counts then, with what is held added.

Ray meets a request as a whole or not at all: one bundle too many, and every node may leave. So where the sum is more
than the cluster can have, what was asked for last is left out of it until something changes.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import ray
from ray.experimental import internal_kv

from nbaccel_in_ray import cluster_request, internals
from nbaccel_in_ray.cluster_request import Bundle
from nbaccel_in_ray.collector_link import NAMESPACE

NAME = "nbaccel_holds"  # of the actor, and of what it keeps in the head's store in case that it is restarted
LOOK_EVERY_S = 1.0
IDLE_S = 10.0  # without anything held the actor ends after this

Held = dict[str, Any]  # job, id, bundles, by, since


class HoldBook:
    """What is held, and what programs ask for beside it. It neither reads nor writes anything."""

    def __init__(self, kept: dict[str, Any] | None = None) -> None:
        known = kept or {}
        self.request: list[Bundle] = known.get("request", [])  # of programs
        self.held: list[Held] = known.get("held", [])
        self.left_out: list[Held] = known.get("left_out", [])  # of what is held: it would be too much
        self._impossible: list[Held] = []  # of these: too much by itself
        self._written: list[list[Bundle]] = known.get("written", [])  # the last requests of this book
        self._now: list[Bundle] = []

    def seen(self, current: list[Bundle]) -> None:
        """The cluster's request now. One that this book has not written is a program's."""
        self._now = current
        if not any(cluster_request.same(current, each) for each in self._written):
            self.request, self._written = current, [current]
            self._try_all()

    def hold(self, held: Held) -> None:
        """Take what a driver holds under an id; without bundles it holds nothing under it any more."""
        self.held = [each for each in self.held if (each["job"], each["id"]) != (held["job"], held["id"])]
        if held["bundles"]:
            self.held.append(held)
        self._try_all()

    def replace_request(self, bundles: list[Bundle]) -> None:
        """Programs ask for this now."""
        self.request = bundles
        self._try_all()

    def ended(self, jobs: set[str]) -> None:
        """These drivers hold nothing any more."""
        left = [each for each in self.held if each["job"] not in jobs]
        if left != self.held:
            self.held = left
            self._try_all()

    def too_much(self, bundles: list[Bundle]) -> None:
        """No nodes can meet this, as the autoscaler says. If it is what is asked for now, leave the last part out."""
        counted = [each for each in self.held if each not in self.left_out]
        if not counted or not cluster_request.same(bundles, self._now):
            return
        if len(counted) == 1:  # by itself it is too much: the others may fit without it
            self._impossible.append(counted[0])
            self.left_out = [*self._impossible]
        else:
            self.left_out = [*self.left_out, counted[-1]]

    def _try_all(self) -> None:
        self.left_out, self._impossible = [], []

    def to_write(self) -> list[Bundle] | None:
        """What the cluster's request should be; None if it is that."""
        wanted = [*self.request]
        for each in self.held:
            if each in self.left_out:
                continue
            wanted += [{"resources": bundle, "label_selector": {}} for bundle in each["bundles"]]
        return None if cluster_request.same(wanted, self._now) else wanted

    def writing(self, wanted: list[Bundle]) -> None:
        """This is about to be written. Until it is, and after a crash, the request before is no program's either."""
        self._written = [self._now, wanted]

    def kept(self) -> dict[str, Any]:
        """What another book goes on from."""
        return {"request": self.request, "held": self.held, "left_out": self.left_out, "written": self._written}


class Keeper:
    """The actor: one for the cluster, on its head. It ends when nothing has been held for a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted = b""
        self._book = HoldBook(kept())
        self._empty_since = time.monotonic()
        self._myself = ray.get_runtime_context().current_actor
        threading.Thread(target=self._look, name="nbaccel-holds", daemon=True).start()

    def hold(self, held: Held) -> None:
        """Hold this from now on."""
        with self._lock:
            self._book.seen(cluster_request.read())
            self._book.hold(held)
            self._write()

    def request(self, bundles: list[Bundle]) -> None:
        """Replace the request of programs."""
        with self._lock:
            self._book.seen(cluster_request.read())
            self._book.replace_request(bundles)
            self._write()

    def leave_if_idle(self) -> None:
        """End this actor. A call that comes too late fails, and its caller starts another one."""
        with self._lock:
            if not self._book.held:
                internal_kv._internal_kv_del(NAME, namespace=NAMESPACE)
                ray.actor.exit_actor()

    def _look(self) -> None:
        while True:
            time.sleep(LOOK_EVERY_S)
            with self._lock:
                try:
                    current, too_much = cluster_request.read_judged()
                    self._book.seen(current)
                    self._book.ended(_ended_jobs())
                    if too_much:
                        self._book.too_much(too_much)
                    self._write()
                except (ray.exceptions.RayError, RuntimeError, OSError):  # the head does not answer: next time
                    continue
                if self._book.held:
                    self._empty_since = time.monotonic()
            if time.monotonic() - self._empty_since > IDLE_S:
                self._empty_since = time.monotonic()
                self._myself.leave_if_idle.remote()

    def _write(self) -> None:
        wanted = self._book.to_write()
        if wanted is not None:
            self._book.writing(wanted)
        self._keep()
        if wanted is not None:
            cluster_request.write(wanted)
            self._book.seen(wanted)

    def _keep(self) -> None:
        content = json.dumps(self._book.kept()).encode()
        if content != self._noted:
            internal_kv._internal_kv_put(NAME, content, overwrite=True, namespace=NAMESPACE)
            self._noted = content


def kept() -> dict[str, Any]:
    """What is held and asked for, as the actor has noted it; empty where nothing is held."""
    content = internal_kv._internal_kv_get(NAME, namespace=NAMESPACE)
    return dict(json.loads(content)) if content else {}


def _ended_jobs() -> set[str]:
    return {job["JobID"] for job in internals.jobs() if job["IsDead"]}
