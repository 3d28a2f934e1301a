"""A head of Ray's gets a token, a free port and what nbaccel has found; what is wrong is said before it starts."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbaccel import ray_preflight
from nbaccel.machines import ray_head, ray_processes
from nbaccel.machines.node_records import NodeRecord
from nbaccel.machines.ray_head import HeadPlan


class Started:
    """What would have been started."""

    def __init__(self) -> None:
        self.line: Sequence[str] = ()
        self.environ: Mapping[str, str] = {}

    def __call__(self, line: Sequence[str], environ: Mapping[str, str], **facts: Any) -> NodeRecord:
        self.line, self.environ = line, environ
        return NodeRecord("ab", facts["address"], 7, 0, "", "", is_head=True, token_file=environ.get(PATH, ""))

    def option(self, name: str) -> str:
        (found,) = [word.partition("=")[2] for word in self.line if word.startswith(f"{name}=")]
        return found


PATH = "RAY_AUTH_TOKEN_PATH"


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    for name in ("RAY_AUTH_TOKEN", PATH, "RAY_AUTH_MODE"):
        monkeypatch.setenv(name, "")  # so that they are as before in the end, whatever the head sets
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    started = Started()
    monkeypatch.setattr(ray_processes, "start", started)
    monkeypatch.setattr(ray_head, "is_installed", lambda package: package == "ray")
    return started


def plan(**given: Any) -> HeadPlan:
    return HeadPlan(**{"port": 0, "offered": {"num_gpus": 2}, **given})


def test_a_head_always_wants_a_token_and_makes_one_where_there_is_none(started: Started, tmp_path: Path) -> None:
    record = ray_head.start_head(plan())
    file = tmp_path / ".ray" / "auth_token"
    token = ray_preflight.read_token(file)
    assert started.environ["RAY_AUTH_MODE"] == "token"
    assert started.environ[PATH] == record.token_file == str(file)
    ray_head.start_head(plan())
    assert ray_preflight.read_token(file) == token
    assert not any(token in word for word in started.line)  # every user of a machine sees command lines


def test_the_token_of_the_environment_stays_the_one_that_is_shown(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "ab" * 32)
    record = ray_head.start_head(plan())
    assert started.environ["RAY_AUTH_TOKEN"] == "ab" * 32
    assert record.token_file == "" and not (tmp_path / ".ray").exists()
    assert any("RAY_AUTH_TOKEN" in line for line in ray_head.announcement(record))
    ray_head.start_head(plan(token_file=str(tmp_path / "mine")))
    assert "RAY_AUTH_TOKEN" not in started.environ  # it would go before the file
    assert started.environ[PATH] == str(tmp_path / "mine")


def test_a_token_that_others_may_read_is_refused_with_the_line_to_type(started: Started, tmp_path: Path) -> None:
    file = tmp_path / "token"
    ray_preflight.write_token(file, "ab" * 32)
    file.chmod(0o640)
    with pytest.raises(PermissionError, match=f"chmod 600 {file}"):
        ray_head.start_head(plan(token_file=str(file)))
    assert started.line == ()


def test_a_port_that_is_taken_is_refused_and_0_takes_a_free_one(started: Started) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"Port {port} of this machine is taken"):
            ray_head.start_head(plan(port=port))
    record = ray_head.start_head(plan())
    assert record.address.endswith(f":{started.option('--port')}") and int(started.option("--port")) > 0
    with pytest.raises(ValueError, match="from 1 to 65535"):
        ray_head.start_head(plan(port=70_000))


def test_a_head_offers_what_is_asked_for_and_has_a_node_type(started: Started) -> None:
    ray_head.start_head(plan(offered={"num_gpus": 2, "num_cpus": 3}, node_type="login"))
    assert (started.option("--num-gpus"), started.option("--num-cpus")) == ("2", "3")
    assert "--head" in started.line and "--block" in started.line
    assert started.environ["RAY_NODE_TYPE_NAME"] == "login"
    assert "RAY_enable_autoscaler_v2" not in started.environ
    assert not any(word.startswith("--autoscaling-config") for word in started.line)


def test_a_file_for_the_autoscaler_switches_its_second_version_on_and_its_types_are_noted(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[tuple[str, Any]] = []
    monkeypatch.setattr(ray_preflight, "publish_node_types", lambda *facts: noted.append(facts))
    file = tmp_path / "scaling.yaml"
    file.write_text(
        "max_workers: 9\nidle_timeout_minutes: 0.5\navailable_node_types:\n"
        "  head: {resources: {CPU: 1}}\n  gpu: {resources: {GPU: 1}, labels: {zone: a}, max_workers: 2}\n"
        "  cpu: {resources: {CPU: 8}, min_workers: 1, idle_timeout_s: 7}\n"
    )
    record = ray_head.start_head(plan(autoscaling_config=file, instance_id="h", variables={"MORE": "1"}))
    assert started.option("--autoscaling-config") == str(file)
    assert started.environ["RAY_enable_autoscaler_v2"] == "1"
    assert started.environ["RAY_CLOUD_INSTANCE_ID"] == "h"
    assert started.environ["MORE"] == "1"
    gpu = {"resources": {"GPU": 1}, "labels": {"zone": "a"}, "min_workers": 0, "max_workers": 2, "idle_s": 30.0}
    cpu = {"resources": {"CPU": 8}, "labels": {}, "min_workers": 1, "max_workers": 9, "idle_s": 7}
    assert noted == [(record.address, {"gpu": gpu, "cpu": cpu})]


def test_the_lines_for_other_machines_can_be_typed_as_they_are(started: Started, tmp_path: Path) -> None:
    record = ray_head.start_head(plan())
    told = "\n".join(ray_head.announcement(record))
    host = record.address.partition(":")[0]
    assert f"nbaccel start --address={record.address} --token-file ~/.ray/auth_token" in told
    assert f"scp {host}:~/.ray/auth_token ~/.ray/auth_token" in told
    assert f"%accel_init address={record.address} token_file=~/.ray/auth_token" in told


def test_where_ray_is_missing_the_line_to_install_it_is_said(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_head, "is_installed", lambda package: False)
    with pytest.raises(RuntimeError, match=r"pip install 'nbaccel\[ray\]'"):
        ray_head.start_head(plan())
