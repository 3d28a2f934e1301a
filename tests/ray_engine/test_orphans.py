"""A notebook that is killed leaves nothing of its Ray, nor does one that ends well."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from nbaccel.ray_engine import orphans
from tests.census import Place
from tests.rig import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(400)]
pytest.importorskip("ray")
DEADLINE_S = 50.0  # Ray's agents stay for a minute by themselves
PROGRAM = """
import sys, nbaccel
nbaccel.init(engine="ray", num_cpus=1, log_to_driver=False)
assert nbaccel.get(nbaccel.remote(lambda: 1).remote()) == 1
print("there it is", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.clear()


@pytest.mark.parametrize("end", ["killed", "ends"])
def test_nothing_is_left_of_a_ray_whose_notebook(end: str, place: Place) -> None:
    program = place.start(PROGRAM, RAY_USAGE_STATS_ENABLED="0")
    assert program.stdout is not None
    said = []
    while "there it is\n" not in said:
        said.append(program.stdout.readline())
        assert said[-1], f"the program ended: {program.communicate()}"
    tree: dict[int, str] = {}

    def is_complete() -> bool:
        tree.update({pid: orphans.command_of(pid).decode() for pid in descendants(program.pid)})
        names = ("raylet/raylet", "DashboardAgent", "RuntimeEnvAgent", "orphans.py")
        return all(any(name in command for command in tree.values()) for name in names)

    wait_until(is_complete, "all of Ray's processes")
    known = [(pid, orphans.started_at(pid)) for pid in tree]
    if end == "killed":
        program.kill()
    program.communicate("\n" if end == "ends" else None, timeout=120)
    wait_until(lambda: not any(map(orphans.lives, known)), "the end of Ray's processes", DEADLINE_S)


def descendants(pid: int) -> list[int]:
    children = orphans.children_of(pid)
    return [*children, *(each for child in children for each in descendants(child))]


def test_agents_are_ended_though_the_raylet_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    driver, raylet, agent = processes = [subprocess.Popen(["sleep", "600"]) for _ in range(3)]
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        if now > 20 and raylet.poll() is None:
            raylet.kill()
            raylet.wait()

    monkeypatch.setattr(orphans, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    words = [str(part) for each in processes for part in (each.pid, orphans.started_at(each.pid))]
    driver.kill()
    try:
        orphans.main(words)
        assert raylet.poll() is not None
        agent.wait(90)
    finally:
        for each in processes:
            each.kill()
            each.wait()


def test_a_process_whose_name_is_no_text_is_seen_like_any_other() -> None:
    rename = "import sys; open('/proc/self/comm', 'wb').write(b'\\xd1'); print('renamed', flush=True); sys.stdin.read()"
    program = subprocess.Popen([sys.executable, "-c", rename], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout is not None
    assert program.stdout.readline() == b"renamed\n"
    assert orphans.started_at(program.pid) > 0
    program.communicate()
    assert orphans.started_at(program.pid) == 0
