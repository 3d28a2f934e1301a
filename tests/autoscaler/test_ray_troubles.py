"""Bad days of growing on Ray's autoscaler: nodes that fail, hang, die while a task starts there, or have to stay."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("ray")

from tests.autoscaler.scaling_ray import ScalingRay, Watcher, node_type, scaling_ray
from tests.autoscaler.troubled_provider import QUOTA, RELEASE
from tests.autoscaler.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.ray, pytest.mark.timeout(600)]

DEADLINE_S = 120.0
PROVIDER = "tests.autoscaler.troubled_provider.TroubledProvider"
TYPES = {
    "kept": node_type(1, least=1, kept=1),
    "gpu": node_type(2, GPU=1),
    "broken": node_type(1, broken=1),
    "slow": node_type(1, slow=1),
}
# The worker of the first node tells the pid of its raylet and never becomes one; that of the next node does.
WRAPPER = """#!/bin/sh
[ -e {folder}/go ] && exec {python} "$@"
echo $PPID > {folder}/raylet.new
mv {folder}/raylet.new {folder}/raylet
while kill -0 $PPID 2> /dev/null; do sleep 0.1; done
"""
DIES = """
import os, pathlib, signal, sys, time
import nbaccel as ray

ray.init(log_to_driver=False)
folder = pathlib.Path(sys.argv[0]).parent

@ray.remote(num_gpus=1, max_retries=0, runtime_env={"py_executable": str(folder / "python.sh")})
def where():
    return ray.get_runtime_context().get_node_id()

ref = where.remote()
while not (folder / "raylet").exists():
    time.sleep(0.05)
first = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
(folder / "go").touch()
os.kill(int((folder / "raylet").read_text()), signal.SIGKILL)
print("elsewhere" if ray.get(ref) not in first else "there", flush=True)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ScalingRay]:
    with scaling_ray(TYPES, PROVIDER) as started:
        os.mkfifo(started.folder / RELEASE)
        yield started


@pytest.fixture(scope="module")
def watcher(cluster: ScalingRay) -> Iterator[Watcher]:
    watcher = Watcher(cluster)
    yield watcher
    watcher.end()


def here(watcher: Watcher, kind: str) -> list[str]:
    rows = f"[row.node_id for row in autoscaler.status().nodes if row.node_type == {kind!r}]"
    return list(watcher.ask(rows))


def test_the_least_number_of_nodes_comes_unasked_and_stays_while_an_idle_node_leaves(watcher: Watcher) -> None:
    until(lambda: len(here(watcher, "kept")) == 1, "the node that is always there comes", DEADLINE_S)
    stays = here(watcher, "kept")
    watcher.ask("(hold := autoscaler.held(num_gpus=1)).__enter__() and None")
    until(lambda: len(here(watcher, "gpu")) == 1, "another one comes", DEADLINE_S)
    watcher.ask("hold.__exit__(None, None, None)")
    until(lambda: here(watcher, "gpu") == [], "the other one leaves", DEADLINE_S)
    assert here(watcher, "kept") == stays  # it has been idle for longer


def test_a_node_that_its_provider_refuses_is_told_and_keeps_no_other_from_coming(watcher: Watcher) -> None:
    watcher.ask('(hold := autoscaler.held(bundles=[{"broken": 1}, {"GPU": 1}])).__enter__() and None')
    reasons = "[row.why for row in autoscaler.status().failed if row.name == 'broken']"
    until(lambda: any(QUOTA in why for why in watcher.ask(reasons)), "the refusal is told", DEADLINE_S)
    until(lambda: len(here(watcher, "gpu")) == 1, "the node of another type comes", DEADLINE_S)
    assert QUOTA in watcher.ask('str(nbaccel.probe(num_cpus=0, resources={"broken": 1}))')
    assert QUOTA in watcher.ask("tables.as_text(node_tables.nodes(nbaccel.snapshot()))")
    first = "[row.failures for row in autoscaler.status().failed if row.name == 'broken' and row.failed_at]"
    until(lambda: watcher.ask(first)[0] > 1, "a second refusal is counted", DEADLINE_S)
    watcher.ask("hold.__exit__(None, None, None)")


def test_a_provider_that_hangs_is_told_keeps_no_other_from_coming_and_may_bring_its_node_late(
    cluster: ScalingRay, watcher: Watcher
) -> None:
    watcher.ask('(hold := autoscaler.held(bundles=[{"slow": 1}, {"GPU": 1}])).__enter__() and None')
    arriving = "[row.node_type for row in autoscaler.status().arriving]"
    until(lambda: "slow" in watcher.ask(arriving), "the node is on its way", DEADLINE_S)
    until(lambda: len(here(watcher, "gpu")) == 1, "the node of another type comes", DEADLINE_S)
    probed = watcher.ask('str(nbaccel.probe(num_cpus=0, resources={"slow": 1}))')
    assert "a node of the kind slow was asked for" in probed
    (cluster.folder / RELEASE).write_bytes(b"")
    until(lambda: len(here(watcher, "slow")) == 1, "it comes late", DEADLINE_S)
    watcher.ask("hold.__exit__(None, None, None)")


def test_a_task_whose_node_dies_while_it_starts_runs_on_the_next_node_and_spends_no_retry(
    cluster: ScalingRay, watcher: Watcher
) -> None:
    wrapper = cluster.folder / "python.sh"
    wrapper.write_text(WRAPPER.format(folder=cluster.folder, python=sys.executable))
    wrapper.chmod(0o700)
    with cluster.start(DIES, "dies.py") as program:
        assert program.stdout is not None
        said = list(iter(program.stdout.readline, ""))  # until it ends; Ray says that the raylet was killed
    assert "elsewhere\n" in said
