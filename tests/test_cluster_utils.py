"""Virtual nodes on both engines: work goes where it must, and a lost node loses its workers and its objects."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.cluster_utils import Cluster
from nbaccel.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig, WorkerGroupError
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.util.placement_group import (
    get_placement_group,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from nbaccel.util.scheduling_strategies import In, NodeAffinitySchedulingStrategy, NodeLabelSchedulingStrategy
from tests.rig import Gate, is_alive, wait_until
from tests.train import loops

LARGE = 1_000_000
FRAGILE = {"num_cpus": 2, "resources": {"fragile": 1}}


ON_RAY = pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.timeout(600)])


@pytest.fixture(scope="module", params=["local", ON_RAY])
def shared(request):
    """A head of this engine, which this process has joined."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1}, engine=request.param)
    try:
        nbaccel.init(address=cluster.address)
        yield cluster
    finally:
        cluster.shutdown()


class Kept:
    """Nodes that outlive a test: on Ray a node, and the first worker on it, take seconds to start."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._kind = None
        self._made = []

    def of(self, kind, *given):
        """Nodes like these: those that are there, if the test before asked for the same and left as many."""
        there = self._cluster.worker_nodes
        if kind != self._kind or len(there) != len(given):
            for node in list(there):
                self._cluster.remove_node(node)
            self._kind, self._made = kind, [self._cluster.add_node(**each) for each in given]
        return self._made if set(self._made) == there else list(there)


@pytest.fixture(scope="module")
def kept(shared):
    return Kept(shared)


@pytest.fixture
def joined(shared, kept):
    """The head alone; what a test adds is removed."""
    kept.of("no others")
    yield shared
    kept.of("no others")


@pytest.fixture
def pair(kept):
    """Two nodes of two CPUs each, in zones a and b, of which all is free; they are left as they are."""
    nodes = kept.of("pair", *({"num_cpus": 2, "labels": {"zone": zone}} for zone in "ab"))
    wait_until(all_is_free)
    return nodes


@pytest.fixture
def fragile(kept):
    """A node that a test may take away; what it puts in its place is the next test's."""
    (node,) = kept.of("fragile", FRAGILE)
    return node


def all_is_free():
    """Ray gives back what a removed group held a moment after it was removed."""
    return nbaccel.available_resources().get("CPU") == nbaccel.cluster_resources()["CPU"]


def alive():
    return {row["NodeID"] for row in nbaccel.nodes() if row["Alive"]}


@nbaccel.remote
def here():
    return nbaccel.get_runtime_context().get_node_id()


@nbaccel.remote(resources={"fragile": 0.1})
def make(path, value):
    with open(path, "a") as file:
        file.write("x")
    return bytes([value]) * LARGE


@nbaccel.remote(resources={"fragile": 0.1})
def joined_bytes(one, other):
    return one[:10] + other


def test_added_nodes_are_part_of_the_cluster(joined):
    node = joined.add_node(num_cpus=3, num_gpus=2, resources={"blue": 4}, labels={"zone": "b"}, node_name="second")
    rows = {row["NodeID"]: row for row in nbaccel.nodes()}
    assert rows[node.node_id]["Labels"]["zone"] == "b" and rows[node.node_id]["NodeName"] == "second"
    wait_until(lambda: (nbaccel.cluster_resources()["CPU"], nbaccel.cluster_resources().get("GPU")) == (4, 2))
    assert nbaccel.get(here.options(resources={"blue": 1}).remote()) == node.node_id


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"num_cpus": -1}, ValueError),
        ({"num_cpus": 0.5}, ValueError),
        ({"num_gpus": "2"}, TypeError),
        ({"resources": {"shelf": -1}}, ValueError),
        ({"resources": {"CPU": 1}}, ValueError),
        ({"labels": {"zone": 1}}, TypeError),
        ({"num_gpu": 1}, TypeError),
    ],
)
def test_a_node_that_cannot_be_is_refused(joined, given, error):
    with pytest.raises(error):
        joined.add_node(**given)
    assert alive() == {joined.head_node.node_id} and joined.worker_nodes == set()


def test_bundles_lie_as_the_strategy_says(pair):
    def nodes_of(strategy, count=2):
        group = placement_group([{"CPU": 1}] * count, strategy=strategy)
        nbaccel.get(group.ready())
        nodes = set(placement_group_table(group)["bundles_to_node_id"].values())
        remove_placement_group(group)
        wait_until(all_is_free)  # the next one may choose as well
        return len(nodes)

    assert [nodes_of(name) for name in ("PACK", "STRICT_PACK", "SPREAD", "STRICT_SPREAD")] == [1, 1, 2, 2]
    assert nodes_of("PACK", 5) == 3 and nodes_of("STRICT_SPREAD", 3) == 3
    too_many = placement_group([{"CPU": 1}] * 4, strategy="STRICT_SPREAD")
    assert too_many.wait(0) is False
    remove_placement_group(too_many)


def test_a_group_lies_on_the_node_that_it_prefers(pair):
    for node in pair:
        group = placement_group([{"CPU": 1}] * 2, "STRICT_PACK", _soft_target_node_id=node.node_id)
        assert group.wait(60)
        assert set(placement_group_table(group)["bundles_to_node_id"].values()) == {node.node_id}
        remove_placement_group(group)
    with pytest.raises(ValueError, match="STRICT_PACK"):
        placement_group([{"CPU": 1}], "PACK", _soft_target_node_id=pair[0].node_id)
    with pytest.raises(ValueError, match="Invalid hex"):
        placement_group([{"CPU": 1}], "STRICT_PACK", _soft_target_node_id="there")


def test_work_goes_to_the_node_that_is_named_or_labelled(pair):
    a, b = pair
    affinity = NodeAffinitySchedulingStrategy(a.node_id, soft=False)
    assert nbaccel.get(here.options(scheduling_strategy=affinity).remote()) == a.node_id
    assert nbaccel.get(here.options(label_selector={"zone": "b"}).remote()) == b.node_id
    labels = NodeLabelSchedulingStrategy({"zone": In("b", "c")})
    assert nbaccel.get(here.options(scheduling_strategy=labels).remote()) == b.node_id
    soft = here.options(label_selector={"zone": "z"}, fallback_strategy=[{"label_selector": {"zone": "a"}}])
    assert nbaccel.get(soft.remote()) == a.node_id


def test_a_node_has_the_variables_of_the_moment_when_it_was_added(joined, monkeypatch):
    monkeypatch.setenv("SAID_LATER", "yes")
    node = joined.add_node(num_cpus=1, resources={"later": 1})
    monkeypatch.delenv("SAID_LATER")

    @nbaccel.remote
    def said():
        return os.environ.get("SAID_LATER")

    here = NodeAffinitySchedulingStrategy(joined.head_node.node_id, soft=False)
    assert nbaccel.get(said.options(resources={"later": 1}).remote()) == "yes"
    assert nbaccel.get(said.options(scheduling_strategy=here).remote()) is None
    joined.remove_node(node)


def test_a_nodes_own_number_of_threads_is_kept(joined):
    node = joined.add_node(num_cpus=1, resources={"threads": 1}, env_vars={"OMP_NUM_THREADS": "7"})

    @nbaccel.remote
    def threads():
        return os.environ.get("OMP_NUM_THREADS")

    own = {"runtime_env": {"env_vars": {"OMP_NUM_THREADS": "3"}}}
    asked = [threads.options(resources={"threads": 1}, **more).remote() for more in ({}, own)]
    assert nbaccel.get(asked) == ["7", "3"]
    joined.remove_node(node)


IN_ANOTHER_NAMESPACE = """
import sys
import nbaccel
from nbaccel.util.placement_group import get_placement_group, placement_group

nbaccel.init(address=sys.argv[1], namespace="another")
try:
    get_placement_group("ours")
except ValueError as error:
    print(error)
group = placement_group([{"CPU": 1}], name="ours")
print(get_placement_group("ours").id.hex() == group.id.hex() != sys.argv[2])
"""


def test_names_of_placement_groups_belong_to_a_namespace(joined):
    group = placement_group([{"CPU": 1}], name="ours")
    other = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_NAMESPACE, joined.address, group.id.hex()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    said, found_its_own = other.stdout.splitlines()
    assert "name: ours. One of that name is in another namespace" in said
    assert found_its_own == "True"
    assert get_placement_group("ours") == group
    remove_placement_group(group)


def test_lost_objects_are_made_again_with_what_they_were_made_from(shared, fragile, tmp_path):
    one, other = make.remote(tmp_path / "one", 1), make.remote(tmp_path / "other", 2)
    both = joined_bytes.remote(one, other)
    nbaccel.wait([both], fetch_local=False)
    shared.remove_node(fragile)
    shared.add_node(**FRAGILE)
    assert nbaccel.get(both)[:11] == b"\x01" * 10 + b"\x02"
    assert (tmp_path / "one").read_text() == "xx" and (tmp_path / "other").read_text() == "xx"


@pytest.mark.parametrize("ahead", [-1, 1])
def test_lost_items_of_a_stream_are_made_again(shared, fragile, tmp_path, ahead):
    @nbaccel.remote(resources={"fragile": 0.1}, _generator_backpressure_num_objects=ahead)
    def stream():
        with open(tmp_path / "runs", "a") as file:
            file.write("x")
        for value in range(4):
            yield bytes([value]) * LARGE

    items = list(stream.remote())
    items.pop(1)
    shared.remove_node(fragile)
    shared.add_node(**FRAGILE)
    assert [value[0] for value in nbaccel.get(items)] == [0, 2, 3]
    assert (tmp_path / "runs").read_text() == "xx"


def test_a_stream_that_its_node_cuts_off_goes_on_elsewhere(shared, fragile, tmp_path):
    gate = Gate.options(num_cpus=0, scheduling_strategy=_on(shared.head_node)).remote()

    @nbaccel.remote(num_cpus=0, resources={"fragile": 0.1})
    def stream(gate):
        yield bytes([0]) * LARGE
        yield bytes([1]) * LARGE
        nbaccel.get(gate.wait.remote())
        yield bytes([2]) * LARGE

    items = stream.remote(gate)
    first, second = next(items), next(items)
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1)
    shared.remove_node(fragile)
    shared.add_node(**FRAGILE)
    nbaccel.get(gate.open.remote())
    assert [nbaccel.get(each)[0] for each in (first, second, next(items))] == [0, 1, 2]
    assert list(items) == []


def test_running_work_moves_to_another_node_if_it_may(shared, fragile, tmp_path):
    gate = Gate.options(num_cpus=0, scheduling_strategy=_on(shared.head_node)).remote()

    @nbaccel.remote(num_cpus=0, resources={"fragile": 0.1})
    def wait(gate):
        nbaccel.get(gate.wait.remote())
        return nbaccel.get_runtime_context().get_node_id()

    again, never = wait.remote(gate), wait.options(max_retries=0).remote(gate)
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 2)
    shared.remove_node(fragile)
    with pytest.raises(exceptions.NodeDiedError):
        nbaccel.get(never)
    other = shared.add_node(**FRAGILE)
    nbaccel.get(gate.open.remote())
    assert nbaccel.get(again) == other.node_id


def _on(node):
    return NodeAffinitySchedulingStrategy(node.node_id, soft=False)


def test_actors_of_a_lost_node_restart_elsewhere_or_die(shared, fragile):
    @nbaccel.remote(num_cpus=0, resources={"fragile": 0.1})
    class Actor:
        def where(self):
            return nbaccel.get_runtime_context().get_node_id()

    lasting, mortal = Actor.options(max_restarts=1, max_task_retries=-1).remote(), Actor.remote()
    assert nbaccel.get([lasting.where.remote(), mortal.where.remote()]) == [fragile.node_id] * 2
    shared.remove_node(fragile)
    other = shared.add_node(**FRAGILE)
    assert nbaccel.get(lasting.where.remote()) == other.node_id
    wait_until(lambda: "node" in how_it_died(mortal))


def how_it_died(actor):
    """Nothing for as long as it is only out of reach."""
    with pytest.raises(exceptions.RayActorError) as caught:
        nbaccel.get(actor.where.remote())
    return str(caught.value) if isinstance(caught.value, exceptions.ActorDiedError) else ""


WORDS = {
    "local": (r"made by put\(\), in a process that ended", r"Maker\.make is a call of an actor", "max_retries=0"),
    "ray": ("owner has exited", "max_retries=0", "max_retries=0"),
}


def test_an_object_that_cannot_be_made_again_fails_in_words(shared, fragile, tmp_path):
    @nbaccel.remote(resources={"fragile": 0.1})
    def put():
        return [nbaccel.put(bytes(LARGE))]

    @nbaccel.remote(num_cpus=0, resources={"fragile": 0.1})
    class Maker:
        def make(self):
            return bytes(LARGE)

    (inside,) = nbaccel.get(put.remote())
    maker = Maker.remote()
    of_a_call, without_retries = maker.make.remote(), make.options(max_retries=0).remote(tmp_path / "runs", 1)
    nbaccel.wait([of_a_call, without_retries], num_returns=2, fetch_local=False)
    shared.remove_node(fragile)
    owner, call, retries = WORDS[engines.started().name]
    with pytest.raises(exceptions.OwnerDiedError, match=owner):
        nbaccel.get(inside)
    with pytest.raises(exceptions.ObjectReconstructionFailedError, match=call):
        nbaccel.get(of_a_call)
    with pytest.raises(exceptions.ObjectReconstructionFailedError, match=retries):
        nbaccel.get(without_retries)


def test_a_task_that_was_cancelled_after_its_end_is_not_run_again(joined, tmp_path):
    if engines.started().name == "ray":
        pytest.skip("Ray says in other words that it does not make the value again, and takes minutes for it")
    node = joined.add_node(**FRAGILE)
    cancelled = make.remote(tmp_path / "cancelled", 1)
    nbaccel.wait([cancelled], fetch_local=False)
    nbaccel.cancel(cancelled)
    nbaccel.nodes()  # the head has been told of the cancel when it answers this
    joined.remove_node(node)
    with pytest.raises(exceptions.ObjectReconstructionFailedError, match="was cancelled after its end"):
        nbaccel.get(cancelled)
    assert (tmp_path / "cancelled").read_text() == "x"


def test_what_was_read_here_before_is_not_lost(shared, fragile, tmp_path):
    ref = make.remote(tmp_path / "runs", 3)
    nbaccel.get(ref)
    shared.remove_node(fragile)
    assert nbaccel.get(ref)[:1] == b"\x03" and (tmp_path / "runs").read_text() == "x"


def test_a_removed_node_is_shown_dead_and_cannot_be_removed_again(joined):
    node = joined.add_node(num_cpus=1)
    assert alive() == {joined.head_node.node_id, node.node_id}
    joined.remove_node(node)
    assert {row["NodeID"]: row["Alive"] for row in nbaccel.nodes()}[node.node_id] is False
    with pytest.raises(ValueError):
        joined.remove_node(node)


def training_on_two_nodes(folder, max_failures):
    """A run under way whose rank 1 is not on the head's node."""
    failures, checkpoints = FailureConfig(max_failures=max_failures), CheckpointConfig(num_to_keep=2)
    run = DataParallelTrainer(
        loops.steps,
        train_loop_config={"steps": 1_000_000},
        scaling_config=ScalingConfig(num_workers=2, placement_strategy="STRICT_SPREAD"),
        run_config=RunConfig("run", str(folder), failure_config=failures, checkpoint_config=checkpoints),
    ).start()
    # A checkpoint counts only with the reports of both ranks, of which one may be far ahead.
    wait_until(lambda: run._records.latest_name() and run.metrics["step"] >= 2, "reports and a checkpoint")
    return run


def groups_of(run):
    written = Path(run.path, "run.jsonl").read_text().split("\n")[:-1]  # the last line may be half there
    return [line for line in map(json.loads, written) if "worker_group" in line]


def assert_nothing_is_left_of(run):
    wait_until(all_is_free)
    assert {row["state"] for row in placement_group_table().values()} <= {"REMOVED"}
    assert not list(Path(run.path).glob(".*part*"))
    pids = [worker["pid"] for group in groups_of(run) for worker in group["ranks"]]
    wait_until(lambda: not any(is_alive(pid) for pid in pids), "the ranks' ends")


@pytest.mark.parametrize("graceful", [True, False], ids=["told to go", "killed"])
def test_a_training_run_that_loses_a_node_goes_on_with_another(shared, fragile, tmp_path, capfd, graceful):
    run = training_on_two_nodes(tmp_path, max_failures=1)
    try:
        shared.add_node(**FRAGILE)
        shared.remove_node(fragile, allow_graceful=graceful)
        wait_until(lambda: len(groups_of(run)) == 2, "a second worker group", deadline_s=200)
        before = run.metrics["step"]
        wait_until(lambda: run.metrics["step"] > before, "its reports")
        run.stop()
        result = run.result(timeout=60)
        assert result.stopped and [each["step"] for each in result.history] == list(range(len(result.history)))
    finally:
        for _ in range(3):
            run.stop()
    assert_nothing_is_left_of(run)
    if not graceful:
        words = rf"rank 1: its node .*\({fragile.node_id[:8]}\) was lost.*; it starts again from checkpoint_\d+"
        assert re.search(words, said := capfd.readouterr().err), said


def test_a_training_run_that_may_not_fail_names_the_node_that_it_lost(shared, fragile, tmp_path):
    run = training_on_two_nodes(tmp_path, max_failures=0)
    shared.remove_node(fragile, allow_graceful=False)
    with pytest.raises(WorkerGroupError) as caught:
        run.result(timeout=240)
    first, *others = str(caught.value).splitlines()
    words = rf"rank 1 failed \(after checkpoint_\d+\): its node .*\({fragile.node_id[:8]}\) was lost.*"
    assert re.fullmatch(words, first)
    assert len(others) <= 4 and "it goes on from checkpoint_" in others[-1]
    assert type(caught.value.worker_failures[1]) is exceptions.NodeDiedError
    assert isinstance(caught.value.__cause__.__cause__, exceptions.RayError)  # the engine's own words
    assert_nothing_is_left_of(run)


def test_the_heads_node_is_not_removed_below_our_feet(joined):
    with pytest.raises(ValueError, match="joined"):
        joined.remove_node(joined.head_node)
    assert nbaccel.get(here.remote()) == joined.head_node.node_id


def test_the_cluster_ends_with_all_its_processes(shared):
    nbaccel.get(here.remote())
    assert shared.remaining_processes_alive()
    shared.shutdown()
    shared.shutdown()
    assert not shared.remaining_processes_alive() and not nbaccel.is_initialized()
    assert shared.address is None and shared.list_all_nodes() == []


def test_a_cluster_without_a_head_cannot_be_joined():
    with pytest.raises(RuntimeError):
        Cluster(connect=True)
    assert Cluster().address is None


def test_an_engine_of_one_node_has_no_virtual_ones():
    with pytest.raises(ValueError, match="'local' or 'ray'"):
        Cluster(initialize_head=True, engine="debug")


@pytest.mark.ray
def test_virtual_nodes_of_ray_are_made_any_number_of_times():
    assert [engines.virtual_nodes("ray").address for _ in range(2)] == [None, None]
