"""Plays a RayCluster on this machine: one loop that starts and ends the pods which the manifest and Ray ask for."""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbaccel import ray_preflight
from nbaccel.machines.kuberay.manifest import PodGroup, groups_of, whole, worker_groups_of
from nbaccel.machines.kuberay.rehearsal import processes
from nbaccel.machines.kuberay.rehearsal.played_cluster import (
    HEAD_GROUP,
    PlayedCluster,
    Pod,
    PodState,
    Replicas,
    make_certificate,
    serving,
)
from nbaccel.machines.kuberay.rehearsal.processes import LoggedProcess, end_all

_LOOK_EVERY_S = 0.2
_HEAD_ATTEMPTS = 3
_TOO_SLOW = "timed out during startup"  # Ray gives its processes 15 to 30 s, too little on a busy machine
_END_PATIENCE_S = 10.0
_LEAVE_PATIENCE_S = 35.0  # Ray lets a node finish for up to 30 s
_PAUSES_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)  # before the next pod of a group whose last ones did not start


class Ended(Exception):
    """The rehearsal is over: the program that started it has ended."""


@dataclass(slots=True)
class _Trouble:
    """A group whose pods do not start."""

    failures: int = 0
    not_before: float = 0.0


@dataclass(slots=True)
class Rehearsal:
    """A RayCluster and the processes that play it. `run` returns only by an exception.

    manifest  the RayCluster, checked
    folder    a short path for sockets, the token, the certificate and logs
    say       is told what happens, a line each
    start     starts a process with its log
    """

    manifest: dict[str, Any]
    folder: Path
    say: Callable[[str], None]
    start: Callable[[Sequence[str], dict[str, str], Path], LoggedProcess] = LoggedProcess.start
    _cluster: PlayedCluster = field(init=False)
    _groups: dict[str, PodGroup] = field(init=False)
    _processes: dict[str, LoggedProcess] = field(default_factory=dict)  # of the pods by name, and the autoscaler's
    _asked: threading.Event = field(default_factory=threading.Event)
    _run: str = field(default_factory=lambda: secrets.token_hex(8))
    _address: str = ""
    _parent: int = field(default_factory=os.getppid)
    _began: float = field(default_factory=time.monotonic)
    _came: dict[str, float] = field(default_factory=dict)  # when each pod was started
    _left: dict[str, float] = field(default_factory=dict)  # when each pod was asked to leave
    _trouble: dict[str, _Trouble] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._cluster = PlayedCluster(self.manifest, self._patched)
        spec = self._cluster.read()["spec"]
        self._groups = {
            HEAD_GROUP if group.is_head else str(group.fields.get("groupName")): group for group in groups_of(spec)
        }

    def run(self) -> None:
        """Play until an exception (Ctrl-C, or the end of the program that started this one) ends it.

        Raises Ended, and RuntimeError if openssl is missing, or if the head or the autoscaler does not run.
        """
        ray_preflight.write_token(self._token_file, ray_preflight.make_token())
        certificate = make_certificate(self.folder)
        with ExitStack() as stack:
            port = stack.enter_context(serving(self._cluster, certificate))
            stack.callback(self._end)
            self._start_head()
            grows = bool(self.manifest["spec"].get("enableInTreeAutoscaling"))
            if grows:
                variables = processes.autoscaler_variables(self._cluster, certificate, port)
                self._start("autoscaler", processes.autoscaler_line(self._cluster, self._address), variables)
            self._announce(grows)
            while True:
                self._check_parent()
                self._step()
                self._asked.wait(_LOOK_EVERY_S)
                self._asked.clear()

    # --- what happens ---------------------------------------------------------------------------------------------

    def _step(self) -> None:
        if self._processes[self._cluster.head_name].has_ended:
            raise self._broken("Ray's head", self._cluster.head_name)
        if "autoscaler" in self._processes and self._processes["autoscaler"].has_ended:
            raise self._broken("Ray's autoscaler", "autoscaler")
        for pod in self._workers():
            self._look_at(pod)
        changes = missing_and_superfluous(self._cluster.read(), self._workers())
        for pod in changes.leave:
            self._send_away(pod)
        for group in changes.come:
            if time.monotonic() >= self._trouble_of(group).not_before:
                self._cluster.add_pod(group)
        self._start_next()

    def _workers(self) -> list[Pod]:
        return [pod for pod in self._cluster.current_pods() if not pod.is_head]

    def _look_at(self, pod: Pod) -> None:
        """What has become of the pod's process."""
        process = self._processes.get(pod.name)
        if process is None:
            return
        if pod.state is PodState.LEAVING:
            if process.has_ended or time.monotonic() - self._left[pod.name] > _LEAVE_PATIENCE_S:
                self._forget(pod)
                self._tell(f"pod {pod.name} has left")
        elif process.has_ended:
            self._failed(pod, process)
        elif pod.state is PodState.STARTING and process.has_started:
            self._cluster.move(pod, PodState.RUNNING)
            self._trouble.pop(pod.group, None)
            self._tell(f"pod {pod.name} is here: {processes.described_command(self._groups[pod.group])}")

    def _failed(self, pod: Pod, process: LoggedProcess) -> None:
        trouble = self._trouble_of(pod.group)
        pause_s = _PAUSES_S[min(trouble.failures, len(_PAUSES_S) - 1)]
        trouble.failures += 1
        trouble.not_before = time.monotonic() + pause_s
        words = process.last_words().splitlines()[-1]
        self._forget(pod)
        self._tell(f"pod {pod.name} has ended by itself; the next one comes in {pause_s:g} s. Its last words: {words}")

    def _send_away(self, pod: Pod) -> None:
        process = self._processes.get(pod.name)
        if process is None:  # it waited for its turn
            self._cluster.forget(pod)
            return
        self._cluster.move(pod, PodState.LEAVING)
        self._left[pod.name] = time.monotonic()
        process.ask_to_end()
        self._tell(f"pod {pod.name} leaves")

    def _start_next(self) -> None:
        """Start one pod at a time: two nodes that start on one machine at once disturb each other."""
        workers = self._workers()
        if any(pod.state is PodState.STARTING for pod in workers):
            return
        for pod in workers:
            if pod.state is PodState.WAITING:
                self._cluster.move(pod, PodState.STARTING)
                line = processes.worker_line(self._groups[pod.group], pod, self._address)
                self._start(pod.name, line, processes.pod_variables(pod))
                self._tell(f"pod {pod.name} comes")
                return

    def _forget(self, pod: Pod) -> None:
        self._processes.pop(pod.name).kill()
        self._left.pop(pod.name, None)
        self._cluster.forget(pod)

    def _trouble_of(self, group: str) -> _Trouble:
        return self._trouble.setdefault(group, _Trouble())

    # --- beginning and end ----------------------------------------------------------------------------------------

    def _start_head(self) -> None:
        """Raises RuntimeError with Ray's last words."""
        pod = self._cluster.add_pod(HEAD_GROUP)
        self._cluster.move(pod, PodState.STARTING)
        for attempts_left in reversed(range(_HEAD_ATTEMPTS)):
            port = _free_port()
            self._address = f"{pod.ip}:{port}"
            line = processes.head_line(
                self._groups[HEAD_GROUP],
                pod,
                port=port,
                client_port=_free_port() if importlib.util.find_spec("grpc") else 0,
                folder=self.folder / "r",
            )
            process = self._start(pod.name, line, processes.pod_variables(pod))
            while not (process.has_started or process.has_ended):
                self._check_parent()
                time.sleep(_LOOK_EVERY_S)
            if process.has_started and not process.has_ended:
                self._cluster.move(pod, PodState.RUNNING)
                return
            if not attempts_left or _TOO_SLOW not in process.last_words():
                raise self._broken("Ray's head", pod.name)
            process.kill()
            process.log.unlink()

    def _start(self, name: str, line: list[str], variables: dict[str, str]) -> LoggedProcess:
        environ = processes.node_variables(os.environ, token_file=self._token_file, mark=f"{self._run}/{name}")
        process = self.start(line, {**environ, **variables}, self.folder / f"{name}.log")
        self._processes[name] = process
        return process

    def _end(self) -> None:
        """The autoscaler first, so that it does not ask for pods in place of those that end."""
        self.say("Ends the processes of the rehearsal.")
        autoscaler = [self._processes.pop("autoscaler")] if "autoscaler" in self._processes else []
        try:
            end_all(autoscaler, _END_PATIENCE_S)
        finally:
            end_all(self._processes.values(), _END_PATIENCE_S)

    def _check_parent(self) -> None:
        if os.getppid() != self._parent:
            raise Ended("The program that started the rehearsal has ended.")

    def _broken(self, what: str, name: str) -> RuntimeError:
        return RuntimeError(f"{what} has ended. Its last words:\n{self._processes[name].last_words()}")

    @property
    def _token_file(self) -> Path:
        return self.folder / "token"

    # --- what is told ---------------------------------------------------------------------------------------------

    def _announce(self, grows: bool) -> None:
        by = "by Ray's own autoscaler" if grows else "without autoscaling"
        self.say(f"RayCluster {self._cluster.name} is played here {by}; each pod is a process. Ctrl-C ends it.")
        for name, group in self._groups.items():
            sizes = (
                ""
                if group.is_head
                else f", {group.fields['minReplicas']} to {group.fields.get('maxReplicas')} replicas"
            )
            self.say(f"  {name}: {processes.described_command(group)}{sizes}")
        self.say(f"  try it   %accel_init address={self._address} token_file={self._token_file}")

    def _patched(self, changes: list[Replicas]) -> None:
        """Called in a thread of the API server."""
        for change in changes:
            named = f", without {', '.join(change.leaving)}" if change.leaving else ""
            self._tell(f"PATCH {change.group}: replicas {change.before} -> {change.after}{named}")
        self._asked.set()

    def _tell(self, text: str) -> None:
        self.say(f"{time.monotonic() - self._began:7.1f} s  {text}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


# ---- decides which pods of a played RayCluster come and go, as KubeRay's operator does


@dataclass(slots=True)
class Changes:
    """What has to happen."""

    come: list[str] = field(default_factory=list)  # the group of each pod that is missing
    leave: list[Pod] = field(default_factory=list)


def missing_and_superfluous(cluster: dict[str, Any], pods: list[Pod]) -> Changes:
    """The pods that are missing, and those that have to go."""
    spec, changes = cluster["spec"], Changes()
    grows = bool(spec.get("enableInTreeAutoscaling"))
    for group in worker_groups_of(spec):
        name = str(group.fields.get("groupName"))
        mine = [pod for pod in pods if pod.group == name and pod.state is not PodState.LEAVING]
        named = set((group.fields.get("scaleStrategy") or {}).get("workersToDelete") or [])
        changes.leave += [pod for pod in mine if pod.name in named]
        staying = [pod for pod in mine if pod.name not in named]
        lacking = wanted_pods(group) - len(staying)
        changes.come += [name] * lacking
        if lacking < 0 and not grows:  # the autoscaler names those that go, which hold no work
            changes.leave += staying[lacking:]
    return changes


def wanted_pods(group: PodGroup) -> int:
    """How many pods the group is to have now."""
    if group.fields.get("suspend"):
        return 0
    least, most = whole(group.fields.get("minReplicas"), 0), whole(group.fields.get("maxReplicas"), 2**31 - 1)
    replicas = max(least, min(whole(group.fields.get("replicas"), 0), most))
    return replicas * whole(group.fields.get("numOfHosts"), 1)
