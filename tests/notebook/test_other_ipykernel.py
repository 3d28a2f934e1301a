"""The same with the other ipykernel in use: 6.29 and 7 treat the output of threads differently, nbaccel does not.

The other version is installed beside the environment for this run, without its dependencies, which both share.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import ipykernel
import pytest

from tests.notebook.kernels import Kernel, gone
from tests.notebook.test_kernel import START
from tests.notebook.test_kernel import (
    test_a_cell_runs_as_a_task_and_its_result_comes_back as _cells_run_as_tasks,
)
from tests.notebook.test_kernel import (
    test_a_line_of_the_first_cell_appears_under_it_while_the_second_runs as _lines_find_their_cell,
)
from tests.notebook.test_kernel import test_an_error_shows_the_users_line_and_where_it_ran as _errors_are_readable
from tests.notebook.test_kernel import test_shutdown_leaves_no_process as _nothing_is_left

OTHER = "7.1.0" if ipykernel.version_info[0] < 7 else "6.29.5"


@pytest.fixture(scope="module")
def other_ipykernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("ipykernel")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
    done = subprocess.run([*command, f"ipykernel=={OTHER}"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"ipykernel {OTHER} cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    return target


@pytest.fixture(scope="module")
def reused(other_ipykernel: Path) -> Iterator[Kernel]:
    kernel = Kernel(PYTHONPATH=str(other_ipykernel))
    yield kernel
    kernel.close()
    assert gone(kernel.token) == {}


@pytest.fixture
def kernel(reused: Kernel) -> Iterator[Kernel]:
    yield reused
    reused.begin_again()


def test_it_is_the_other_version_that_runs(kernel: Kernel) -> None:
    assert kernel.run("import ipykernel; ipykernel.__version__").shown[0]["text/plain"] == repr(OTHER)
    assert "GPU 1" in kernel.run(START).text


def test_lines_find_their_cell(kernel: Kernel) -> None:
    _lines_find_their_cell(kernel)


def test_cells_run_as_tasks(kernel: Kernel) -> None:
    _cells_run_as_tasks(kernel)


def test_errors_are_readable(kernel: Kernel) -> None:
    _errors_are_readable(kernel)


def test_nothing_is_left(kernel: Kernel) -> None:
    _nothing_is_left(kernel)
