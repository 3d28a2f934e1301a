"""What notebooks hold is added to the request of programs, which is kept whatever happens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from ray.core.generated import autoscaler_pb2

from nbaccel.exceptions import HeadDiedError
from nbaccel.machines.sources import growing_machines
from nbaccel.ray_engine.rays import import_shipped
from nbaccel.ray_engine.reports import growing, planning
from nbaccel.ray_engine.reports.growing import RayGrowing
from nbaccel.views import node_tables, tables
from nbaccel.views.snapshot import NodeRow, NodeTypeRow, Runtime, Snapshot

import_shipped()
from nbaccel_in_ray import growth  # noqa: E402
from nbaccel_in_ray.growth import HoldBook  # noqa: E402

GPU, CPU = {"GPU": 1.0}, {"CPU": 1.0}


def asks(*resources: dict[str, float], **selector: str) -> list[growth.Bundle]:
    return [{"resources": each, "label_selector": selector} for each in resources]


def held(job: str, *bundles: dict[str, float], id: str = "block") -> dict[str, Any]:
    return {"job": job, "id": id, "bundles": list(bundles), "by": f"{job}.ipynb", "since": 1.0}


class Cluster:
    """A cluster's request, and a book that writes it as the service actor does."""

    def __init__(self) -> None:
        self.request: list[growth.Bundle] = []
        self.book = HoldBook()

    def look(self, too_much: list[growth.Bundle] | None = None) -> None:
        self.book.seen(self.request)
        if too_much is not None:
            self.book.too_much(too_much)
        self.write()

    def hold(self, one: dict[str, Any]) -> None:
        self.book.seen(self.request)
        self.book.hold(one)
        self.write()

    def write(self) -> None:
        wanted = self.book.to_write()
        if wanted is not None:
            self.book.writing(wanted)
            self.request = wanted
            self.book.seen(wanted)

    def asked(self) -> list[dict[str, float]]:
        return [bundle["resources"] for bundle in self.request]


def test_what_notebooks_hold_is_summed_and_withdrawn_with_each() -> None:
    cluster = Cluster()
    cluster.hold(held("a", GPU))
    cluster.hold(held("b", GPU, CPU))
    assert cluster.asked() == [GPU, GPU, CPU]
    cluster.hold(held("a", GPU, GPU))  # what it holds now replaces what it held before
    assert cluster.asked() == [GPU, CPU, GPU, GPU]
    cluster.book.ended({"a"})
    cluster.look()
    assert cluster.asked() == [GPU, CPU]
    cluster.hold(held("b"))
    assert cluster.asked() == []


def test_a_request_of_programs_that_was_there_is_kept_and_is_what_is_left() -> None:
    cluster = Cluster()
    cluster.request = asks(CPU, zone="a")
    cluster.hold(held("a", GPU))
    assert cluster.request == [*asks(CPU, zone="a"), *asks(GPU)]
    assert cluster.book.request == asks(CPU, zone="a")
    cluster.hold(held("a"))
    assert cluster.request == asks(CPU, zone="a")


def test_a_later_request_of_a_program_is_kept_and_what_is_held_is_added_again() -> None:
    cluster = Cluster()
    cluster.request = asks(CPU)
    cluster.hold(held("a", GPU))
    cluster.request = asks({"CPU": 8.0})  # a program of Ray's replaces all of it
    cluster.look()
    assert cluster.asked() == [{"CPU": 8.0}, GPU]
    cluster.request = []  # and withdraws it
    cluster.look()
    assert cluster.asked() == [GPU]
    cluster.hold(held("a"))
    assert cluster.asked() == []


@pytest.mark.parametrize("written", [True, False])
def test_a_book_that_goes_on_after_a_crash_takes_no_own_request_for_a_program_s(written: bool) -> None:
    cluster = Cluster()
    cluster.request = asks(CPU)
    cluster.book.seen(cluster.request)
    cluster.book.hold(held("a", GPU))
    wanted = cluster.book.to_write()
    assert wanted is not None
    cluster.book.writing(wanted)
    kept = json.loads(json.dumps(cluster.book.kept()))
    if written:
        cluster.request = wanted
    cluster.book = HoldBook(kept)
    cluster.look()
    assert cluster.asked() == [CPU, GPU]
    cluster.book.ended({"a"})
    cluster.look()
    assert cluster.asked() == [CPU]


def test_what_would_be_too_much_is_left_out_the_last_first_until_something_changes() -> None:
    cluster = Cluster()
    cluster.hold(held("a", GPU, GPU))
    cluster.hold(held("b", GPU))
    cluster.look(too_much=asks(GPU, GPU, GPU))
    assert cluster.asked() == [GPU, GPU]
    assert cluster.book.left_out == [held("b", GPU)]
    cluster.look(too_much=asks(GPU, GPU, GPU))  # said of the request before
    assert cluster.asked() == [GPU, GPU]
    cluster.hold(held("a", GPU))
    assert cluster.asked() == [GPU, GPU]
    assert cluster.book.left_out == []


def test_what_is_too_much_by_itself_keeps_nothing_else_from_coming() -> None:
    cluster = Cluster()
    cluster.hold(held("a", GPU, GPU, GPU))
    cluster.hold(held("b", GPU))
    cluster.look(too_much=asks(GPU, GPU, GPU, GPU))
    cluster.look(too_much=asks(GPU, GPU, GPU))
    assert cluster.asked() == [GPU]
    assert cluster.book.left_out == [held("a", GPU, GPU, GPU)]


def message(text: str) -> Any:
    from google.protobuf import text_format

    return text_format.Parse(text, autoscaler_pb2.GetClusterStatusReply())


STATUS = """
autoscaling_state {
  pending_instance_requests { ray_node_type_name: "gpu" count: 2 request_ts: 90 }
  pending_instances { ray_node_type_name: "gpu" instance_id: "6f1c" details: "its image is pulled" }
  pending_instances { ray_node_type_name: "gpu" instance_id: "a03b"
    details: "allocated unassigned cloud instance i-2" }
  failed_instance_requests { ray_node_type_name: "big" count: 1 reason: "no quota" failed_ts: 80 }
  infeasible_cluster_resource_constraints {
    resource_requests { request { resources_bundle { key: "GPU" value: 9 } } count: 1 } } }
cluster_resource_state {
  node_states { node_id: "\\001" ray_node_type_name: "gpu" instance_id: "i-2" idle_duration_ms: 4000 }
  cluster_resource_constraints { resource_requests { count: 2 request {
    resources_bundle { key: "GPU" value: 1 }
    label_selectors {
      label_constraints { label_key: "zone" operator: LABEL_OPERATOR_NOT_IN label_values: "a" } } } } } }
"""


def test_ray_s_message_is_read_and_its_labels_are_written_as_users_do() -> None:
    reply = message(STATUS)
    assert growth.request_in(reply) == asks(GPU, GPU, zone="!a")
    facts = growth.of_status(reply)
    assert [each["type"] for each in facts["arriving"]] == ["gpu"] * 3  # i-2 has joined
    assert facts["infeasible"] == [{"GPU": 9.0}]
    assert facts["nodes"] == {"01": {"type": "gpu", "idle_s": 4.0}}


def test_a_node_of_a_foreign_provider_has_arrived_once_it_has_joined() -> None:
    """Ray's own id of a node that comes is in no list of nodes; its provider's id stands in a sentence."""
    waits = STATUS.replace('cloud instance i-2"', 'cloud instance i-3"')
    arriving = growth.of_status(message(waits))["arriving"]
    assert [each["why"] for each in arriving if each["id"] == "a03b"] == ["i-3 is there and has not joined yet"]
    dead = STATUS.replace('instance_id: "i-2" idle', 'instance_id: "i-2" status: DEAD idle')
    assert len(growth.of_status(message(dead))["arriving"]) == 4


def test_ray_says_which_node_its_provider_has_made_in_these_words() -> None:
    from ray.autoscaler.v2.instance_manager.node_provider import CloudInstance
    from ray.autoscaler.v2.instance_manager.reconciler import Reconciler
    from ray.core.generated.instance_manager_pb2 import Instance, NodeKind

    made = CloudInstance(cloud_instance_id="i-2", node_type="gpu", is_running=True, node_kind=NodeKind.WORKER)
    asked = Instance(instance_id="a03b", instance_type="gpu")
    allocated = Reconciler._try_resolve_pending_allocation(asked, {"gpu": [made]}, {}, {})
    assert allocated.details in STATUS


def test_the_rows_of_a_snapshot_tell_who_comes_who_fails_and_who_asks() -> None:
    snapshot = Snapshot(
        Runtime("ray", "", ""), time=100.0, nodes=[NodeRow("01", "n1"), NodeRow("02", "n2", is_head=True)]
    )
    told = {"gpu": {"resources": {"GPU": 1}, "labels": {}, "min_workers": 0, "max_workers": 5, "idle_s": 60.0}}
    growing.add_growth(
        snapshot,
        {
            **growth.of_status(message(STATUS)),
            "request": asks(CPU, CPU),
            "held": [held("02000000", GPU)],
            "left_out": [held("03000000", {"GPU": 2.0})],
            "types": told,
        },
    )
    node, head = snapshot.nodes
    assert (node.node_type, node.idle_since, node.leaves_at) == ("gpu", 96.0, 156.0)
    assert head.node_type == ""
    assert [(each.node_type, each.state, each.since) for each in snapshot.arrivals] == [
        ("gpu", "arriving", 90), ("gpu", "arriving", 90), ("gpu", "its image is pulled", 100.0),
    ]  # fmt: skip
    gpu, big = snapshot.node_types
    assert (gpu.max, gpu.here, gpu.arriving, gpu.idle_s) == (5, 1, 3, 60.0)
    assert (big.name, big.failures, big.why, big.failed_at, big.max) == ("big", 1, "no quota", 80, 0)
    request, mine = snapshot.requests
    assert (request.kind, request.resources, request.bundles) == ("request", {"CPU": 2.0}, 2)
    assert (mine.kind, mine.by, mine.job) == ("held", "02000000.ipynb", 2)
    assert snapshot.infeasible_requests == [{"GPU": 9.0}, {"GPU": 2.0}]
    assert "nbaccel" not in sys.modules["nbaccel_in_ray.growth"].__dict__  # it needs nothing of ours on a node


MACHINES: dict[str, Any] = {
    "node_types": [
        {"name": "gpu", "source": "slurm", "failures": 0, "why": "", "next_try_at": None},
        {"name": "big", "source": "ssh", "failures": 2, "why": "big1: the key was refused", "next_try_at": 130},
    ],
    "arrivals": [
        {"id": "slurm-12", "node_type": "gpu", "source": "slurm", "state": "job 12 waits in the queue: (Priority)"}
        | {"since": 88},
    ],
}


def test_the_provider_s_reasons_go_before_ray_s_and_a_node_is_told_once() -> None:
    facts = growth.with_machines(growth.of_status(message(STATUS)), MACHINES)
    # Ray counts i-1, which is the job that the provider tells of, and two more that it has only asked for.
    assert [(each["id"], each["since"]) for each in facts["arriving"]] == [
        ("slurm-12", 88), ("gpu-0", 90), ("gpu-1", 90),
    ]  # fmt: skip
    two_jobs = {**MACHINES, "arrivals": MACHINES["arrivals"] * 2}
    assert len(growth.with_machines(growth.of_status(message(STATUS)), two_jobs)["arriving"]) == 3


def test_a_job_that_waits_in_slurm_and_a_refused_key_are_told_in_every_view() -> None:
    snapshot = Snapshot(Runtime("ray", "", ""), time=100.0)
    facts = growth.with_machines(growth.of_status(message(STATUS)), MACHINES)
    growing.add_growth(snapshot, {**facts, "request": [], "held": [], "left_out": [], "types": None})  # type: ignore[typeddict-item]
    text = tables.as_text(node_tables.nodes(snapshot))
    assert "arriving for 12 s: Slurm: job 12 waits in the queue: (Priority)" in text
    assert "not coming: ssh: big1: the key was refused (2 failures); next try in 30 s" in text
    assert [(row.name, row.source, row.failures) for row in snapshot.node_types] == [
        ("gpu", "slurm", 0),
        ("big", "ssh", 2),
    ]
    kinds = [{"name": name, "resources": {name: 1.0}, "labels": {}, "max_count": 2} for name in ("gpu", "big")]
    known: Any = {"scales": True, "groups": kinds, **facts}
    assert "(Slurm: job 12 waits in the queue: (Priority))" in planning.addable(known, {"gpu": 1})[1]
    assert (
        "the last one did not come (2 have failed): ssh: big1: the key was refused"
        in planning.addable(known, {"big": 1})[1]
    )


def reasons(tmp_path: Path, *failed: str) -> list[tuple[str, int, float]]:
    """What is told of nodes of the type "big" that failed one second after the other."""
    rows = "".join(
        f'failed_instance_requests {{ ray_node_type_name: "big" count: 1 reason: "{why}" failed_ts: {80 + number} }}'
        for number, why in enumerate(failed)
    )
    facts = growth.with_logged_reasons(growth.of_status(message(f"autoscaling_state {{ {rows} }}")), str(tmp_path))
    return [(row["why"], row["count"], row["at"]) for row in facts["failed"]]


def launch_failed(details: str = "") -> str:
    """What Ray's autoscaler keeps of a launch that failed; only the provider of KubeRay gives it details."""
    from ray.autoscaler.v2.instance_manager.node_provider import LaunchNodeError
    from ray.autoscaler.v2.instance_manager.reconciler import Reconciler
    from ray.core.generated.instance_manager_pb2 import Instance

    error = LaunchNodeError("big", 1, "r-1", 0, details=details, cause=RuntimeError("no quota"))
    asked = Instance(instance_id="a03b", instance_type="big", launch_request_id="r-1")
    return str(
        Reconciler._try_resolve_pending_allocation(asked, {}, {("r-1", "big"): error}, {("r-1", "big"): 1}).details
    )


def test_the_reason_of_a_launch_that_failed_is_the_provider_s_own_words(tmp_path: Path) -> None:
    assert reasons(tmp_path, launch_failed("too early"), launch_failed("no quota")) == [("no quota", 2, 81)]
    assert reasons(tmp_path, "failed to allocate after 4 attempts") == [("failed to allocate after 4 attempts", 1, 80)]


def test_a_reason_that_ray_only_logs_is_read_in_its_log_and_where_there_is_none_the_file_is_named(
    tmp_path: Path,
) -> None:
    assert reasons(tmp_path, launch_failed()) == [(growth.NOT_TOLD, 1, 80)]
    line = "2026-11-23 09:00:00,000 INFO node_provider.py:491 -- Failed to launch 1 nodes of type {}: {}\n"
    said = (("big", "no quota"), ("big", "no \ufffd quota in zone a"), ("bigger", "another reason"))
    (tmp_path / "monitor.log").write_text("".join(line.format(*each) for each in said))
    assert reasons(tmp_path, launch_failed()) == [("no \ufffd quota in zone a", 1, 80)]
    (tmp_path / "monitor.log").write_text(line.format("big", "long ago") + "another line\n" * growth.LOG_BYTES)
    assert reasons(tmp_path, launch_failed()) == [(growth.NOT_TOLD, 1, 80)]


def test_how_often_nodes_failed_and_when_the_last_one_did_is_told_with_the_reason() -> None:
    rows = [NodeTypeRow("big", failures=3, why="no quota", failed_at=86.0), NodeTypeRow("one", failures=1, why="no")]
    text = tables.as_text(node_tables.nodes(Snapshot(Runtime("ray", "", ""), time=100.0, node_types=rows)))
    assert "not coming: no quota (3 failures, the last 14 s ago)" in text and "not coming: no " in text
    rows[0].arriving = 1
    text = tables.as_text(node_tables.nodes(Snapshot(Runtime("ray", "", ""), time=100.0, node_types=rows)))
    assert "the last one did not come: no quota (3 failures" in text


def test_an_idle_node_that_a_notebook_holds_says_who_and_not_when_it_leaves() -> None:
    told = {"gpu": {"resources": {"GPU": 1}, "min_workers": 0, "max_workers": 5, "idle_s": 60.0}}
    rows = [NodeRow(id, id, totals={"CPU": 4.0, "GPU": 1.0}) for id in ("01", "02", "03")]
    snapshot = Snapshot(Runtime("ray", "", ""), time=100.0, nodes=rows)
    nodes = {id: {"type": "gpu", "idle_s": idle} for id, idle in (("01", 0), ("02", 40.0), ("03", 30.0))}
    facts: Any = {"request": [], "held": [held("02000000", GPU, GPU)], "left_out": [], "types": told, "nodes": nodes}
    growing.add_growth(snapshot, {**facts, "arriving": [], "failed": [], "infeasible": []})
    text = tables.as_text(node_tables.nodes(snapshot))
    assert "idle for 40 s, stays: 02000000.ipynb holds room" in text  # the busy one counts for the first GPU
    assert "idle for 30 s, leaves in 30 s" in text


def test_the_provider_writes_where_the_views_read() -> None:
    assert (growth.MACHINES, growth.MACHINES_NAMESPACE) == (growing_machines.KEY, growing_machines.NAMESPACE)


def test_a_block_whose_cluster_was_lost_ends_at_once_and_nothing_more_can_be_held() -> None:
    def lost() -> None:
        raise HeadDiedError("it is gone")

    session: Any = SimpleNamespace(head=SimpleNamespace(lost="it is gone", check=lost))
    growing = RayGrowing(session, dict, lambda: True)
    assert growing.hold_resources("block", [])
    with pytest.raises(HeadDiedError):
        growing.hold_resources("block", [GPU])
    with pytest.raises(HeadDiedError):
        growing.request_resources(1, None, None)


def test_the_tables_of_nodes_tell_what_ray_tells_and_nothing_that_it_does_not() -> None:
    snapshot = Snapshot(Runtime("ray", "", ""), time=100.0)
    facts = {**growth.of_status(message(STATUS)), "request": asks(CPU), "held": [], "left_out": [], "types": None}
    growing.add_growth(snapshot, facts)  # type: ignore[arg-type]
    text = tables.as_text(node_tables.nodes(snapshot))
    assert "arriving for 10 s" in text and "arriving for 0.0 s: its image is pulled" in text
    assert "not coming: no quota" in text and "next try" not in text
    assert "not told" in tables.as_text(node_tables.node_types(snapshot))
    assert node_tables.requests(snapshot)[0] == "1 CPU asked for by a program (request_resources)"
