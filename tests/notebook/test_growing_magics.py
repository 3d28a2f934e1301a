"""`%accel_nodes` and `%accel_scale` on a local head with node types."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

import nbaccel
from nbaccel import autoscaler
from nbaccel.views import node_tables
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
    until(lambda: run("%accel_nodes").count("holds room") == 2, "both are idle")
    assert "leaves in" not in run("%accel_nodes")
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


def test_a_dry_run_says_what_would_come_and_asks_for_nothing(run: Run) -> None:
    said = run("%accel_scale num_gpus=3 --dry-run")
    assert "2 nodes of type gpu would come (1 CPU, 1 GPU each)." in said
    assert "Nothing was asked for." in said
    assert "No node and no type of node can meet 1 TPU" in "\n".join(
        node_tables.expected(autoscaler.expected_growth(bundles=[{"TPU": 1}]), nbaccel.engine.current().snapshot())
    )
    assert "what is here or on its way has the room" in run("%accel_scale num_cpus=1 --dry-run")
    assert autoscaler.status().requests == [] and autoscaler.status().arriving == []


def test_a_node_that_only_an_output_keeps_is_named_by_it_and_is_let_go_by_a_move(run: Run) -> None:
    run("import nbaccel, numpy\n@nbaccel.remote(num_gpus=1)\ndef big(): return numpy.ones(1 << 20)")
    run("weights = [big.remote()]\nnbaccel.wait(weights, fetch_local=False)")
    until(lambda: any(node.kept_objects for node in autoscaler.status().nodes), "the node is kept")
    (kept,) = [node for node in autoscaler.status().nodes if node.kept_objects]
    shown = run("%accel_nodes")
    assert f"{kept.name} cannot leave: only it has weights[0]." in shown
    assert f"`%accel_nodes move={kept.name}` lets it go." in shown
    assert "1 object of" in run(f"%accel_nodes move={kept.name}")
    until(lambda: here() == 0, "it leaves")
    assert run("float(nbaccel.get(weights[0]).sum())").count("1048576.0") == 1
    hours = next(kind.used_s for kind in autoscaler.status().node_types if kind.name == "gpu")
    assert hours > 0 and "Node hours" in run("%accel_nodes")


def test_a_move_from_a_node_that_is_not_here_names_those_that_are(run: Run) -> None:
    assert "There is no node 'gpu-99' here. The nodes are: " in run("%accel_nodes move=gpu-99")
