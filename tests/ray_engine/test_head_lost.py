"""Ray's head is killed: waiting calls end, a line says why, and the process that had joined goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(400)]
pytest.importorskip("ray")
ROOT = Path(__file__).parent.parent.parent

PROGRAM = """
import psutil, nbaccel
nbaccel.init(engine="ray", num_cpus=1, log_to_driver=False)

@nbaccel.remote
def waits(path):
    import threading
    open(path, "w").close()
    threading.Event().wait()

import sys, time, pathlib
ref = waits.remote(sys.argv[1])
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.05)
def name_of(process):
    try:
        return process.name()
    except psutil.NoSuchProcess:  # one of Ray's that came and went
        return ""
heads = [each for each in psutil.Process().children(recursive=True) if "gcs_server" in name_of(each)]
max(heads, key=psutil.Process.create_time).kill()  # a start that was too slow leaves its own behind for a while
for ask in (lambda: nbaccel.get(ref), lambda: nbaccel.wait([ref]), lambda: waits.remote("")):
    try:
        ask()
    except nbaccel.exceptions.HeadDiedError as error:
        print(type(error).__name__, error)
nbaccel.shutdown()
nbaccel.init(num_cpus=1)
print(nbaccel.get(nbaccel.remote(lambda: 42).remote()))
nbaccel.shutdown()
"""


def test_a_killed_head_ends_what_waits_and_nothing_else(tmp_path: Path) -> None:
    environ = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "began")]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    *lost, answer = done.stdout.splitlines()
    assert [line.startswith("HeadDiedError Ray's head at ") for line in lost] == [True] * 3
    assert "init() once there is a cluster again" in lost[0]
    assert answer == "42"
    assert "nbaccel: Ray's head at" in done.stderr
