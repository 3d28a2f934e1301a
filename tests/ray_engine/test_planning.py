"""The order in which tasks are listed, and what a probe is told by the books."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

pytest.importorskip("ray")

from nbaccel.handles.options import task_options
from nbaccel.ray_engine.reports import planning
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from nbaccel.views.snapshot import ActorRow, DeviceRow, Holder, NodeRow, Runtime, Snapshot, TaskRow


def test_what_goes_on_comes_first_and_then_the_latest_also_where_nobody_told_when_it_ended() -> None:
    rows = [
        TaskRow("a", "long over, untold", "task", "FINISHED", submitted_at=10.0),
        TaskRow("b", "over", "task", "FAILED", submitted_at=10.0, started_at=11.0, finished_at=20.0),
        TaskRow("c", "just over", "task", "FINISHED", submitted_at=12.0, finished_at=30.0),
        TaskRow("d", "waits", "task", "PENDING_NODE_ASSIGNMENT", submitted_at=5.0),
        TaskRow("e", "runs", "task", "RUNNING", submitted_at=5.0, started_at=6.0),
    ]
    snapshot = Snapshot(Runtime("ray", "0", "3", pid=1), time=40.0, tasks=rows)
    listed = [row.name for row in planning.state_rows(snapshot, {}, TaskRow)]
    assert listed == ["waits", "runs", "just over", "over", "long over, untold"]


def test_a_call_that_waits_has_the_reason_of_its_actor() -> None:
    node = NodeRow("ab" * 28, "box", totals={"CPU": 4.0}, available={"CPU": 4.0})
    rows = [
        TaskRow("a", "Model", "actor creation", "PENDING_NODE_ASSIGNMENT", actor_id="m", demand={"GPU": 1.0}),
        TaskRow("b", "Model.predict", "actor call", "SUBMITTED_TO_WORKER", actor_id="m"),
        TaskRow("c", "Other.predict", "actor call", "SUBMITTED_TO_WORKER", actor_id="o"),
    ]
    snapshot = Snapshot(Runtime("ray", "0", "3"), nodes=[node], tasks=rows)
    (call,) = planning.explanations(snapshot, "b")
    assert call.sentence.startswith(
        "Actor call Model.predict waits for its actor. Model asks for 1 GPU, but there is no"
    )
    (other,) = planning.explanations(snapshot, "c")
    assert other.sentence == "Actor call Other.predict waits for its actor."


HERE, AWAY = "ab" * 28, "cd" * 28
POOL = {"name": "pool", "resources": {"CPU": 64.0}, "labels": {"zone": "b"}, "max_count": 3}


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        ({"num_cpus": 1}, "now"),
        ({"num_cpus": 4}, "busy"),
        ({"num_cpus": 1, "memory": 4 << 30}, "now"),
        ({"num_cpus": 1, "memory": 64 << 30}, "never"),
        ({"num_cpus": 32}, "addable"),
        ({"label_selector": {"zone": "a"}}, "now"),
        ({"label_selector": {"zone": "b"}}, "addable"),
        ({"label_selector": {"zone": "c"}}, "never"),
        ({"scheduling_strategy": NodeAffinitySchedulingStrategy(HERE, soft=False)}, "now"),
        ({"scheduling_strategy": NodeAffinitySchedulingStrategy(AWAY, soft=False)}, "never"),
    ],
)
def test_a_probe_counts_every_demand_of_a_task(asked: dict[str, object], verdict: str) -> None:
    totals, free = {"CPU": 4.0, "memory": float(8 << 30)}, {"CPU": 2.0, "memory": float(8 << 30)}
    node = NodeRow(HERE, "box", totals=totals, available=free, labels={"zone": "a"})
    snapshot = Snapshot(Runtime("ray", "0", "3"), nodes=[node])
    probed = planning.probe(snapshot, task_options(**asked), lambda: {"scales": True, "groups": [POOL]})
    answer = msgspec.to_builtins(probed)
    assert answer["verdict"] == verdict, answer["sentence"]


def test_what_the_autoscaler_brings_and_what_did_not_come_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "time", SimpleNamespace(time=lambda: 100.0))
    big = {**POOL, "name": "big", "resources": {"CPU": 1.0, "GPU": 2.0}, "labels": {}}
    known: dict[str, Any] = {"scales": True, "groups": [POOL, big]}
    known["failed"] = [{"type": "big", "why": "no quota", "at": 90, "count": 3}]
    assert planning.addable(known, {"GPU": 2.0}) == (
        "addable",
        "the cluster's autoscaler could add a node of the kind big, of which it may start 3; "
        "the last one did not come (10 s ago, 3 have failed): no quota",
    )
    known["arriving"] = [{"type": "big", "since": 86}, {"type": "big", "since": 90}, {"type": "pool", "why": "pulled"}]
    assert planning.addable(known, {"GPU": 2.0}) == (
        "coming",
        "a node of the kind big was asked for 14 s ago; the last one did not come (10 s ago, 3 have failed): no quota",
    )
    assert planning.addable(known, {"CPU": 8.0}) == ("coming", "a node of the kind pool was asked for (pulled)")
    word, why = planning.addable(known, {"GPU": 4.0})
    assert (word, why) == ("", "no kind of node that can be added has it (pool: 64 CPUs; big: 1 CPU and 2 GPUs)")
    snapshot = Snapshot(Runtime("ray", "0", "3"), nodes=[NodeRow(HERE, "box", totals={"CPU": 1.0})])
    coming = planning.probe(snapshot, task_options(num_gpus=2), lambda: known)  # type: ignore[return-value,arg-type]
    assert coming.verdict.value == "coming" and "a node of the kind big was asked for 14 s ago" in str(coming)
    never = planning.probe(snapshot, task_options(num_gpus=4), lambda: known)  # type: ignore[return-value,arg-type]
    assert never.verdict.value == "never" and "big: 1 CPU and 2 GPUs" in str(never)


def test_who_holds_both_kinds_of_resource_is_told_of_each_and_a_shared_device_once() -> None:
    """A CPU is not added to a GPU, and halves of one device are that device."""
    node = NodeRow(HERE, "box", totals={"CPU": 2.0, "GPU": 2.0})
    holders = [Holder("Keeper", 0.5, actor_id=f"{number:032x}", since=1.0) for number in range(4)]
    devices = [
        DeviceRow(HERE, "GPU", index, str(index), "nvidia", "NVIDIA GPU", "real", free=0.0, holders=held)
        for index, held in enumerate((holders[:2], holders[2:]))
    ]
    keepers = [
        ActorRow(each.actor_id or "", "Keeper", "ALIVE", demand={"CPU": 0.5, "GPU": 0.5}, since=1.0) for each in holders
    ]
    waits = TaskRow("w" * 48, "train", "task", "PENDING_NODE_ASSIGNMENT", demand={"CPU": 1.0, "GPU": 1.0})
    snapshot = Snapshot(Runtime("ray", "0", "3"), nodes=[node], devices=devices, actors=keepers, tasks=[waits])
    why = planning.waiting(snapshot, waits).sentence
    assert "Both CPUs are busy and both GPUs are busy: actor Keeper × 4 on GPU 0 and GPU 1, with 2 CPUs" in why


def test_work_that_waits_while_as_many_nodes_are_here_as_there_may_be_says_so() -> None:
    gpu = {**POOL, "name": "gpu", "resources": {"CPU": 1.0, "GPU": 1.0}, "labels": {}, "max_count": 2}
    node = NodeRow(HERE, "box", totals={"CPU": 1.0, "GPU": 1.0}, available={"CPU": 1.0, "GPU": 0.0})
    device = DeviceRow(HERE, "GPU", 0, "0", "nvidia", "NVIDIA GPU", "logical", free=0.0)
    row = TaskRow("a", "train", "task", "PENDING_NODE_ASSIGNMENT", demand={"GPU": 1.0})
    snapshot = Snapshot(Runtime("ray", "0", "3"), nodes=[node], devices=[device], tasks=[row])

    def told(known: dict[str, Any]) -> list[str]:
        explained = planning.waiting(snapshot, row, lambda: known)  # type: ignore[return-value,arg-type]
        probed = planning.probe(snapshot, task_options(num_gpus=1), lambda: known)  # type: ignore[return-value,arg-type]
        assert probed.verdict.value == "busy"
        return [explained.sentence, str(probed)]

    full: dict[str, Any] = {"scales": True, "groups": [POOL, gpu], "here": {"gpu": 2, "pool": 3}}
    assert all(said.endswith(" 2 of at most 2 gpu nodes are here.") for said in told(full))
    assert all("could add a node of the kind gpu" in said for said in told({**full, "here": {"gpu": 1}}))
    coming = {**full, "arriving": [{"type": "gpu", "why": "its image is pulled"}]}
    assert all("A node of the kind gpu was asked for (its image is pulled)." in said for said in told(coming))
    for fixed in ({"scales": False, "groups": None}, {"scales": True, "groups": None}, {**full, "groups": [POOL]}):
        assert all("kind" not in said and "at most" not in said for said in told(fixed))


def test_what_waits_for_one_type_is_told_which_other_type_has_room_now() -> None:
    totals = {"CPU": 4.0, "GPU": 2.0, "accelerator_type:A100": 1.0}
    node = NodeRow(HERE, "box", totals=totals, available={**totals, "GPU": 1.0})
    held = DeviceRow(HERE, "GPU", 0, "0", "nvidia", "NVIDIA GPU", "real", type="A100", free=0.0)
    other = DeviceRow(HERE, "GPU", 1, "1", "nvidia", "NVIDIA GPU", "real", type="T4", free=1.0)
    waits = TaskRow(
        "a", "train", "task", "PENDING_NODE_ASSIGNMENT", demand={"GPU": 1.0, "accelerator_type:A100": 0.001}
    )
    known: Any = {
        "scales": True,
        "groups": [{**POOL, "name": "a100", "resources": {"GPU": 1.0, "accelerator_type:A100": 1.0}}],
    }

    def told(*devices: DeviceRow) -> list[str]:
        snapshot = Snapshot(Runtime("ray", "0", "3"), nodes=[node], devices=[*devices], tasks=[waits])
        return [
            planning.waiting(snapshot, waits, lambda: known).sentence,
            planning.why_it_waits(snapshot, "train", "", waits.demand)[1],
            str(planning.probe(snapshot, task_options(num_gpus=1, accelerator_type="A100"), lambda: known)),
        ]

    assert all("T4 has room for it now: accelerator_type='T4'." in said for said in told(held, other))
    other.free = 0.0
    assert not any("room" in said for said in told(held, other))
