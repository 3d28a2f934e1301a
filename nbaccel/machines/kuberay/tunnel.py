"""A tunnel to a service of Kubernetes: `kubectl port-forward`, started again whenever it ends.

kubectl ends with the pod that it forwards to, and with the network. The local port stays the same, so that a notebook
that joins again finds the cluster where it was.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from nbaccel.machines.kuberay.kubectl import Kubectl, refusal_of

_FORWARDING = re.compile(r"^Forwarding from 127\.0\.0\.1:(\d+) ->")
_QUIET = ("Handling connection", "Forwarding from")
_PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
_END_TIMEOUT_S = 5.0


@dataclass(slots=True)
class Tunnel:
    """One port of this machine that leads to a port of a service."""

    kubectl: Kubectl
    service: str
    remote_port: int
    local_port: int = 0  # a free one if it is 0
    say: Callable[[str], None] = print
    pause: Callable[[float], None] = time.sleep
    _failures: int = field(default=0, init=False)  # in turn, since the tunnel stood
    _last_words: str = field(default="", init=False)

    def keep(self, opened: Callable[[int], None]) -> None:
        """Keep the tunnel until an exception (Ctrl-C) ends it; `opened` is called once, with the local port.

        Raises KubectlRefusal if the tunnel cannot be opened the first time.
        """
        stood = False
        while True:
            stood = self._forward_once(opened if not stood else self._mended) or stood
            if not stood:
                raise refusal_of(self._last_words, f"service {self.service}", self.kubectl.namespace)
            if not self._failures:
                self.say(f"The tunnel has ended ({self._last_words or 'kubectl gave no reason'}); it is opened again.")
            self.pause(_PAUSES_S[min(self._failures, len(_PAUSES_S) - 1)])
            self._failures += 1

    def _mended(self, port: int) -> None:
        self.say(f"The tunnel on 127.0.0.1:{port} is open again.")

    def _forward_once(self, opened: Callable[[int], None]) -> bool:
        """Whether the tunnel stood before kubectl ended."""
        ports = f"{self.local_port or ''}:{self.remote_port}"
        arguments = ("port-forward", "--address", "127.0.0.1", f"service/{self.service}", ports)
        process = subprocess.Popen(
            self.kubectl.command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            return self._read(process, opened)
        finally:
            _end(process)

    def _read(self, process: subprocess.Popen[str], opened: Callable[[int], None]) -> bool:
        stood = False
        assert process.stdout is not None, "it was started with a pipe"
        for line in process.stdout:
            found = _FORWARDING.match(line)
            if found and not stood:
                stood, self._failures, self._last_words = True, 0, ""
                self.local_port = int(found[1])
                opened(self.local_port)
            elif line.strip() and not line.startswith(_QUIET):
                self._last_words = line.strip()
        return stood


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
