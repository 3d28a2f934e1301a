"""Packages of others that are written for Ray, run on nbaccel. Those that call its Pool, joblib or Dask: tests/util."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = {"modin": "modin agrees with pandas", "hamilton": "Hamilton's dataflow gave 7"}


@pytest.mark.parametrize("package", [pytest.param(name, marks=pytest.mark.extra(name)) for name in PROGRAMS])
def test_a_package_that_is_written_for_ray_works(package):
    path = os.pathsep.join([str(HERE / "ray_is_nbaccel"), str(HERE.parent.parent)])
    program = [sys.executable, str(HERE / f"with_{package}.py")]
    environ = {**os.environ, "PYTHONPATH": path, "HAMILTON_TELEMETRY_ENABLED": "false"}
    done = subprocess.run(program, env=environ, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and PROGRAMS[package] in done.stdout, done.stdout + done.stderr
