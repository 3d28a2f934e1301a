"""The command line says what it did, in sentences, with an exit code that a script can read."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from nbaccel import cli
from nbaccel.machines.node_records import NodeRecord
from nbaccel.views.snapshot import PublishedRow, Snapshot
from nbaccel.views.task_filter import FoundTasks, TaskFilter, find
from tests.census import Place
from tests.rig import DEADLINE_S


@dataclass
class FakeMachine:
    """A machine with heads that are only records."""

    snapshot: Snapshot
    records: list[Any] = field(default_factory=list)
    started: list[dict[str, Any]] = field(default_factory=list)
    stopped: list[tuple[int, bool]] = field(default_factory=list)
    dead: set[int] = field(default_factory=set)
    deaf: set[int] = field(default_factory=set)
    refusal: Exception | None = None
    interrupted: bool = False
    ray_nodes: list[NodeRecord] = field(default_factory=list)
    ended_ray_nodes: list[tuple[int, bool]] = field(default_factory=list)

    def start(self, **options: Any) -> Any:
        if self.refusal:
            raise self.refusal
        self.started.append(options)
        return self.add(4711)

    def add(self, pid: int, *, shared: bool = True, title: str = "") -> Any:
        session = f"{pid}ab"
        self.records.append(SimpleNamespace(pid=pid, shared=shared, title=title, session=session, started_at=0.0))
        return self.records[-1]

    def stop(self, record: Any, force: bool) -> bool:
        self.stopped.append((record.pid, force))
        return force or record.pid not in self.deaf

    def stop_ray_node(self, record: NodeRecord, force: bool) -> bool:
        self.ended_ray_nodes.append((record.pid, force))
        return force or record.pid not in self.deaf

    def observe(self, record: Any) -> Snapshot:
        if record.pid in self.dead:
            raise ConnectionRefusedError("gone")
        return self.snapshot

    def snapshots(self, record: Any) -> Iterator[Snapshot]:
        yield self.observe(record)

    def tasks(self, record: Any, wanted: TaskFilter) -> FoundTasks:
        return find(self.snapshot.tasks, wanted)

    def wait(self, pid: int) -> None:
        if self.interrupted:
            raise KeyboardInterrupt

    def run(self, *arguments: str) -> Result:
        control = cli.Control(
            lambda: self.records,
            self.start,
            self.stop,
            self.observe,
            self.wait,
            self.snapshots,
            tasks=self.tasks,
            ray_nodes=lambda: self.ray_nodes,
            stop_ray_node=self.stop_ray_node,
        )
        return CliRunner().invoke(cli.main, arguments, obj=control)


@pytest.fixture
def machine(busy_snapshot: Snapshot) -> FakeMachine:
    return FakeMachine(busy_snapshot)


def test_start_hands_over_only_what_was_given(machine: FakeMachine) -> None:
    done = machine.run("start", "--head", "--num-gpus", "2", "--resources", '{"TPU": 4}', "--preload", "numpy,json")
    assert done.exit_code == 0
    assert machine.started == [{"num_gpus": 2, "resources": {"TPU": 4}, "preload": ["numpy", "json"]}]
    assert "pid 4711" in done.output
    assert "nbaccel stop" in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["start"], "Say --head"),
        (["start", "--head", "--num-gpus", "two"], "'two' is not a valid integer"),
        (["start", "--head", "--resources", "TPU=4"], "'TPU=4' is not JSON"),
        (["start", "--head", "--labels", "[1]"], "'[1]' is not a JSON object"),
        (["start", "--head", "--num-gpu", "1"], "Did you mean"),
        (["start", "--head", "--name", "mine"], "A head gets its name by itself: `nbaccel status` shows it"),
        (["start", "--name=mine"], "A head gets its name by itself"),
        (["statsu"], "No such command"),
    ],
)
def test_a_wrong_option_is_a_sentence_and_exit_code_2(machine: FakeMachine, arguments: list[str], said: str) -> None:
    done = machine.run(*arguments)
    assert done.exit_code == 2
    assert said in done.output
    assert machine.started == []


@pytest.mark.parametrize("kind", [ValueError, TypeError])
def test_what_the_machine_refuses_is_a_sentence_and_exit_code_1(machine: FakeMachine, kind: type[Exception]) -> None:
    machine.refusal = kind("num_gpus=4 was asked for, but CUDA_VISIBLE_DEVICES=1,3 shows 2.")
    done = machine.run("start", "--head", "--num-gpus", "4")
    assert done.exit_code == 1
    assert "CUDA_VISIBLE_DEVICES=1,3 shows 2." in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize("command", [[], ["start"], ["stop"], ["status"], ["devices"], ["docs"], ["doctor"], ["top"]])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_shown_and_no_error(machine: FakeMachine, command: list[str], flag: str) -> None:
    done = machine.run(*command, flag)
    assert done.exit_code == 0
    assert "Usage:" in done.output and "Error" not in done.output


def test_block_stays_and_ctrl_c_ends_the_head(machine: FakeMachine) -> None:
    machine.interrupted = True
    done = machine.run("start", "--head", "--block")
    assert done.exit_code == 0
    assert machine.stopped == [(4711, False)]


def test_a_head_that_ends_by_itself_while_blocked_is_an_error(machine: FakeMachine) -> None:
    done = machine.run("start", "--head", "--block")
    assert done.exit_code == 1
    assert "pid 4711, ended by itself" in done.output


def test_stop_ends_shared_heads_and_leaves_a_notebooks_own_alone(machine: FakeMachine) -> None:
    machine.add(11)
    machine.add(12, shared=False, title="analysis.ipynb")
    done = machine.run("stop", "--force")
    assert machine.stopped == [(11, True)]
    assert "pid 12 belongs to analysis.ipynb" in done.output


def test_stop_ends_ray_s_nodes_by_their_records_as_it_ends_heads(machine: FakeMachine) -> None:
    machine.ray_nodes = [NodeRecord("ef", "10.0.0.5:6379", 21, 0, "", "", is_head=True)]
    assert "Ended the Ray head at 10.0.0.5:6379 of pid 21." in machine.run("stop").output
    machine.ray_nodes += [NodeRecord("12", "10.0.0.5:6379", 22, 0, "", "")]
    machine.add(11)
    several = machine.run("stop")
    assert several.exit_code == 2
    assert "pid 22" in several.output and "the Ray node of 10.0.0.5:6379" in several.output
    machine.deaf.add(22)
    deaf = machine.run("stop", "22")
    assert deaf.exit_code == 1 and "nbaccel stop --force" in deaf.output
    assert machine.run("stop", "12", "--force").exit_code == 0
    assert machine.ended_ray_nodes == [(21, False), (22, False), (22, True)]
    assert machine.stopped == []


def test_status_tells_of_ray_s_nodes_also_where_their_cluster_does_not_answer(machine: FakeMachine) -> None:
    machine.ray_nodes = [NodeRecord("ef", "a:1", 21, 0, "", "", node_type="gpu", token_file="/nowhere/token")]
    done = machine.run("status")
    assert done.exit_code == 0
    assert "The Ray node of a:1, pid 21, node type gpu, since " in done.output
    assert "The token in /nowhere/token cannot be read" in done.output


def test_status_as_json_has_ray_s_nodes_after_the_snapshots(machine: FakeMachine) -> None:
    machine.ray_nodes = [NodeRecord("ef", "a:1", 21, 0, "", "", is_head=True, token_file="/nowhere/token")]
    machine.add(11)
    snapshot, node = json.loads(machine.run("status", "--json").output)
    assert "ray_node" not in snapshot
    told = node["ray_node"]
    assert (told["session"], told["address"], told["pid"], told["is_head"]) == ("ef", "a:1", 21, True)
    assert told["nodes"] is None and "The token in /nowhere/token cannot be read" in told["why"]


def test_stop_with_several_shared_heads_lists_them_and_ends_none(machine: FakeMachine) -> None:
    machine.add(11)
    machine.add(12)
    done = machine.run("stop")
    assert (done.exit_code, machine.stopped) == (2, [])
    assert "11ab  pid 11" in done.output and "12ab  pid 12" in done.output
    assert "nbaccel stop --all" in done.output


@pytest.mark.parametrize(
    ("arguments", "ended"),
    [(["11"], [11]), (["12ab"], [12]), (["12a"], [12]), (["--all"], [11, 12]), (["11", "--force"], [11])],
)
def test_stop_ends_the_shared_head_that_is_named(machine: FakeMachine, arguments: list[str], ended: list[int]) -> None:
    machine.add(11)
    machine.add(12)
    assert machine.run("stop", *arguments).exit_code == 0
    assert machine.stopped == [(pid, "--force" in arguments) for pid in ended]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["99"], "No head is called '99'"),
        (["1"], "Several heads begin with '1'"),
        (["21"], "belongs to analysis.ipynb"),
        (["11", "--all"], "not both"),
    ],
)
def test_stop_of_what_it_cannot_end_ends_nothing(machine: FakeMachine, arguments: list[str], said: str) -> None:
    machine.add(11)
    machine.add(12)
    machine.add(21, shared=False, title="analysis.ipynb")
    done = machine.run("stop", *arguments)
    assert (done.exit_code, machine.stopped) == (2, [])
    assert said in done.output


def test_stop_without_any_head_is_no_error(machine: FakeMachine) -> None:
    assert machine.run("stop").exit_code == 0


def test_status_shows_what_the_snapshot_says(machine: FakeMachine) -> None:
    machine.add(11)
    done = machine.run("status")
    assert done.exit_code == 0
    for part in ("head pid 4711", "GPU 0.5 of 2 free", "GPUActor (pid 52420, cell [3] line 14, 8 s)", "◌ infer"):
        assert part in done.output


def test_status_has_a_row_for_each_training_run(machine: FakeMachine) -> None:
    machine.add(11)
    assert "Progress" not in machine.run("status").output
    record = {"id": "r1", "name": "mnist", "path": "/runs/mnist", "state": "running", "started_at": 1.0, "reports": 3}
    machine.snapshot.published = [PublishedRow("run", "run-1", record, 0.0)]
    shown = machine.run("status").output
    assert "Progress" in shown and "mnist" in shown and "3 reports" in shown


def test_status_without_any_head_says_how_to_start_one(machine: FakeMachine) -> None:
    done = machine.run("status")
    assert done.exit_code == 1
    assert "nbaccel start --head" in done.output


def test_status_as_json_is_the_snapshots_themselves(machine: FakeMachine) -> None:
    assert json.loads(machine.run("status", "--json").output) == []
    machine.add(11)
    (snapshot,) = json.loads(machine.run("status", "--json").output)
    assert Snapshot.from_json(json.dumps(snapshot)) == machine.snapshot


def test_a_head_that_ends_while_it_is_asked_is_not_shown(machine: FakeMachine) -> None:
    machine.add(11)
    machine.add(12)
    machine.dead.add(11)
    assert len(json.loads(machine.run("status", "--json").output)) == 1


def test_devices_of_a_running_head_show_their_holders(machine: FakeMachine) -> None:
    machine.add(11)
    assert "train 0.25 (pid 11" in machine.run("devices").output
    assert [row["id"] for row in json.loads(machine.run("devices", "--json").output)] == ["0", "1"]


def test_a_name_cannot_draw_on_the_terminal(machine: FakeMachine) -> None:
    machine.add(11)
    machine.snapshot.devices[0].holders[0].name = "\x1b[31m[bold]evil[/bold]"
    output = machine.run("status").output
    assert "\x1b" not in output
    assert "[bold]evil[/bold]" in output


def test_a_head_that_does_not_end_is_said_with_what_ends_it(machine: FakeMachine) -> None:
    machine.add(11)
    machine.add(12)
    machine.deaf.add(11)
    done = machine.run("stop", "--all")
    assert done.exit_code == 1
    assert "pid 11 has not ended; nbaccel stop --force kills it." in done.output
    assert "Ended the head of pid 12." in done.output


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.command("stop", "--all", "--force")
    place.assert_nothing_left()
    place.clear()


def test_a_real_head_is_started_seen_joined_by_two_programs_and_stopped(place: Place) -> None:
    assert place.command("status").returncode == 1
    started = place.command("start", "--head", "--num-cpus", "2", "--num-gpus", "2", "--labels", '{"zone": "a"}')
    assert started.returncode == 0, started.stderr
    assert "GPU 1" in place.command("devices").stdout
    holder = place.start(
        "import nbaccel\nnbaccel.init(address='auto')\n@nbaccel.remote(num_gpus=1)\nclass Holder:\n"
        "    def ready(self):\n        return 1\nholder = Holder.remote()\nnbaccel.get(holder.ready.remote())\n"
        "print('ready', flush=True)\ninput()\n"
    )
    assert holder.stdout is not None
    while "ready" not in holder.stdout.readline():
        pass
    (snapshot,) = json.loads(place.command("status", "--json").stdout)
    assert [holder["name"] for holder in snapshot["devices"][0]["holders"]] == ["Holder"]
    names = [row["name"] for row in json.loads(place.command("tasks", "--json", "--state", "finished").stdout)]
    assert names == ["Holder.ready"]
    other = place.run("import nbaccel\nnbaccel.init(address='auto')\nprint(nbaccel.available_resources()['GPU'])")
    assert other.stdout.strip().endswith("1.0"), other.stderr
    holder.communicate("\n", timeout=DEADLINE_S)
    assert "Ended the head" in place.command("stop").stdout
    assert place.command("status").returncode == 1


def test_a_head_offers_only_the_devices_that_it_may_see(place: Place) -> None:
    refused = place.command("start", "--head", "--num-gpus=4", CUDA_VISIBLE_DEVICES="1,3")
    assert refused.returncode == 1
    assert "num_gpus=4" in refused.stderr
    assert "CUDA_VISIBLE_DEVICES=1,3" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert place.command("start", "--head", "--num-gpus=2", CUDA_VISIBLE_DEVICES="1,3").returncode == 0
    shown = json.loads(place.command("devices", "--json").stdout)
    assert [device["id"] for device in shown] == ["1", "3"]


def test_ctrl_c_ends_a_head_that_blocks(place: Place) -> None:
    command = [sys.executable, "-m", "nbaccel", "start", "--head", "--block"]
    process = subprocess.Popen(command, env=place.environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while "nbaccel stop" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert "The head has ended." in out


def test_doctor_names_every_family_and_what_to_do_next(place: Place) -> None:
    said = place.command("doctor").stdout
    for family in ("NVIDIA GPU", "AMD GPU", "Intel GPU", "AWS Neuron", "Google TPU", "Intel Gaudi", "Huawei Ascend"):
        assert family in said
    assert "What to do next" in said


def test_tasks_are_filtered_by_the_head(machine: FakeMachine) -> None:
    machine.add(1)
    done = machine.run("tasks", "--state", "running", "--json")
    assert {row["state"] for row in json.loads(done.output)} == {"RUNNING"}
    assert "No task passes the filter." in machine.run("tasks", "--text", "no such").output
    assert "older task" in machine.run("tasks", "--limit", "1").output
    wrong = machine.run("tasks", "--state", "gone")
    assert wrong.exit_code == 2 and "The states are: running, waiting" in wrong.output
    machine.records.clear()
    assert machine.run("tasks").exit_code == 1


def _shown(page: Path, opened: list[Path], *arguments: str, screen: bool = True) -> Result:
    def open_page(page: Path) -> bool:
        opened.append(page)
        return screen

    control = replace(cli.real_control(), first_page=page, open_page=open_page)
    return CliRunner().invoke(cli.main, ["docs", *arguments], obj=control)


def test_docs_opens_the_installed_copy_and_prints_where_it_is_if_there_is_no_screen(tmp_path: Path) -> None:
    page, opened = tmp_path / "index.html", list[Path]()
    page.touch()
    assert _shown(page, opened).output == f"Opened {page}\n"
    assert _shown(page, opened, screen=False).output == f"{page}\n"
    assert opened == [page, page]
    assert _shown(page, opened, "--path").output == f"{page}\n"
    assert opened == [page, page]


def test_docs_without_an_installed_copy_says_how_to_make_one(tmp_path: Path) -> None:
    done = _shown(tmp_path / "index.html", [])
    assert done.exit_code == 1
    assert str(tmp_path) in done.output and "make docs" in done.output


def test_the_stack_of_a_process_that_is_no_worker_is_refused(machine: FakeMachine) -> None:
    result = machine.run("stack", "1")
    assert result.exit_code == 1 and "it is no worker of nbaccel" in result.output
