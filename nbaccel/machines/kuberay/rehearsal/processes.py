"""Processes of a rehearsal: started with a log, ended by their pid, and gone when this process is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbaccel import proc
from nbaccel.machines import with_parent
from nbaccel.machines.kuberay.rehearsal.pod_lines import MARK

_STARTED = "Ray runtime started"
_LAST_LINES = 8
_LOOK_EVERY_S = 0.05
_ROUNDS = 20


@dataclass(slots=True)
class LoggedProcess:
    """A process with its log. Only the main thread starts one: it would end with another thread."""

    mark: str
    log: Path
    _process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, line: Sequence[str], environ: dict[str, str], log: Path) -> LoggedProcess:
        command = [sys.executable, "-I", "-S", with_parent.__file__, str(os.getpid()), *line]
        with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "wb") as output:
            process = subprocess.Popen(
                command,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C in the terminal is for the rehearsal, which ends them in order
            )
        return cls(environ[MARK], log, process)

    @property
    def has_started(self) -> bool:
        """Whether Ray says that its processes run."""
        return _STARTED in self.log.read_text(errors="replace")

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def last_words(self) -> str:
        """The end of the log."""
        lines = [line.rstrip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return "\n".join(lines[-_LAST_LINES:]) or "(nothing)"

    def ask_to_end(self) -> None:
        """SIGTERM: a node of Ray's leaves its cluster, and ends its own processes."""
        if not self.has_ended:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to the process and to everything that it has started."""
        if not self.has_ended:
            self._process.kill()
        self._process.wait()
        kill_marked(self.mark)


def end_all(processes: Iterable[LoggedProcess], patience_s: float) -> None:
    """Ask all to end, give them so long together, then kill what is left of them."""
    mine = list(processes)
    deadline = time.monotonic() + patience_s
    for process in mine:
        process.ask_to_end()
    try:
        while not all(process.has_ended for process in mine) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
    finally:  # also where a second Ctrl-C ends the wait
        for process in mine:
            process.kill()


def kill_marked(mark: str) -> None:
    """SIGKILL every process that was started with this mark, even in a session of its own."""
    for _ in range(_ROUNDS):  # a process that starts another one in between may be missed by one look
        marked = proc.started_with(MARK, mark)
        if not marked:
            return
        for pid in marked:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass  # it has ended, or has changed its user
        time.sleep(_LOOK_EVERY_S)
