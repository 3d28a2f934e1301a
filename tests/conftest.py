"""What all tests share: who runs beside whom, and a hand-made snapshot of a busy machine with two GPUs."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from nbaccel import engine
from nbaccel.views.snapshot import Alert, DeviceMetrics, DeviceRow, Holder, NodeRow, Runtime, Snapshot, TaskRow
from tests import core, extras
from tests.accelerators.fake_nvml import FakeNvml, build
from tests.census import Place
from tests.engines.skips import SKIPS
from tests.heads import inside

# A test that does not start Ray, and calls it all the same, would start one, or look for one that has gone.
os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"

# A shell script's `&` lets its programs ignore Ctrl-C, and what they start; the tests of Ctrl-C need one that does not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples are the same in every run, and are judged by what they give: not by how long a busy machine takes over them.
settings.register_profile(
    "same in every run", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same in every run")

NOW = 1_700_000_000.0
PATH = os.environ["PATH"]
HERE = Path(__file__).parent
# The longest lanes, in this order.
ENGINES_ON_RAY, BROWSER, PANEL_IN_BROWSER = "engines on ray", "browser", "panel in a browser"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several processes, the tests of a lane run in one of them, since they share what they start; the longest
    lanes come first.
    """
    if unstable := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"Ids with an address differ from process to process; give ids=: {unstable[:3]}")
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_lane(item)))
        extras.mark(item)
        core.mark(item, str(item.path.relative_to(HERE)))
    with_ray = {_lane(item) for item in items if item.get_closest_marker("ray") is not None}
    items.sort(key=lambda item: _place(_lane(item), with_ray))


def pytest_collection_finish() -> None:
    """What has been imported by now stays. Hundreds of tests let the garbage collector run, which then need not look
    through 600,000 objects of torch, pandas and Ray each time: a third of a second of CPU time.

    What the imports hinted is forgotten: the head of the next test would load torch beside it.
    """
    engine._expected_imports.clear()
    gc.collect()
    gc.freeze()


def _lane(item: pytest.Item) -> str:
    """A file, the browser's tests of the panel or of the rest, or the contract on Ray or on the other engines. On Ray
    it is one lane: two Ray clusters and a browser beside one another took minutes to start, and tests found what Ray
    does then.
    """
    file = item.path.relative_to(HERE)
    if file.parts[0] == "engines":
        return "engines" if item.get_closest_marker("ray") is None else ENGINES_ON_RAY
    if file.parts[0] != "browser":
        return str(file)
    return PANEL_IN_BROWSER if file.name.startswith("test_panel") else BROWSER


def _place(lane: str, with_ray: set[str]) -> int:
    first = (ENGINES_ON_RAY, BROWSER, PANEL_IN_BROWSER)
    return first.index(lane) if lane in first else len(first) + (lane not in with_ray)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    return extras.named((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    return extras.named((yield), item)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The length of the list of skips, so that a growing one is seen."""
    terminalreporter.write_line(f"engines: {len(SKIPS)} promises are not kept by every engine (tests/engines/skips.py)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """A test that leaves another PATH fails itself, and not one that needs a program later."""
    yield
    left = os.environ.get("PATH")
    os.environ["PATH"] = PATH
    assert left == PATH


@pytest.fixture(scope="session", autouse=True)
def folder_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Made before any test changes where temporary files go."""
    tmp_path_factory.getbasetemp()


@pytest.fixture(scope="session", autouse=True)
def own_ipython(folder_of_this_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The shells and kernels of tests leave the user's own IPython alone, and each other: all shells that share a
    history write it into one database, and one that stands still while it writes fails the others.
    """
    folder = tmp_path_factory.mktemp("ipython")
    (folder / "profile_default").mkdir()
    # For kernels, of which several run beside each other; a shell in a process of tests has a file here.
    (folder / "profile_default" / "ipython_config.py").write_text('c.HistoryManager.hist_file = ":memory:"\n')
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("IPYTHONDIR", str(folder))
        yield


@pytest.fixture
def place() -> Iterator[Place]:
    """For programs that a test runs."""
    place = Place()
    yield place
    try:
        place.assert_nothing_left()
    finally:
        place.clear()


@pytest.fixture
def own_head() -> Iterator[Place]:
    """For a test that calls init() itself."""
    with inside(Place()) as place:
        yield place


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An NVML of our own, compiled once."""
    library = build(tmp_path_factory.mktemp("nvml"))
    if library is None:
        pytest.skip("there is no C compiler (cc, gcc or clang) to build the NVML of these tests with")
    return library


@pytest.fixture
def nvml(nvml_library: Path, tmp_path: Path) -> FakeNvml:
    """An NVML without cards, to be furnished by the test."""
    return FakeNvml(nvml_library, tmp_path)


@pytest.fixture
def busy_snapshot() -> Snapshot:
    """GPU 0 is held by an actor, GPU 1 is shared by two halves, one task waits, one alert is raised."""
    gpu = DeviceRow("n1", "GPU", 0, "0", "nvidia", "NVIDIA GPU", "logical", free=0.0)
    gpu.holders = [Holder("GPUActor", 1.0, pid=52420, cell="[3] line 14", since=NOW - 8, actor_id="a1")]
    half = DeviceRow("n1", "GPU", 1, "1", "nvidia", "NVIDIA GPU", "real", name="NVIDIA A100", free=0.5)
    half.holders = [Holder("train", 0.25, pid=11, since=NOW - 192), Holder("evaluate", 0.25, pid=12)]
    half.metrics = DeviceMetrics(83.0, 12 << 30, 80 << 30)
    tasks = [
        TaskRow("t1", "train", "task", "RUNNING", demand={"CPU": 1, "GPU": 0.25}, device_ids={"GPU": ["1"]}, pid=11),
        TaskRow("t2", "infer", "task", "PENDING_NODE_ASSIGNMENT", demand={"GPU": 1}, why="waits for 1 GPU; both held"),
    ]
    return Snapshot(
        Runtime("local", "0.1.0", "3.11.7", pid=4711),
        time=NOW,
        nodes=[NodeRow("n1", "localhost", totals={"CPU": 2, "GPU": 2}, available={"CPU": 1, "GPU": 0.5})],
        devices=[gpu, half],
        tasks=tasks,
        alerts=[Alert("leak", "GPU 1 keeps 9 GiB that no task holds", NOW)],
        counts={"RUNNING": 2, "PENDING_NODE_ASSIGNMENT": 1, "FINISHED": 40},
    )
