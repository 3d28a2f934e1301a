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
    place.command("stop", "--force")
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
    first.run(
        "import nbaccel as ray\n\n@ray.remote(num_gpus=1)\nclass Holder:\n    def ready(self):\n        return True\n\n"
        "holder = Holder.remote()\nray.get(holder.ready.remote())"
    )
    joined = second.run("%load_ext nbaccel\n%accel_init shared=true").text
    pid = re.search(r"cluster, pid (\d+)", started)
    assert pid is not None
    assert f"Joined the shared cluster of pid {pid[1]}" in joined
    assert re.search(r"GPU 0 .*● held .*Holder", joined)
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
