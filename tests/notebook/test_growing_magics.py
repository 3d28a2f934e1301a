"""`%accel_nodes` and `%accel_scale` on a local head with node types."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbaccel import autoscaler
from tests.autoscaler.waiting import until
from tests.notebook.shells import shell_with

Run = Callable[[str], str]
TYPES = {"gpu": {"num_gpus": 1, "max": 2, "idle_s": 0.2}, "never": {"num_gpus": 8, "fails": "no quota"}}


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    with shell_with(num_cpus=1, node_types=TYPES) as shell:
        yield shell


@pytest.fixture
def run(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(code: str) -> str:
        shell.run_cell(code, store_history=True)
        said = capsys.readouterr()
        return said.out + said.err

    return run


def here() -> int:
    return sum(row.node_type == "gpu" for row in autoscaler.status().nodes)


def test_scale_asks_for_room_for_this_notebook_until_it_says_zero(run: Run) -> None:
    assert "room for 2 GPU" in run("%accel_scale num_gpus=2")
    until(lambda: here() == 2, "two nodes come")
    shown = run("%accel_nodes")
    assert "gpu-1" in shown and "gpu-2" in shown and "2 GPU" in shown
    assert "asks for no room" in run("%accel_scale 0")
    assert autoscaler.status().requests == []
    until(lambda: here() == 0, "both leave")


def test_a_type_whose_node_did_not_come_says_why(run: Run) -> None:
    with autoscaler.held(bundles=[{"GPU": 8}]):
        until(lambda: bool(autoscaler.status().failed), "the node fails")
        assert "not coming: no quota" in run("%accel_nodes")


@pytest.mark.parametrize("line", ["", "many", "0 num_gpus=1"])
def test_a_line_that_says_nothing_to_ask_for_is_answered_with_an_example(run: Run, line: str) -> None:
    assert "%accel_scale num_gpus=2" in run(f"%accel_scale {line}")
    assert autoscaler.status().requests == []
