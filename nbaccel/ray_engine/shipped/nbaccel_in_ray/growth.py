"""What a Ray cluster is asked to have, and which nodes come and do not come, as plain records."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterable
from typing import Any

import ray
from ray.experimental import internal_kv

from nbaccel_in_ray import internals
from nbaccel_in_ray.collector_link import NAMESPACE

Bundle = dict[str, dict[str, Any]]
_TIMEOUT_S = 10


def is_second() -> bool:
    """Whether the cluster has Ray's second autoscaler."""
    from ray.autoscaler.v2.utils import is_autoscaler_v2

    return bool(is_autoscaler_v2(fetch_from_server=True))  # what Ray remembers may be of another cluster


def read_request() -> list[Bundle]:
    """What is asked for now, by whomever."""
    return request_in(second_status()) if is_second() else _of_the_first()


def read_judged_request() -> tuple[list[Bundle], list[Bundle]]:
    """What is asked for now, and what the autoscaler says that no nodes can meet; the first one says nothing."""
    if not is_second():
        return _of_the_first(), []
    reply = second_status()
    return request_in(reply), infeasible_in(reply)


def write_request(bundles: list[Bundle]) -> None:
    """Replace the request."""
    if is_second():
        from ray.autoscaler.v2.sdk import request_cluster_resources

        request_cluster_resources(ray.get_runtime_context().gcs_address, bundles, timeout=_TIMEOUT_S)
    else:
        internal_kv._internal_kv_put(
            internals.request_key(), json.dumps([bundle["resources"] for bundle in bundles]), overwrite=True
        )


def second_status() -> Any:
    """What the second autoscaler knows of the cluster, as Ray's own message."""
    return internals.autoscaler_status(_TIMEOUT_S)


def request_in(reply: Any) -> list[Bundle]:
    """The request in the second autoscaler's message."""
    return _bundles(reply.cluster_resource_state.cluster_resource_constraints)


def infeasible_in(reply: Any) -> list[Bundle]:
    """The request that no nodes can meet, in the second autoscaler's message."""
    return _bundles(reply.autoscaling_state.infeasible_cluster_resource_constraints)


def _bundles(constraints: Any) -> list[Bundle]:
    bundles: list[Bundle] = []
    for constraint in constraints:
        for each in constraint.resource_requests:
            bundles += [plain_bundle(each.request)] * each.count
    return bundles


def plain_bundle(request: Any) -> Bundle:
    """A request for resources of Ray's as a bundle."""
    selector = {}
    for each in request.label_selectors:
        for constraint in each.label_constraints:
            selector[constraint.label_key] = _condition(constraint)
    return {"resources": dict(request.resources_bundle), "label_selector": selector}


def _condition(constraint: Any) -> str:
    """The condition as users write it: "a", "in(a,b)", "!a", "!in(a,b)"."""
    values = sorted(constraint.label_values)
    text = values[0] if len(values) == 1 else f"in({','.join(values)})"
    is_not = (
        constraint.operator
        == type(constraint)
        .DESCRIPTOR.fields_by_name["operator"]
        .enum_type.values_by_name["LABEL_OPERATOR_NOT_IN"]
        .number
    )
    return f"!{text}" if is_not else text


def _of_the_first() -> list[Bundle]:
    asked = internal_kv._internal_kv_get(internals.request_key())
    return [{"resources": bundle, "label_selector": {}} for bundle in json.loads(asked or b"[]")]


def same_request(left: Iterable[Bundle], right: Iterable[Bundle]) -> bool:
    """Whether two requests ask for the same; Ray keeps no order."""
    return sorted(map(_sortable, left)) == sorted(map(_sortable, right))


def _sortable(bundle: Bundle) -> str:
    resources = {name: float(amount) for name, amount in bundle["resources"].items()}
    return json.dumps([resources, bundle["label_selector"]], sort_keys=True)


# ---- what notebooks hold on a Ray cluster, added up and written into the cluster's one request
#
# Ray keeps one request and not whose it is. One service actor for the cluster knows who holds what; it adds that to the
# request that programs have made, writes the sum, and takes out what a driver held when that driver has ended. A
# program that replaces the request meanwhile is seen within a second: its request counts then, with what is held
# added.
#
# Ray meets a request as a whole or not at all: one bundle too many, and every node may leave. So where the sum is
# more than the cluster can have, what was asked for last is left out of it until something changes.


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
        if not any(same_request(current, each) for each in self._written):
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
        if not counted or not same_request(bundles, self._now):
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
        return None if same_request(wanted, self._now) else wanted

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
            self._book.seen(read_request())
            self._book.hold(held)
            self._write()

    def request(self, bundles: list[Bundle]) -> None:
        """Replace the request of programs."""
        with self._lock:
            self._book.seen(read_request())
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
                    current, too_much = read_judged_request()
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
            write_request(wanted)
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


# ----


Row = dict[str, Any]
_DEAD = 2  # a NodeStatus of Ray's
NODE_TYPES = "nbaccel_node_types"  # where the command that started the head has noted its types
MACHINES, MACHINES_NAMESPACE = b"nbaccel:machines", b"nbaccel"  # where the provider of machines tells how far they are
_ALLOCATED = "allocated unassigned cloud instance "  # Ray's autoscaler says so of a node that its provider has made
_SOURCES = {"slurm": "Slurm"}  # as sentences write them
_LAUNCH_FAILED = re.compile(
    r"launch failed with Failed to launch \d+ nodes of type .* with request id \S+: ?(.*)", re.S
)
_IN_LOG = r"Failed to launch \d+ nodes of type {}: (.*\S)"  # in the log of Ray's autoscaler
LOG_BYTES = 1 << 18  # so much of its end is read
FORGOTTEN_S = 1800  # a failure that is older is told no more, as by `ray status`
NOT_TOLD = "its launch failed; Ray tells the reason only in monitor.log on the head"


def growth() -> Row:
    """
    request     the bundles that programs ask for
    held        what notebooks hold: job, id, bundles, by, since
    types       the types of nodes that can be asked for, as the head's file for the autoscaler has them; None: not told
    nodes       node -> its type, and for how many seconds it has been idle
    arriving    nodes that were asked for: type, id, and since when or why they are not here
    failed      types whose nodes did not come: type, why and when (at) the last one did not, how many (count)
    sources     type -> where its nodes come from, as far as that is told
    infeasible  requested bundles that no node and no type can meet together
    left_out    of what notebooks hold: what would be too much beside the rest
    """
    known = kept()
    facts: Row = {"held": known.get("held", []), "left_out": known.get("left_out", []), "types": published_types()}
    if not is_second():
        current = read_request()
        return {**facts, "request": _of_programs(current, known), "nodes": {}, "arriving": [], "failed": []} | {
            "infeasible": []
        }
    reply = second_status()
    return {**facts, "request": _of_programs(request_in(reply), known), **news(reply)}


def news(reply: Any) -> Row:
    """The nodes in the second autoscaler's message, with what their provider tells where it is nbaccel's."""
    facts = with_machines(of_status(reply), published_machines())
    facts["failed"] = [row for row in facts["failed"] if not row["at"] or time.time() - row["at"] < FORGOTTEN_S]
    return with_logged_reasons(facts, os.path.join(internals.session_folder(), "logs"))


def of_status(reply: Any) -> Row:
    """The nodes in the second autoscaler's message."""
    state, nodes = reply.autoscaling_state, reply.cluster_resource_state.node_states
    here = {node.instance_id for node in nodes if node.status != _DEAD}
    arriving = [
        {
            "type": each.ray_node_type_name,
            "id": f"{each.ray_node_type_name}-{number}",
            "since": each.request_ts,
            "why": "",
        }
        for each in state.pending_instance_requests
        for number in range(each.count)
    ]
    for each in state.pending_instances:
        of_provider = _provider_id(each.details)
        if of_provider not in here:  # the autoscaler learns a moment later that it has joined
            why = f"{of_provider} is there and has not joined yet" if of_provider else each.details
            arriving.append({"type": each.ray_node_type_name, "id": each.instance_id, "why": why})
    return {
        "nodes": {
            node.node_id.hex(): {"type": node.ray_node_type_name, "idle_s": node.idle_duration_ms / 1000}
            for node in nodes
            if node.status != _DEAD
        },
        "arriving": arriving,
        "failed": _failed(state.failed_instance_requests),
        "infeasible": [bundle["resources"] for bundle in infeasible_in(reply)],
    }


def _failed(requests: Iterable[Any]) -> list[Row]:
    """A row for each type whose nodes did not come. Ray forgets none of them while the head lives."""
    rows: dict[str, Row] = {}
    for each in sorted(requests, key=lambda each: float(each.failed_ts)):
        name = each.ray_node_type_name
        launch = _LAUNCH_FAILED.fullmatch(each.reason)
        why = launch[1].strip() if launch is not None else each.reason
        count = rows.get(name, {"count": 0})["count"] + each.count
        rows[name] = {"type": name, "why": why, "at": each.failed_ts, "count": count}
    return list(rows.values())


def with_logged_reasons(facts: Row, folder: str) -> Row:
    """These facts with a reason for each failure.

    Of what a provider raises Ray's autoscaler keeps nothing but a line in its log, which lies on the head.
    """
    if all(row["why"] for row in facts["failed"]):
        return facts
    log = _end_of(os.path.join(folder, "monitor.log"))
    return {**facts, "failed": [{**row, "why": row["why"] or _logged(log, row["type"])} for row in facts["failed"]]}


def _logged(log: str, name: str) -> str:
    reasons = re.findall(_IN_LOG.format(re.escape(name)), log)
    return str(reasons[-1]) if reasons else NOT_TOLD


def _end_of(path: str) -> str:
    """The end of a text; "" where there is none, as on all nodes but the head."""
    try:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - LOG_BYTES, 0))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _provider_id(details: str) -> str:
    """The id that a node's provider gave it, which nodes that are here name; `instance_id` is the autoscaler's own.

    Ray tells it only in the reason for the node's last step; "" where that says something else.
    """
    return details.removeprefix(_ALLOCATED) if details.startswith(_ALLOCATED) else ""


def published_types() -> dict[str, Row] | None:
    """These types; None where nobody has noted any."""
    content = internal_kv._internal_kv_get(NODE_TYPES, namespace=NAMESPACE)
    return dict(json.loads(content)) if content else None


def published_machines() -> Row | None:
    """What the provider of Slurm's and ssh's machines tells; None where the head has another provider."""
    content = internal_kv._internal_kv_get(MACHINES, namespace=MACHINES_NAMESPACE)
    return dict(json.loads(content)) if content else None


def with_machines(facts: Row, told: Row | None) -> Row:
    """These facts, where the provider's word goes before the autoscaler's, which knows no reasons."""
    if told is None:
        return facts
    types = {row["name"]: row for row in told["node_types"]}
    others = [each for each in facts["arriving"] if each["type"] not in types]
    arriving = [_arrival(row) for row in told["arrivals"]]
    for name in types:
        arriving += _not_begun([each for each in facts["arriving"] if each["type"] == name], arriving)
    failed = [
        {"type": row["name"], "why": _by(row["source"], row["why"]), "at": 0, "count": row["failures"]}
        | {"next_try_at": row["next_try_at"]}
        for row in types.values()
        if row["failures"]
    ]
    failed += [each for each in facts["failed"] if each["type"] not in types]
    sources = {name: row["source"] for name, row in types.items()}
    return {**facts, "arriving": others + arriving, "failed": failed, "sources": sources}


def _arrival(row: Row) -> Row:
    why = _by(row["source"], row["state"])
    return {"type": row["node_type"], "id": row["id"], "since": row["since"], "why": why, "source": row["source"]}


def _not_begun(of_ray: list[Row], of_provider: list[Row]) -> list[Row]:
    """The nodes of one type that Ray has asked for and the provider has not begun; Ray counts the begun ones too."""
    requests = [each for each in of_ray if each.get("since")]
    begun = sum(each["type"] == of_ray[0]["type"] for each in of_provider) if of_ray else 0
    return requests[max(begun - (len(of_ray) - len(requests)), 0) :]


def _by(source: str, said: str) -> str:
    return f"{_SOURCES.get(source, source)}: {said}" if said else ""


def _of_programs(current: list[Bundle], known: Row) -> list[Bundle]:
    """The part of the cluster's request that notebooks do not hold."""
    book = HoldBook(known)
    book.seen(current)
    request: list[Bundle] = book.request
    return request
