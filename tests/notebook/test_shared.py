"""Two notebooks, one head: the second joins what the first started, both see each other's tasks, neither ends it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.census import Place
from tests.notebook.kernels import Kernel


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.command("stop", "--all", "--force")
    place.assert_nothing_left()
    place.clear()


@pytest.fixture
def kernels(place: Place) -> Iterator[tuple[Kernel, Kernel]]:
    names = ("TMPDIR", "JUPYTER_RUNTIME_DIR", "NBACCEL_LEASE_DIR")
    environ = {name: place.environ[name] for name in names}
    both = Kernel(**environ, JPY_SESSION_NAME="first.ipynb"), Kernel(**environ, JPY_SESSION_NAME="second.ipynb")
    yield both
    for kernel in both:
        kernel.close()


def test_the_second_notebook_joins_the_head_of_the_first(kernels: tuple[Kernel, Kernel], place: Place) -> None:
    first, second = kernels
    started = first.run("%load_ext nbaccel\n%accel_init shared=true num_gpus=2").text
    assert "Started a shared cluster" in started
    assert "join" not in started.replace("other notebooks join it", "")  # who creates it, joins nothing
    first.run(
        "import nbaccel as ray\n\n@ray.remote(num_gpus=1)\nclass Holder:\n    def ready(self):\n        return True\n\n"
        "holder = Holder.remote()\nray.get(holder.ready.remote())"
    )
    joined = second.run("%load_ext nbaccel\n%accel_init shared=true").text
    pid = re.search(r"cluster, pid (\d+)", started)
    assert pid is not None
    assert f"Joined the shared cluster of pid {pid[1]}" in joined
    assert "GPU 0 ● Holder" in joined
    assert second.run("import nbaccel as ray\nray.available_resources()['GPU']").shown[0]["text/plain"] == "1.0"
    assert "it runs on" in first.run("%accel_shutdown").text
    second.run("import time\nwhile ray.available_resources().get('GPU') != 2.0: time.sleep(0.01)")
    assert f"pid {pid[1]}" in place.command("status").stdout


def test_a_notebook_of_its_own_is_left_alone_by_nbaccel_stop(kernels: tuple[Kernel, Kernel], place: Place) -> None:
    first, _ = kernels
    first.run("%load_ext nbaccel\n%accel_init num_gpus=1")
    assert "Left alone" in place.command("stop").stdout
    assert "first.ipynb" in place.command("stop").stdout
    assert "GPU 0" in first.run("%accel_status").text


RUNS_ONE = (
    "import nbaccel as ray, time\n@ray.remote(num_cpus=0, num_gpus=0.25)\ndef {name}(): time.sleep(600)\n"
    "{name}_ref = {name}.remote()"
)


@pytest.fixture
def busy(kernels: tuple[Kernel, Kernel]) -> tuple[Kernel, Kernel]:
    """Two notebooks of one head, each with a task of its cell 2 that holds a part of the only GPU."""
    first, second = kernels
    first.run("%load_ext nbaccel\n%accel_init shared=true num_gpus=1 num_cpus=2")
    second.run("%load_ext nbaccel\n%accel_init shared=true")
    for kernel, name in ((first, "mine"), (second, "strange")):
        kernel.run(RUNS_ONE.format(name=name))
        shown = kernel.run(
            f"while not any(row.name == '{name}' and row.state == 'RUNNING' for row in ray.snapshot().tasks):\n"
            "    time.sleep(0.02)"
        )
        assert shown.error is None
    return kernels


def _tasks(kernel: Kernel, line: str = "") -> dict[str, str]:
    """Of each task its row."""
    rows = re.findall(r"^(\w{4}-\d+)\s+(\w+)\s+(.*)$", kernel.run(f"%accel_tasks {line}").text, re.M)
    return {name: f"{id} {rest}" for id, name, rest in rows}


def test_a_cell_of_another_notebook_is_named_with_its_notebook(busy: tuple[Kernel, Kernel], place: Place) -> None:
    first, second = busy
    rows = _tasks(first)
    assert " [2] line 4 " in rows["mine"] and ".ipynb" not in rows["mine"]
    assert "second.ipynb [2] line 4" in rows["strange"]
    devices = first.run("%accel_devices").text
    assert re.search(r"mine 0.25 \(pid \d+, cell \[2\] line 4[,)]", devices)
    assert re.search(r"strange 0.25 \(pid \d+, cell \[2\] line 4 of second.ipynb", devices)
    assert "cell [2] line 4 of first.ipynb" in second.run("%accel_status").text
    status = place.command("devices").stdout
    assert "of first.ipynb" in status and "of second.ipynb" in status  # a terminal is nobody's notebook
    first.run("waits = mine.options(num_gpus=1).remote()")
    why = first.run("%accel_why waits").text
    assert "cell [2] line 4 of first.ipynb" in why and "cell [2] line 4 of second.ipynb" in why


def test_a_cell_and_cancel_mean_ones_own_tasks_and_those_of_others_only_when_told(busy: tuple[Kernel, Kernel]) -> None:
    first, second = busy
    assert set(_tasks(first, "cell=2")) == {"mine"}
    assert set(_tasks(second, "cell=2 state=running")) == {"strange"}
    told = first.run("%accel_cancel cell=2 --force").text
    assert "1 task told to end. 1 task of other notebooks left alone: --everyone ends them too." in told
    assert first.run("ray.get(mine_ref)").error is not None
    assert second.run("ray.wait([strange_ref], timeout=0)[0]").text.strip().endswith("[]")
    strange = _tasks(first)["strange"].split()[0]
    refused = first.run(f"%accel_cancel {strange}").stderr
    assert f"strange ({strange}) belongs to second.ipynb cell [2] line 4. Nothing was cancelled" in refused
    assert "add --everyone" in refused and "Traceback" not in refused
    assert "belongs to second.ipynb" in first.run("%accel_cancel strange").stderr
    assert "1 task told to end." in first.run("%accel_cancel --all --everyone --force").text
    ended = second.run("ray.get(strange_ref)").error
    assert ended is not None and ended["ename"] == "TaskCancelledError"
