"""Ray's own autoscaler brings two GPU nodes to a rehearsed RayCluster, and lets them go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.census import Place
from tests.machines.kuberay.rehearsal.manifests import needs_openssl

pytest.importorskip("ray")

pytestmark = [pytest.mark.real, pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600), needs_openssl]

# Two actors that each hold a GPU of their own: neither ends before both are there.
TWO_GPUS = """
import sys
import nbaccel as ray

ray.init(engine="ray", address=sys.argv[1], token_file=sys.argv[2])

@ray.remote(num_gpus=1, accelerator_type="A100")
class OnGpu:
    def where(self):
        context = ray.get_runtime_context()
        return context.get_node_id(), context.get_accelerator_ids()["GPU"]

actors = [OnGpu.remote() for _ in range(2)]
nodes, ids = zip(*ray.get([actor.where.remote() for actor in actors]))
print("on", len(set(nodes)), "nodes with", [*ids])
"""


@pytest.fixture
def place() -> Place:
    return Place()


def test_two_gpu_nodes_come_and_go(place: Place, tmp_path: Path) -> None:
    file, program = tmp_path / "c.yaml", tmp_path / "program.py"
    program.write_text(TWO_GPUS)
    group = "gpus=1,cpu=1,memory=1Gi,min=0,max=2,accelerator=A100,idle=2"
    assert place.command("kuberay", "render", "c", "--gpu-group", group, "-o", str(file)).returncode == 0
    command = [sys.executable, "-u", "-m", "nbaccel", "kuberay", "rehearse", str(file)]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        with subprocess.Popen(command, env=place.environ, text=True, **output) as played:
            assert played.stdout is not None
            told = [next(line for line in played.stdout if "try it" in line)]
            address, token_file = [word.partition("=")[2] for word in told[0].split() if "=" in word]
            driver = subprocess.run(
                [sys.executable, str(program), address, token_file],
                env=place.environ,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert "on 2 nodes with [['0'], ['0']]" in driver.stdout, driver.stdout + driver.stderr
            while not (came := count("is here", told)) or count("has left", told) < came:
                told.append(next(played.stdout))
            played.terminate()
            told += [*played.stdout]
        assert played.returncode == 0, told
        patches = [line for line in told if "PATCH" in line]
        assert "PATCH gpu: replicas 0 -> " in patches[0] and "-> 0, without c-gpu-worker-" in patches[-1], told
        assert came >= 2 and told[-1] == "The rehearsal has ended.\n", told
        place.assert_nothing_left()
    finally:
        place.clear()


def count(words: str, lines: list[str]) -> int:
    return sum(words in line for line in lines)
