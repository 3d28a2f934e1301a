"""The runner of the tests: what fails with a real Ray or browser is run once more, alone; nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
BEGINS = """
import os, pytest
from pathlib import Path

def first_time(name):
    seen = Path(__file__).parent / name
    again = seen.exists()
    seen.touch()
    return not again
"""
PASSES = """
@pytest.mark.parametrize("number", range(4))
def test_passes(number): pass
"""
FLAKY_RAY = """
@pytest.mark.ray
def test_with_ray(): assert not first_time("ray"), "Ray did not start"
"""
FLAKY = """
def test_of_our_own(): assert not first_time("own")
"""
LOST_BROWSER = """
@pytest.mark.browser
def test_in_a_browser():
    if first_time("browser"): os._exit(1)
"""
BROKEN_RAY = """
@pytest.mark.ray
def test_broken(): assert False, "always"
"""
CONFIG = """[pytest]
markers =
    ray: of Ray
    browser: of a browser
"""


@pytest.fixture
def result(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[int, list[str]]:
    """The exit status of a run of these tests in a process that may be lost, and the lines that it printed."""
    (tmp_path / "test_here.py").write_text(BEGINS + "".join(request.param))
    (tmp_path / "pytest.ini").write_text(CONFIG)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "NBACCEL_TEST"))}
    environ["PYTHONPATH"] = str(ROOT)
    environ["PYTEST_ADDOPTS"] = f"-c {tmp_path / 'pytest.ini'} --rootdir={tmp_path}"
    run = [sys.executable, "-m", "tools.run_tests", "-n1", "--dist=loadgroup", "--max-worker-restart=0", str(tmp_path)]
    done = subprocess.run(run, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    return done.returncode, done.stdout.splitlines()


def chosen(*programs: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("result", [programs], indirect=True, ids=[""])


@chosen(PASSES, FLAKY_RAY)
def test_a_test_with_ray_that_passes_alone_is_listed_as_flaky(result: tuple[int, list[str]]) -> None:
    status, lines = result
    assert status == 0
    assert lines[-2] == "5 passed, 0 failed, 0 skipped"
    assert lines[-1].startswith("flaky: test_here.py::test_with_ray, first failure: ")


@chosen(PASSES, LOST_BROWSER)
def test_a_lost_process_ends_neither_the_run_nor_the_second_chance_of_its_test(result: tuple[int, list[str]]) -> None:
    status, lines = result
    assert status == 0
    assert lines[-2] == "5 passed, 0 failed, 0 skipped"
    assert lines[-1].startswith("flaky: test_here.py::test_in_a_browser, first failure: ")
    assert "crashed while running" in lines[-1]


@chosen(PASSES, FLAKY)
def test_a_test_of_our_own_engine_gets_no_second_chance(result: tuple[int, list[str]]) -> None:
    status, lines = result
    assert status == 1
    assert lines[-1] == "4 passed, 1 failed, 0 skipped"
    assert lines[-2].startswith("failed: test_here.py::test_of_our_own: ")


@chosen(PASSES, BROKEN_RAY)
def test_a_test_with_ray_that_fails_twice_has_failed(result: tuple[int, list[str]]) -> None:
    status, lines = result
    assert status == 1
    assert lines[-1] == "4 passed, 1 failed, 0 skipped"
    assert not [line for line in lines if line.startswith("flaky")]
