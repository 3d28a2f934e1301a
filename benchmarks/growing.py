"""What nodes that come and go cost: a decision, an arrival, a thousand idle nodes, a manifest, and joining a cluster.

    python benchmarks/growing.py

Prints each figure beside its target: a decision over 10 types, 1,000 nodes and 10,000 demands (50 ms); how long after a
demand a node that arrives at once runs it (20 ms); how often 1,000 idle nodes wake the head in 10 s (never); how long a
manifest of Kubernetes takes to be written and checked (0.3 s), in this process and as two commands, the latter by the
clock and in seconds of a CPU, which tell more on a busy machine. With Ray installed, also how long it takes to judge
whether this machine could join a Ray cluster (50 ms, once Ray is imported).
"""

from __future__ import annotations

import importlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbaccel
from nbaccel import autoscaler, ray_preflight
from nbaccel.machines import joining, node_records, ray_head
from nbaccel.machines.kuberay.check import check_documents
from nbaccel.machines.kuberay.commands import read_documents, write_document
from nbaccel.machines.kuberay.manifest import ClusterPlan, make_manifest, read_group
from nbaccel.machines.ray_head import HeadPlan
from nbaccel.quantities import UNIT
from nbaccel.scheduling.events import DeviceSpec, NodeSpec, NodeTypeSpec
from nbaccel.scheduling.growth import EqualDemands, Planner, Stock, wanted_of
from nbaccel.scheduling.ledger import Place
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.terms import Choice, Placement

TYPES, NODES, DEMANDS, KINDS = 10, 1_000, 10_000, 20
PAIRS = 7
IDLE_NODES, LOOK_S = 1_000, 10.0
ENTRY = "from nbaccel.command import main; main()"  # as the script that pip installs


def decision_s() -> float:
    """The median time of one decision: every type has nodes here, and a request and waiting tasks want more."""
    cluster = PlacementBook()
    stocks = [Stock(_type(number), _empty(_type(number)), here=NODES // TYPES) for number in range(TYPES)]
    for number in range(NODES):
        spec = stocks[number % TYPES].spec
        node = NodeSpec(b"%d" % number, f"n{number}", dict(spec.totals), list(spec.devices), spec.labels)
        node.node_type = spec.name
        cluster.add_node(node)
    demands = [_wanted(kind, cluster) for kind in range(KINDS)]
    assert sum(each.count for each in demands) == DEMANDS
    took = []
    for _ in range(PAIRS):
        began = time.perf_counter()
        plan = Planner(cluster, stocks).plan(demands[:5], [], demands, 0.0)
        took.append(time.perf_counter() - began)
        assert plan.asks, "nothing was asked for"
    return statistics.median(took)


def _type(number: int) -> NodeTypeSpec:
    devices = [DeviceSpec("GPU", index) for index in range(number % 5)]
    return NodeTypeSpec(f"t{number}", {"CPU": (4 + number) * UNIT}, devices, {"zone": str(number)}, max=2 * NODES)


def _empty(spec: NodeTypeSpec) -> Place:
    return Place.of(NodeSpec(b"", spec.name, spec.totals, spec.devices, spec.labels), 1 << 30)


def _wanted(kind: int, cluster: PlacementBook) -> EqualDemands:
    gpus = (0, UNIT, UNIT // 2, 2 * UNIT)[kind % 4]
    labels = (("zone", str(kind % TYPES)),) if kind % 3 == 0 and kind % 4 == 0 else ()
    demand = (("CPU", (1 + kind % 3) * UNIT), *((("GPU", gpus),) if gpus else ()))
    return wanted_of(Choice(demand, Placement(labels=labels)), DEMANDS // KINDS, cluster.device_resources)


def arrival_s() -> tuple[float, float]:
    """The medians of the time from a demand to its task's first line: on a node that has to come, and on one here."""
    types = {f"t{number}": {"resources": {f"r{number}": 2}, "idle_s": 600} for number in range(PAIRS)}
    nbaccel.init(num_cpus=1, resources={"here": 100}, node_types=types)
    try:
        start = nbaccel.remote(max_calls=1)(_started)
        nbaccel.get(start.options(resources={"here": 1}).remote())

        def delay(name: str) -> float:
            asked = time.time()
            return float(nbaccel.get(start.options(resources={name: 1}).remote())) - asked

        coming, here = [], []
        for number in range(PAIRS):
            coming.append(delay(f"r{number}"))
            here.append(delay("here"))
        return statistics.median(coming), statistics.median(here)
    finally:
        nbaccel.shutdown()


def _started() -> float:
    return time.time()


def wakes_of_idle_nodes() -> tuple[int, float]:
    """How often the head's one thread wakes in LOOK_S with 1,000 idle nodes, and how long they took to come."""
    nbaccel.init(num_cpus=1, node_types={"idle": {"min": IDLE_NODES, "max": IDLE_NODES}})
    try:
        pid, began = nbaccel.snapshot().runtime.pid, time.perf_counter()
        while autoscaler.status().arriving or len(autoscaler.status().nodes) <= IDLE_NODES:
            time.sleep(0.2)
        came_s = time.perf_counter() - began
        time.sleep(7)  # what follows a start, such as the end of idle workers, is over
        before = _switches(pid)
        time.sleep(LOOK_S)
        return _switches(pid) - before, came_s
    finally:
        nbaccel.shutdown()


def _switches(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("voluntary_ctxt")).split()[1])


def manifest_s() -> float:
    """The median time to write and check a RayCluster with ten groups in this process."""
    took = []
    for _ in range(PAIRS):
        began = time.perf_counter()
        plan = ClusterPlan("c", tuple(read_group(each.partition("=")[2], gpus=True) for each in _groups()))
        assert not check_documents(read_documents(write_document(make_manifest(plan)))).faults
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def commands_s() -> tuple[float, float]:
    """The medians for two commands that write and check the same, each a process of its own: by the clock, on a CPU."""
    clock, cpu = [], []
    with tempfile.TemporaryDirectory() as folder:
        _both_commands(folder)  # compiles the modules, as pip does
        for _ in range(PAIRS):
            began, before = time.perf_counter(), _cpu_of_children()
            _both_commands(folder)
            clock.append(time.perf_counter() - began)
            cpu.append(_cpu_of_children() - before)
    return statistics.median(clock), statistics.median(cpu)


def _groups() -> list[str]:
    return [f"--gpu-group=name=g{number},gpus=1,cpu=3,memory=50Gi,max=5,accelerator=A100" for number in range(TYPES)]


def _both_commands(compiled: str) -> None:
    written = _command(compiled, "render", "c", *_groups())
    _command(compiled, "check", "-", text=written)


def _command(compiled: str, *arguments: str, text: str = "") -> str:
    environ = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", ENTRY, "kuberay", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=environ).stdout


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def preflight_s() -> tuple[float, float]:
    """How long port, token and versions of a Ray cluster here take to be judged: the first time, and the median."""
    with tempfile.TemporaryDirectory() as folder:
        plan = HeadPlan(port=0, offered={"num_cpus": 1, "num_gpus": 0}, token_file=f"{folder}/token")
        record = ray_head.start_head(plan, with_us=True)
        try:
            ray_preflight.show_token_of(record.token_file)
            importlib.import_module("ray")
            took = []
            for _ in range(PAIRS):
                began = time.perf_counter()
                said = list(joining.judge_address(record.address, record.token_file))
                took.append(time.perf_counter() - began)
                assert "this machine can join it" in said[-1]
            return took[0], statistics.median(took)
        finally:
            node_records.end(record, force=True)


def main() -> None:
    print(f"a decision, {TYPES} types, {NODES} nodes, {DEMANDS} demands   {decision_s() * 1e3:6.1f} ms  (50 ms)")
    clock, cpu = commands_s()
    print(f"a manifest of {TYPES} groups, written and checked            {manifest_s() * 1e3:6.1f} ms  (300 ms)")
    print(f"                        by two commands                  {clock * 1e3:6.1f} ms  (300 ms)")
    print(f"                        by two commands, of a CPU        {cpu * 1e3:6.1f} ms")
    coming, here = arrival_s()
    print(f"from a demand to its task on a node that has to come     {coming * 1e3:6.1f} ms  (20 ms)")
    print(f"                          on a node that is here         {here * 1e3:6.1f} ms")
    wakes, came_s = wakes_of_idle_nodes()
    print(f"{IDLE_NODES} idle nodes wake the head in {LOOK_S:g} s              {wakes:6d} times")
    print(f"{IDLE_NODES} nodes that come at once are here after        {came_s:6.1f} s")
    if ray_head.is_installed("ray"):
        first, usual = preflight_s()
        print(f"whether a Ray cluster can be joined, the first time      {first * 1e3:6.1f} ms  (50 ms)")
        print(f"                                     later               {usual * 1e3:6.1f} ms")


if __name__ == "__main__":
    main()
