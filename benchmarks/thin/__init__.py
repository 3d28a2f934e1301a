"""Ray's workers, made thin: a thousand idle actors on a machine that would hold two hundred.

An idle Ray actor has some 80 MB of its own and takes 0.4 % of a core: most of the memory is Ray's modules, imported
once more, and most of the time are timers that find nothing to do. Here each is forked from one process that has
imported them, and its short timers ring every four seconds. Everything else is Ray's own: a process, a core worker and
connections for each actor. nbaccel's own modules are *not* imported beforehand, so that each actor pays for them.

Linux only, and it needs a C compiler.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOCKET_VARIABLE = "NBACCEL_THIN_WORKERS"


class ThinWorkers:
    """The process that Ray's workers are forked from, and the `runtime_env` that makes them so.

    `worker_environment`: of a worker of the running cluster. Ray's libraries read it when they are loaded, so that a
    forked worker has this one's job and node, and only workers of that job may be made here.
    """

    def __init__(self, worker_environment: dict[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="nbaccel-thin-")
        library, address = Path(self._folder.name, "rare_timers.so"), Path(self._folder.name, "socket")
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, HERE / "rare_timers.c", "-ldl"], check=True)
        self._cpu = Path(f"{address}.cpu")
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "fork_server.py"), str(address)],
            stdout=subprocess.PIPE,
            env={**worker_environment, "LD_PRELOAD": str(library), "MALLOC_ARENA_MAX": "2"},
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError("The process that thin workers are forked from did not start: see its error above.")
        self.runtime_env: dict[str, Any] = {
            "py_executable": shlex.join([sys.executable, "-S", "-E", str(HERE / "forked.py")]),
            "env_vars": {SOCKET_VARIABLE: str(address)},
        }

    def starting_cpu_s(self) -> float:
        """CPU time of the processes that Ray has started for workers until each was forked, and that have ended."""
        return float(self._cpu.read_text()) if self._cpu.exists() else 0.0

    def stop(self) -> None:
        """No more workers. Those that are there go on."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()
