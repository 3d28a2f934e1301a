"""Node types on the local engine: virtual nodes come when work or a request needs them, and leave when idle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import autoscaler, train, tune
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.views.snapshot import NodeRow
from tests.autoscaler.waiting import until

SPREAD_OVER_TWO = {"gpu": {"num_gpus": 1, "num_cpus": 1, "accelerator_type": "A100", "max": 2, "idle_s": 0.5}}


@pytest.fixture(scope="module")
def growing() -> Iterator[None]:
    """A head of one CPU whose two GPU nodes come at once and leave soon."""
    nbaccel.init(num_cpus=1, node_types=SPREAD_OVER_TWO)
    yield
    nbaccel.shutdown()


def here() -> list[NodeRow]:
    return [row for row in autoscaler.status().nodes if row.node_type == "gpu"]


@pytest.mark.usefixtures("growing")
def test_a_task_gets_the_node_that_it_needs_and_the_node_leaves_when_idle():
    @nbaccel.remote(num_gpus=1, accelerator_type="A100")
    def where() -> str:
        return nbaccel.get_runtime_context().get_node_id()

    used = nbaccel.get(where.remote())
    assert used != nbaccel.get_runtime_context().get_node_id()
    until(lambda: not here(), "the idle node leaves")
    gone = next(row for row in nbaccel.nodes() if row["NodeID"] == used)
    assert not gone["Alive"] and "nobody has used it for 0.5 s" in gone["DeathReasonMessage"]


@pytest.mark.usefixtures("growing")
def test_what_one_block_holds_comes_and_is_withdrawn_at_its_end():
    with autoscaler.held(num_gpus=2):
        until(lambda: len(here()) == 2, "two nodes come")
        assert [(row.kind, row.resources) for row in autoscaler.status().requests] == [("held", {"GPU": 2.0})]
    assert autoscaler.status().requests == []
    until(lambda: not here(), "both nodes leave")


@pytest.mark.usefixtures("growing")
def test_a_request_that_no_type_can_meet_is_told():
    autoscaler.sdk.request_resources(bundles=[{"GPU": 8}])
    until(lambda: autoscaler.status().infeasible == [{"GPU": 8.0}], "the request is judged")
    autoscaler.sdk.request_resources(bundles=[])
    until(lambda: autoscaler.status().infeasible == [], "the request is withdrawn")
    assert autoscaler.status().requests == [] and not here(), "no node has come for it"


@pytest.mark.usefixtures("growing")
def test_probe_knows_what_can_be_added_and_what_cannot():
    until(lambda: not here(), "no node is here")
    could = nbaccel.probe(num_gpus=1)
    assert could.verdict.value == "addable" and "a node of the type gpu can be added" in str(could).lower()
    never = nbaccel.probe(num_gpus=4)
    assert never.verdict.value == "never" and "gpu: 1 GPU" in str(never)


@pytest.mark.usefixtures("growing")
def test_a_node_with_the_only_copy_of_an_object_stays_and_says_why():
    @nbaccel.remote(num_gpus=1)
    def large() -> bytes:
        return bytes(2_000_000)

    ref = large.remote()
    nbaccel.wait([ref], fetch_local=False)
    until(lambda: any("only there" in row.kept_by for row in here()), "the node is kept")
    assert len(nbaccel.get(ref)) == 2_000_000
    del ref
    until(lambda: not here(), "the node leaves")


@pytest.mark.usefixtures("growing")
def test_trials_wait_for_nodes_that_can_come(tmp_path: Path):
    def where(config: dict[str, Any]) -> dict[str, Any]:
        both = Path(config["folder"])
        (both / str(config["x"])).touch()
        until(lambda: len(list(both.iterdir())) == 2, "two trials run at one time, each on a node of its own")
        return {"node": nbaccel.get_runtime_context().get_node_id()}

    (tmp_path / "both").mkdir()
    space = {"x": tune.grid_search([1, 2]), "folder": str(tmp_path / "both")}
    kept = tune.RunConfig("growing", str(tmp_path))
    results = tune.Tuner(tune.with_resources(where, {"gpu": 1}), param_space=space, run_config=kept).fit()
    assert [each.error for each in results] == [None, None]
    assert len({(each.metrics or {})["node"] for each in results}) == 2


@pytest.mark.usefixtures("growing")
def test_trials_that_no_type_of_node_can_hold_are_refused(tmp_path: Path):
    kept = tune.RunConfig("too-large", str(tmp_path))
    tuner = tune.Tuner(tune.with_resources(lambda config: 1, {"gpu": 4}), run_config=kept)
    with pytest.raises(tune.TuneError, match=r"^No trial can ever start: each asks for 4 GPUs, but .*gpu: 1 GPU"):
        tuner.fit()


@pytest.mark.usefixtures("growing")
def test_a_training_worker_group_waits_for_nodes_that_can_come(tmp_path: Path):
    def loop() -> None:
        train.report({"ranks": train.get_context().get_world_size()})

    kept = train.RunConfig(name="growing", storage_path=str(tmp_path))
    scaling = train.ScalingConfig(num_workers=2, use_gpu=True)
    assert DataParallelTrainer(loop, scaling_config=scaling, run_config=kept).fit().metrics == {"ranks": 2}
