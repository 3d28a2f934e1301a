"""Asking a Ray cluster to grow: the request of programs, and what notebooks hold beside it."""

from __future__ import annotations

import importlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any, NotRequired, Protocol, TypedDict

import ray

from nbaccel import exceptions
from nbaccel.ray_engine.rays import Keywords, RaysActor, RaysMethod
from nbaccel.ray_engine.reports.service_actors import internal_class
from nbaccel.ray_engine.reports.snapshot_building import job_number
from nbaccel.ray_engine.session import RaySession
from nbaccel.views import sessions
from nbaccel.views.explanations import ExpectedGrowth, stays_for
from nbaccel.views.snapshot import ArrivalRow, NodeRow, NodeTypeRow, RequestRow, Snapshot

ANSWER_S = 60.0  # a busy machine takes long to start the service actor
_ATTEMPTS = 3
_FRESH_S = 1.0  # views ask several times a second


class KeeperHandle(RaysActor, Protocol):
    """Ray's handle of the actor that knows who holds what."""

    @property
    def hold(self) -> RaysMethod: ...
    @property
    def request(self) -> RaysMethod: ...


class RayGrowing:
    """Of one process. `keywords`: what of nbaccel the service actor's runtime environment carries."""

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
                self._module("growth").NAME, namespace=self._session.namespace_of_reports
            )
            ray.get(keeper.request.remote(asked), timeout=ANSWER_S)
        except (ValueError, ray.exceptions.RayActorError):  # nobody holds anything
            self._session.asked_inside("growth", "write_request", asked)
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
        held = of_session(sessions.title(), job, id, bundles)
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
        module = self._module("growth")
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


# ---- what a Ray cluster is asked for, and the nodes that come and do not come, as rows of a snapshot


SOURCE = "Ray's autoscaler"


class GrowthFacts(TypedDict):
    """What nbaccel_in_ray.growth tells; see there."""

    request: list[dict[str, dict[str, Any]]]
    held: list[dict[str, Any]]
    types: dict[str, dict[str, Any]] | None
    nodes: dict[str, dict[str, Any]]
    arriving: list[dict[str, Any]]
    failed: list[dict[str, Any]]
    infeasible: list[dict[str, float]]
    left_out: list[dict[str, Any]]
    sources: NotRequired[dict[str, str]]


def add_growth(snapshot: Snapshot, facts: GrowthFacts) -> None:
    """Put the rows into a snapshot of the same cluster."""
    types = facts["types"] or {}
    alive = [node for node in snapshot.nodes if node.alive]
    for node in alive:
        known = facts["nodes"].get(node.node_id)
        if known is None or known["type"] not in types or node.is_head:
            continue
        node.node_type = known["type"]
        if known["idle_s"]:
            node.idle_since = snapshot.time - known["idle_s"]
            idle_s = types[node.node_type].get("idle_s")
            node.leaves_at = node.idle_since + idle_s if idle_s is not None else None
    _say_who_needs(alive, facts, _requests(facts))
    snapshot.arrivals = [
        ArrivalRow(
            each["id"],
            each["type"],
            each.get("source", SOURCE),
            each.get("why") or "arriving",
            each.get("since") or snapshot.time,
        )
        for each in facts["arriving"]
    ]
    snapshot.node_types = _types(types, facts, Counter(node.node_type for node in alive))
    snapshot.requests = _requests(facts)
    snapshot.infeasible_requests = facts["infeasible"] + [
        bundle for held in facts["left_out"] for bundle in held["bundles"]
    ]


def _say_who_needs(nodes: list[NodeRow], facts: GrowthFacts, requests: list[RequestRow]) -> None:
    """Idle nodes that a request counts do not leave. Ray does not tell which: those in use count first, as with it."""
    bundles = [each["resources"] for each in facts["request"]]
    bundles += [bundle for held in facts["held"] if held not in facts["left_out"] for bundle in held["bundles"]]
    room = [(node, dict(node.totals)) for node in sorted(nodes, key=lambda node: node.idle_since is not None)]
    for bundle in bundles:
        for node, free in room:
            if all(free.get(name, 0.0) >= amount for name, amount in bundle.items()):
                free.update({name: free[name] - amount for name, amount in bundle.items() if amount})
                if node.idle_since is not None and node.leaves_at is not None:
                    node.leaves_at, node.kept_by = None, stays_for("request", requests)
                break


def _types(types: dict[str, dict[str, Any]], facts: GrowthFacts, here: Counter[str]) -> list[NodeTypeRow]:
    """The types that are told, and those of nodes that come or have failed; of these only the name is known."""
    arriving = Counter(each["type"] for each in facts["arriving"])
    failed = {each["type"]: each for each in facts["failed"]}
    sources = facts.get("sources", {})
    rows = []
    for name in dict.fromkeys([*types, *arriving, *failed]):
        told, failure = types.get(name, {}), failed.get(name, {})
        rows.append(
            NodeTypeRow(
                name, sources.get(name, SOURCE), told.get("resources", {}), told.get("labels", {}),
                told.get("min_workers", 0), told.get("max_workers", 0), here[name], arriving[name], told.get("idle_s"),
                failure.get("count", 0), failure.get("why", ""), failure.get("next_try_at"),
                failed_at=failure.get("at") or None,
            )
        )  # fmt: skip
    return rows


def _requests(facts: GrowthFacts) -> list[RequestRow]:
    asked = [bundle["resources"] for bundle in facts["request"]]
    rows = [RequestRow("request", _sum(asked), len(asked))] if asked else []
    for held in facts["held"]:
        bundles = held["bundles"]
        rows.append(RequestRow("held", _sum(bundles), len(bundles), held["by"], job_number(held["job"]), held["since"]))
    return rows


def _sum(bundles: list[dict[str, float]]) -> dict[str, float]:
    totals: Counter[str] = Counter()
    for bundle in bundles:
        totals.update(bundle)
    return dict(totals)


def of_session(title: str, job: str, id: str, bundles: list[dict[str, float]]) -> dict[str, Any]:
    """What a driver holds under an id, as the cluster keeps it."""
    return {"job": job, "id": id, "bundles": bundles, "by": title, "since": time.time()}
