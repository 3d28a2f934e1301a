"""Heads with node types that start for one test: nodes that never come, and a head that two programs share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nbaccel
from nbaccel import api, autoscaler
from nbaccel.views.sessions import SessionRecord
from tests.autoscaler.programs import ACTORS, REQUEST, WITHDRAW
from tests.autoscaler.waiting import DEADLINE_S, until

# A notebook whose cell holds room and is stopped.
HOLDS = """
import sys
import nbaccel
from nbaccel import autoscaler

nbaccel.init()
try:
    with autoscaler.held(num_gpus=1):
        print("holds", flush=True)
        sys.stdin.readline()
except KeyboardInterrupt:
    print("stopped", flush=True)
sys.stdin.readline()
"""


class SharedHead:
    """A head with node types that programs join, each a process of its own."""

    def __init__(self, record: SessionRecord) -> None:
        self.record = record
        self._environ = os.environ | {
            "NBACCEL_ADDRESS": record.session,
            "PYTHONPATH": str(Path(nbaccel.__file__).parents[1]),
        }

    def run(self, program: str) -> str:
        """What a program printed; it has ended well."""
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout + ran.stderr

    def start(self, program: str) -> subprocess.Popen[str]:
        """Start a program whose lines can be read."""
        command = [sys.executable, "-c", program]
        return subprocess.Popen(
            command, env=self._environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def nodes(self) -> int:
        return sum(row.alive and row.node_type == "gpu" for row in api.observe(self.record).nodes)

    def asked(self) -> list[tuple[str, dict[str, float]]]:
        return [(row.kind, row.resources) for row in api.observe(self.record).requests]


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedHead]:
    machines = tmp_path / "machines.toml"
    machines.write_text("[types.gpu]\nnum_gpus = 1\nmax = 2\nidle_s = 0.5\narrives_after_s = 0.1\n")
    record = api.start_head(with_us=True, num_cpus=1, node_types=str(machines))
    try:
        yield SharedHead(record)
    finally:
        api.stop_head(record, force=True)


def test_a_node_that_does_not_come_is_told_and_tried_again_until_it_is_given_up():
    nbaccel.init(num_cpus=1, node_types={"gpu": {"num_gpus": 1, "fails": "no quota"}}, infeasible="raise")
    try:

        @nbaccel.remote(num_gpus=1)
        def train() -> None: ...

        with pytest.raises(nbaccel.exceptions.TaskUnschedulableError, match="no quota"):
            nbaccel.get(train.remote(), timeout=DEADLINE_S)
        failed = autoscaler.status().failed[0]
        assert (failed.failures, failed.why, failed.given_up) == (3, "no quota", True)
    finally:
        nbaccel.shutdown()


def test_programs_share_one_head_and_a_request_outlives_its_program(shared: SharedHead):
    """The two programs of Ray's guide on GPUs, verbatim but for the import, as processes of their own."""
    assert "I live in a pod with GPU access." in shared.run(ACTORS)
    seen = [row.node_type for row in api.observe(shared.record).nodes]  # nodes that have left by now included
    assert seen.count("gpu") == 2
    until(lambda: shared.nodes() == 0, "the idle nodes leave")
    assert [row.node_type for row in api.observe(shared.record).nodes].count("gpu") == 2
    shared.run(REQUEST)
    until(lambda: shared.nodes() == 2, "the requested nodes come")
    assert [kind for kind, _resources in shared.asked()] == ["request"]
    shared.run(WITHDRAW)
    until(lambda: shared.nodes() == 0, "the nodes leave")
    assert shared.asked() == []


def test_what_two_programs_hold_is_summed_and_ends_with_a_stopped_cell_and_with_a_killed_kernel(shared: SharedHead):
    gpu = ("held", {"GPU": 1.0})
    with shared.start(HOLDS) as stopped, shared.start(HOLDS) as killed:
        try:
            for program in (stopped, killed):
                assert program.stdout is not None and program.stdout.readline() == "holds\n"
            assert shared.asked() == [gpu, gpu]
            until(lambda: shared.nodes() == 2, "room for both comes")
            shared.run(REQUEST)  # another program's call replaces nothing of it
            assert shared.asked() == [("request", {"GPU": 2.0}), gpu, gpu]
            shared.run(WITHDRAW)
            assert shared.asked() == [gpu, gpu]
            stopped.send_signal(signal.SIGINT)
            assert stopped.stdout is not None and stopped.stdout.readline() == "stopped\n"
            assert shared.asked() == [gpu]
            until(lambda: shared.nodes() == 1, "one of the nodes leaves")
            killed.kill()
            until(lambda: shared.asked() == [], "what the killed program held is withdrawn")
            until(lambda: shared.nodes() == 0, "the other one leaves")
        finally:
            stopped.kill()
            killed.kill()


def test_a_file_of_node_types_is_not_read_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "machines.toml").write_text("[types.gpu]\nnum_gpus = 1\n")
    monkeypatch.chdir(tmp_path)
    nbaccel.init(num_cpus=1)
    try:
        assert autoscaler.status().node_types == []
        assert nbaccel.probe(num_gpus=1).verdict.value == "never"
    finally:
        nbaccel.shutdown()
