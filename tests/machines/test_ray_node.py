"""A machine joins a Ray cluster with what nbaccel has found in it, after it has been told that it can."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from nbaccel import accelerators, cli
from nbaccel.accelerators import NodeDevices
from nbaccel.light_imports import FOLDER
from nbaccel.machines import node_records
from nbaccel.machines.node_commands import ended_by_signals, ray_start_line, stay
from nbaccel.machines.ray_processes import node_environment
from tests.machines.ray_nodes import ENDS_LATER, breaks, records, started

__all__ = ["records"]


@pytest.fixture(scope="module")
def node() -> NodeDevices:
    detection = accelerators.detect(accelerators.RealMachine(), simulate="nvidia:2xA100,tpu:4")
    return accelerators.resolve_resources(detection, num_gpus=None, resources=None, environ={})


def option(line: list[str], name: str) -> str:
    (found,) = [word.partition("=")[2] for word in line if word.startswith(f"{name}=")]
    return found


def test_the_node_offers_what_was_found(node: NodeDevices) -> None:
    line = ray_start_line("head:6379", node, {})
    assert line[1:5] == ["-m", "ray.scripts.scripts", "start", "--block"]
    assert option(line, "--address") == "head:6379"
    assert option(line, "--num-gpus") == "2"
    resources = json.loads(option(line, "--resources"))
    assert resources["TPU"] == 4
    assert "GPU" not in resources
    assert any(label.startswith("ray.io/accelerator-type=") for label in option(line, "--labels").split(","))


def test_what_is_asked_for_goes_before_what_was_found() -> None:
    asked = {
        "num_gpus": 3,
        "num_cpus": 4,
        "resources": {"license": 1},
        "labels": {"zone": "a"},
        "object_store_memory": 9,
    }
    line = ray_start_line("head:6379", NodeDevices(), asked)
    assert option(line, "--num-gpus") == "3"
    assert option(line, "--num-cpus") == "4"
    assert option(line, "--object-store-memory") == "9"
    assert json.loads(option(line, "--resources")) == {"license": 1}
    assert option(line, "--labels") == "zone=a"


def test_a_machine_without_accelerators_says_so_to_ray() -> None:
    line = ray_start_line("head:6379", NodeDevices(), {})
    assert option(line, "--num-gpus") == "0"
    assert not any(word.startswith(("--resources", "--labels")) for word in line)


def test_the_type_of_a_node_is_that_of_its_devices_or_the_one_that_is_said(node: NodeDevices) -> None:
    assert node_environment({"A": "b"}, NodeDevices(), None) == {"A": "b", "PYTHONPATH": str(FOLDER)}
    assert node_environment({"PYTHONPATH": "/mine"}, NodeDevices(), None)["PYTHONPATH"] == f"{FOLDER}:/mine"
    assert node_environment({}, node, "mine")["RAY_NODE_TYPE_NAME"] == "mine"
    assert node_environment({}, node, None)["RAY_NODE_TYPE_NAME"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--address", "ray://host:10001"], 1, "a node joins at the head's own port"),
        (["--address", "nowhere"], 1, "write HOST:6379"),
        (["--address", "host:1", "--head"], 2, "--head or --address"),
        (["--address", "host:1", "--simulate", "nvidia:2xA100"], 2, "--simulate"),
        (["--address", "host:1", "--preload", "numpy"], 2, "--preload"),
        (["--address", "host:1", "--engine", "local"], 2, "--engine=local"),
        (["--address", "host:1", "--port", "1"], 2, "--port goes with --head"),
        (["--engine", "ray"], 2, "--head to start a Ray cluster"),
        (["--head", "--engine", "ray", "--simulate", "nvidia:2xA100"], 2, "--simulate"),
        (["--head", "--engine", "ray", "--node-types", "missing.toml"], 1, "cannot be read from missing.toml"),
        (["--head", "--engine", "ray", "--node-types", "m.toml", "--node-type", "a"], 2, "--node-type"),
        pytest.param(
            ["--head", "--engine", "ray", "--port", "70000"], 1, "70000 is no port", marks=pytest.mark.extra("ray")
        ),
        (["--head", "--token-file", "t"], 2, "--token-file"),
        (["--head", "--port", "1"], 2, "--port goes with --engine=ray"),
        ([], 2, "Say --head"),
    ],
)
def test_what_cannot_be_joined_is_refused_in_words(arguments: list[str], code: int, words: str) -> None:
    done = CliRunner().invoke(cli.main, ["start", *arguments])
    assert done.exit_code == code, done.output
    assert words in done.output


def test_a_command_that_stays_ends_its_node_when_it_is_asked_to_end(records: Path) -> None:
    def asked_to_end(pid: int) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()

    record, said = started(), []
    with ended_by_signals():
        stay(record, said.append, asked_to_end)
    assert said == ["Ends the node."]
    assert node_records.carriers(record.session) == []


def test_a_node_that_broke_is_an_error_with_its_last_words_and_one_that_was_ended_is_not(records: Path) -> None:
    def until_ended(pid: int) -> None:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    with pytest.raises(RuntimeError, match=r"A process of the Ray node of 10.0.0.5:6379 died(?s:.*)raylet"):
        stay(started(ENDS_LATER), print, breaks)
    ended, said = started(), []
    os.kill(ended.pid, signal.SIGTERM)
    stay(ended, said.append, until_ended)
    assert said == ["The node has ended."]
