"""Asking a Ray cluster to grow: the request of programs, and what notebooks hold beside it."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Protocol

import ray

from nbaccel import exceptions
from nbaccel.ray_engine.border.rays import Keywords, RaysActor, RaysMethod
from nbaccel.ray_engine.border.session import RaySession
from nbaccel.ray_engine.reports import growth_rows
from nbaccel.ray_engine.reports.growth_rows import GrowthFacts
from nbaccel.ray_engine.reports.small_actors import internal_class
from nbaccel.views import sessions
from nbaccel.views.expected_growth import ExpectedGrowth

ANSWER_S = 60.0  # a busy machine takes long to start the small actor
_ATTEMPTS = 3
_FRESH_S = 1.0  # views ask several times a second


class KeeperHandle(RaysActor, Protocol):
    """Ray's handle of the actor that knows who holds what."""

    @property
    def hold(self) -> RaysMethod: ...
    @property
    def request(self) -> RaysMethod: ...


class RayGrowing:
    """Of one process. `keywords`: what of nbaccel the small actor's runtime environment carries."""

    def __init__(self, session: RaySession, keywords: Callable[[], Keywords], grows: Callable[[], bool]) -> None:
        self._session = session
        self._keywords = keywords
        self._grows = grows
        self._facts: tuple[float, GrowthFacts] | None = None
        self._asking = threading.Lock()
        self._has_held = False
        self._first_seen: dict[str, float] = {}  # nodes that arrive

    def request_resources(
        self,
        num_cpus: int | None,
        bundles: list[dict[str, float]] | None,
        bundle_labels: list[dict[str, str]] | None,
    ) -> bool:
        """Ray's autoscaler notes it; whether there is one, probe() tells."""
        self._session.head.check()
        labels = bundle_labels or [{}] * len(bundles or ())
        asked: list[dict[str, object]] = [{"resources": {"CPU": 1.0}, "label_selector": {}}] * (num_cpus or 0)
        asked += [
            {"resources": bundle, "label_selector": selector}
            for bundle, selector in zip(bundles or (), labels, strict=True)
        ]
        try:
            keeper: KeeperHandle = ray.get_actor(
                self._module("holds").NAME, namespace=self._session.namespace_of_reports
            )
            ray.get(keeper.request.remote(asked), timeout=ANSWER_S)
        except (ValueError, ray.exceptions.RayActorError):  # nobody holds anything
            self._session.asked_inside("cluster_request", "write", asked)
        self._facts = None
        return True

    def expected_growth(self, bundles: list[dict[str, float]]) -> ExpectedGrowth | None:
        """Ray's autoscaler decides when it is asked, and does not tell before."""
        return None

    def move_objects(self, node: str) -> tuple[int, int]:
        raise NotImplementedError(
            "Objects are moved off a node on the local engine only. On Ray, get() of a ref brings its value to this "
            "machine, and dropping the last ref to an object lets its node go."
        )

    def hold_resources(self, id: str, bundles: list[dict[str, float]]) -> bool:
        """Whether the cluster grows at all. Without bundles, what was held under the id is withdrawn."""
        if not bundles and (self._session.head.lost or not self._has_held):
            return True  # a cluster that is lost holds nothing any more
        self._session.head.check()
        if bundles and not self._grows():
            return False
        self._has_held = True
        job = ray.get_runtime_context().get_job_id()
        held = growth_rows.of_session(sessions.title(), job, id, bundles)
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                ray.get(self._keeper().hold.remote(held), timeout=ANSWER_S)
                break
            except ray.exceptions.RayActorError as error:  # it ended in this moment, since nothing was held
                if not attempts_left:
                    raise exceptions.EngineError(f"The actor that keeps what notebooks hold ended: {error}") from error
        self._facts = None
        return True

    def facts(self) -> GrowthFacts:
        """What the cluster is asked for, and which nodes come; as old as a second."""
        with self._asking:
            if self._facts is None or time.monotonic() - self._facts[0] > _FRESH_S:
                facts: GrowthFacts = self._session.asked_inside("growth", "growth")
                self._say_since(facts)
                self._facts = time.monotonic(), facts
            return self._facts[1]

    def _say_since(self, facts: GrowthFacts) -> None:
        """Ray does not tell since when a node is starting: since it was first seen here."""
        before, self._first_seen = self._first_seen, {}
        for each in facts["arriving"]:
            if not each.get("since"):
                each["since"] = self._first_seen[each["id"]] = before.get(each["id"], time.time())

    def _keeper(self) -> KeeperHandle:
        module = self._module("holds")
        options = {
            "name": module.NAME,
            "namespace": self._session.namespace_of_reports,
            "get_if_exists": True,
            "lifetime": "detached",  # the notebook that was first does not end what others hold
            "num_cpus": 0,
            "max_restarts": -1,
            "resources": {"node:__internal_head__": 0.001},  # on another node it would keep that one from leaving
            **self._keywords(),
        }
        keeper: KeeperHandle = ray.remote(internal_class(module.Keeper)).options(**options).remote()
        return keeper

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"nbaccel_in_ray.{name}")
