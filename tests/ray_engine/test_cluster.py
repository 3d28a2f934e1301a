"""Three Ray nodes with different accelerators on this machine: who lands where, and what is seen of it.

The nodes share one module's Ray, which is joined by its address, as a notebook joins a real cluster.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.light_imports import lighter_imports
from nbaccel.util.accelerators import GOOGLE_TPU_V4, NVIDIA_A100
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from tests.rig import DEADLINE_S, wait_until, written_so_far

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]
ray = pytest.importorskip("ray")
ROOT = Path(__file__).parent.parent.parent


def _patiently(start):
    """Ray gives the processes of a node 15 s to start, which a busy machine may miss: then again."""
    for _ in range(3):
        try:
            with lighter_imports():
                return start()
        except Exception as error:  # Ray raises nothing narrower
            late = error
    raise late


def _added(cluster, **node):
    """A node that was too slow does not join beside the one that is started in its place."""

    def start():
        before = set(cluster.worker_nodes)
        try:
            return cluster.add_node(**node)
        except Exception:
            for late in set(cluster.worker_nodes) - before:
                cluster.remove_node(late)  # it says that it leaves: nothing is sent to it any more
            raise

    return _patiently(start)


@pytest.fixture(scope="module")
def cluster():
    """A head with CPUs only, a node with two A100, a node with four TPU chips."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    head = {"num_cpus": 2, "include_dashboard": False}
    cluster = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    try:
        yield _with_accelerators(cluster)
    finally:
        cluster.shutdown()


def _with_accelerators(cluster):
    a100 = {f"accelerator_type:{NVIDIA_A100}": 1}
    v4 = {f"accelerator_type:{GOOGLE_TPU_V4}": 1, "TPU": 4}
    of_a100 = {"ray.io/accelerator-type": NVIDIA_A100, "zone": "a"}
    of_v4 = {"ray.io/accelerator-type": GOOGLE_TPU_V4}
    _added(cluster, num_cpus=1, num_gpus=2, resources=a100, labels=of_a100)
    _added(cluster, num_cpus=1, resources=v4, labels=of_v4)
    return cluster


@pytest.fixture(scope="module")
def nodes(cluster):
    """Node ids by what they have; joined for as long as the module's tests run."""
    nbaccel.init(address=cluster.address, namespace="tests")
    ids = {}
    for node in filter(lambda each: each["Alive"], nbaccel.nodes()):  # others were too slow at their start
        kind = "gpu" if "GPU" in node["Resources"] else "tpu" if "TPU" in node["Resources"] else "cpu"
        ids[kind] = node["NodeID"]
    yield ids
    nbaccel.shutdown()


@nbaccel.remote
def where():
    context = nbaccel.get_runtime_context()
    ids = context.get_accelerator_ids()
    return context.get_node_id(), ids["GPU"], ids["TPU"], os.getpid()


@nbaccel.remote(num_cpus=0)
class Sharer:
    def where(self):
        context = nbaccel.get_runtime_context()
        return context.get_node_id(), context.get_accelerator_ids()["GPU"]

    def wait_for(self, path):
        wait_until(lambda: os.path.exists(path))


def test_a_type_of_accelerator_leads_to_its_node(nodes):
    train = where.options(num_gpus=1, accelerator_type=NVIDIA_A100, num_cpus=0)
    node, gpus, _, _ = nbaccel.get(train.remote())
    assert (node, len(gpus)) == (nodes["gpu"], 1)
    chips = where.options(resources={"TPU": 4}, accelerator_type=GOOGLE_TPU_V4, num_cpus=0)
    node, _, tpus, _ = nbaccel.get(chips.remote())
    assert (node, tpus) == (nodes["tpu"], ["0", "1", "2", "3"])


def test_a_label_leads_to_its_node(nodes):
    assert nbaccel.get(where.options(label_selector={"zone": "a"}, num_cpus=0).remote())[0] == nodes["gpu"]


def test_fractions_share_one_device_of_the_node(nodes):
    halves = [Sharer.options(num_gpus=0.5).remote() for _ in range(2)]
    first, second = nbaccel.get([half.where.remote() for half in halves])
    assert first == second and (first[0], len(first[1])) == (nodes["gpu"], 1)
    for half in halves:
        nbaccel.kill(half)


def test_every_task_on_a_tpu_gets_a_fresh_process(nodes):
    chips = where.options(resources={"TPU": 1}, num_cpus=0)
    pids = [nbaccel.get(chips.remote())[3] for _ in range(2)]
    assert len(set(pids)) == 2


def test_the_snapshot_names_node_and_device_of_each(nodes):
    gpu = Sharer.options(num_gpus=0.5, name="on the gpu node").remote()
    tpu = Sharer.options(resources={"TPU": 2}).remote()
    (_, (id,)), _ = nbaccel.get([gpu.where.remote(), tpu.where.remote()])

    def both():
        rows = {row.actor_id: row for row in nbaccel.snapshot().actors}
        pair = [rows.get(actor._actor_id.hex()) for actor in (gpu, tpu)]
        return pair if all(row is not None and row.device_ids for row in pair) else None

    first, second = wait_until(both)
    assert (first.node_id, first.device_ids, first.name) == (nodes["gpu"], {"GPU": [id]}, "on the gpu node")
    assert second.node_id == nodes["tpu"] and len(second.device_ids["TPU"]) == 2
    snapshot = nbaccel.snapshot()
    held = {(row.node_id, row.resource, row.id): row for row in snapshot.devices}
    assert held[nodes["gpu"], "GPU", id].type == NVIDIA_A100
    assert [holder.amount for holder in held[nodes["gpu"], "GPU", id].holders] == [0.5]
    names = {chip: [holder.name for holder in held[nodes["tpu"], "TPU", chip].holders] for chip in "0123"}
    assert names == {chip: ["Sharer"] if chip in second.device_ids["TPU"] else [] for chip in "0123"}
    assert len([node for node in snapshot.nodes if node.alive]) == 3
    for actor in (gpu, tpu):
        nbaccel.kill(actor)


def test_calls_are_seen_though_the_collector_of_reports_died_before_them(nodes, tmp_path):
    waiter = Sharer.options(num_gpus=0.5).remote()
    nbaccel.get(waiter.where.remote())
    wait_until(lambda: [row for row in nbaccel.snapshot().actors if row.device_ids and row.class_name == "Sharer"])
    collector = f"nbaccel_reports_{ray.get_runtime_context().get_job_id()}"
    ray.kill(ray.get_actor(collector, namespace="nbaccel"))
    call = waiter.wait_for.remote(str(tmp_path / "go"))

    def running():
        rows = nbaccel.snapshot().tasks
        return [row for row in rows if row.task_id == call.task_id().hex() and row.state == "RUNNING" and row.pid]

    wait_until(running)
    (tmp_path / "go").touch()
    nbaccel.get(call)
    nbaccel.kill(waiter)


class Mark:
    """A path as an argument. Those that Ray was given are known in the process that gave them."""

    given: list[Path] = []

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        Mark.given.append(self.path)
        return Path, (self.path,)

    @classmethod
    def left(cls):
        """Where a driver asks for the cell of a submission: what Ray was given has left its mark by then."""
        while cls.given:
            wait_until(cls.given.pop().exists)
        return "", b""


@nbaccel.remote(num_cpus=0)
class Marker:
    def __init__(self, path):
        Path(path).touch()

    def leave(self, path):
        Path(path).touch()


@nbaccel.remote(num_cpus=0)
def leave(path):
    Path(path).touch()


@nbaccel.remote(num_cpus=0)
def leave_inside(path):
    engines.cell_source = Mark.left
    try:
        inner = leave.remote(Mark(path))
    finally:
        engines.cell_source = None
    nbaccel.get(inner)
    return inner.task_id().hex()


@pytest.fixture
def watched(nodes):
    """Somebody watches for as long as the test takes: what ends is known, whatever Ray then does with its process."""
    engines.current().watch(lambda snapshot: None, metrics=False, reader="test")
    nbaccel.snapshot()  # and a thread begins to watch: from here on it does
    yield
    engines.current().watch(None, reader="test")


@pytest.mark.usefixtures("watched")
def test_what_runs_before_its_submission_is_noted_was_submitted_before(nodes, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "cell_source", Mark.left)
    actor = Marker.remote(Mark(tmp_path / "constructor"))
    refs = [actor.leave.remote(Mark(tmp_path / "call")), leave.remote(Mark(tmp_path / "task"))]
    nested = nbaccel.get(leave_inside.remote(tmp_path / "nested"))
    wanted = {nested, "ff" * 8 + actor._actor_id.hex(), *(ref.task_id().hex() for ref in refs)}

    def ended():
        rows = [row for row in nbaccel.snapshot().tasks if row.task_id in wanted and row.finished_at]
        return rows if len(rows) == len(wanted) else None

    assert [row.name for row in wait_until(ended) if row.submitted_at > row.started_at] == []
    nbaccel.kill(actor)


@nbaccel.remote(num_cpus=0)
class Async:
    async def says(self):
        print("said by the actor", file=sys.stderr, flush=True)

    async def wait_for(self, path):
        while not os.path.exists(path):
            await asyncio.sleep(0.01)


def test_an_async_actor_is_not_scolded_for_how_it_is_watched(nodes, tmp_path, capfd):
    actor = Async.remote()

    def running(call):
        rows = nbaccel.snapshot().tasks
        return [row for row in rows if row.task_id == call.task_id().hex() and row.state == "RUNNING" and row.pid]

    def actors_words():
        text = written_so_far(1) + written_so_far(2)
        return text if "said by the actor" in text else ""

    before = actor.wait_for.remote(str(tmp_path / "go"))
    wait_until(lambda: running(before))
    collector = f"nbaccel_reports_{ray.get_runtime_context().get_job_id()}"
    ray.kill(ray.get_actor(collector, namespace="nbaccel"))
    after = actor.wait_for.remote(str(tmp_path / "go"))
    wait_until(lambda: running(after))  # its process has read the last answer of the first collector
    (tmp_path / "go").touch()
    nbaccel.get([before, after, actor.says.remote()])
    assert "blocking ray.get" not in wait_until(actors_words, "the actor's line")
    nbaccel.kill(actor)


def test_a_task_falls_back_where_no_node_has_the_device(nodes):
    node, gpus, _, _ = nbaccel.get(where.options(num_gpus=4, fallback="cpu").remote())
    assert gpus == []
    assert node in nodes.values()


def lost(node_id):
    """Another may be of a start that was too slow."""
    return [node for node in nbaccel.snapshot().nodes if node.node_id == node_id and not node.alive]


def test_a_killed_node_fails_its_task_loses_its_objects_and_is_shown(cluster, nodes, tmp_path):
    doomed = _added(cluster, num_cpus=2, resources={"doomed": 1})
    wait_until(lambda: "doomed" in nbaccel.cluster_resources())

    @nbaccel.remote
    def make(folder):
        import tempfile

        tempfile.mkstemp(dir=folder)
        return bytes(2_000_000)

    @nbaccel.remote(resources={"doomed": 1}, max_retries=0)
    def waits(path):
        import threading

        Path(path).touch()
        threading.Event().wait()

    made = tmp_path / "made"
    made.mkdir()
    ref = waits.remote(str(tmp_path / "began"))
    wait_until((tmp_path / "began").exists)  # from here on the node that places tasks knows of the new one, too
    there = NodeAffinitySchedulingStrategy(doomed.node_id, soft=True)
    only_copy = make.options(scheduling_strategy=there).remote(str(made))
    nbaccel.wait([only_copy], timeout=DEADLINE_S, fetch_local=False)
    assert len(list(made.iterdir())) == 1
    cluster.remove_node(doomed, allow_graceful=False)
    with pytest.raises((exceptions.WorkerCrashedError, exceptions.NodeDiedError)):
        nbaccel.get(ref, timeout=DEADLINE_S)
    (dead,) = wait_until(lambda: lost(doomed.node_id))
    assert dead.why
    snapshot = nbaccel.snapshot()
    assert "node lost" in [alert.kind for alert in snapshot.alerts]
    assert [row.state for row in snapshot.tasks if row.task_id == ref.task_id().hex()] in (["FAILED"], ["FINISHED"])
    assert nbaccel.get(only_copy, timeout=DEADLINE_S) == bytes(2_000_000)
    assert len(list(made.iterdir())) == 2


def test_a_driver_comes_back_to_its_named_actors(cluster, nodes):
    program = """
import sys, nbaccel
nbaccel.init(address=sys.argv[1], namespace="tests", log_to_driver=False)

@nbaccel.remote
class Counter:
    def __init__(self):
        self.count = 0

    def add(self):
        self.count += 1
        return self.count

counter = Counter.options(name="stays", lifetime="detached", get_if_exists=True).remote()
print("count", nbaccel.get(counter.add.remote()))
nbaccel.shutdown()
"""
    said = [_run(program, cluster.address, cwd=ROOT).splitlines()[-1] for _ in range(2)]
    assert said == ["count 1", "count 2"]
    stays = nbaccel.get_actor("stays")
    assert nbaccel.get(stays.add.remote()) == 3
    nbaccel.kill(stays)


def test_a_node_that_has_only_ray_runs_tasks_with_rays_own_refs(cluster, nodes, tmp_path):
    program = """
import sys
sys.path.append(sys.argv[2])
import nbaccel
nbaccel.init(address=sys.argv[1], log_to_driver=False)

@nbaccel.remote
def total(refs):
    import ray
    try:
        import nbaccel
    except ImportError:
        return sum(ray.get(refs)), type(refs[0]).__module__
    return 0, "nbaccel can be imported here"

print(*nbaccel.get(total.remote([nbaccel.put(20), nbaccel.put(22)])))
"""
    # The driver's working directory is on its workers' path, not on its own: there, nbaccel is something else.
    (tmp_path / "nbaccel.py").write_text("raise ImportError('only Ray is installed here')")
    (tmp_path / "drivers").mkdir()
    (tmp_path / "drivers" / "driver.py").write_text(program)
    said = _run(None, str(tmp_path / "drivers" / "driver.py"), cluster.address, str(ROOT), cwd=tmp_path)
    assert said.splitlines()[-1].startswith("42 ray")


def _run(program, *args, cwd):
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *(["-c", program] if program else []), *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environ, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout
