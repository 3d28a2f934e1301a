"""Heads with node types that start for one test: nodes that never come, and a head that two programs share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbaccel
from nbaccel import api, autoscaler
from tests.autoscaler.programs import ACTORS, REQUEST, WITHDRAW
from tests.autoscaler.waiting import DEADLINE_S, until


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


def test_programs_share_one_head_and_a_request_outlives_its_program(tmp_path: Path):
    """The two programs of Ray's guide on GPUs, verbatim but for the import, as processes of their own."""
    machines = tmp_path / "machines.toml"
    machines.write_text("[types.gpu]\nnum_gpus = 1\nmax = 2\nidle_s = 0.5\narrives_after_s = 0.1\n")
    record = api.start_head(with_us=True, num_cpus=1, node_types=str(machines))
    environ = os.environ | {"NBACCEL_ADDRESS": record.session, "PYTHONPATH": str(Path(nbaccel.__file__).parents[1])}

    def run(program: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env=environ,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout + ran.stderr

    def nodes() -> int:
        return sum(row.alive and row.node_type == "gpu" for row in api.observe(record).nodes)

    try:
        assert "I live in a pod with GPU access." in run(ACTORS)
        seen = [row.node_type for row in api.observe(record).nodes]  # nodes that have left by now included
        assert seen.count("gpu") == 2
        until(lambda: nodes() == 0, "the idle nodes leave")
        assert [row.node_type for row in api.observe(record).nodes].count("gpu") == 2
        run(REQUEST)
        until(lambda: nodes() == 2, "the requested nodes come")
        assert [row.kind for row in api.observe(record).requests] == ["request"]
        run(WITHDRAW)
        until(lambda: nodes() == 0, "the nodes leave")
        assert api.observe(record).requests == []
    finally:
        api.stop_head(record, force=True)
