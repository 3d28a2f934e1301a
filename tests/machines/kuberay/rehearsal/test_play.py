"""A rehearsal starts what a patch asks for and ends what it names, and leaves nothing behind, whoever ends it.

Small shell programs play Ray's processes; `test_with_ray.py` has the real ones.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbaccel.machines.kuberay.rehearsal.play import Rehearsal
from nbaccel.machines.kuberay.rehearsal.played_cluster import Certificate
from nbaccel.machines.kuberay.rehearsal.processes import MARK, LoggedProcess, end_all
from tests.census import carriers
from tests.machines.kuberay.rehearsal.manifests import manifest, needs_openssl
from tests.machines.kuberay.rehearsal.test_api_server import CLUSTER, Client
from tests.rig import is_alive, wait_until

pytestmark = needs_openssl

ROOT = Path(__file__).parents[4]
STAYS = 'echo "Ray runtime started."; exec sleep 600'
# A node of Ray's has processes in sessions of their own.
WITH_CHILDREN = 'setsid sleep 600 & echo "Ray runtime started."; wait'
REFUSED = 'echo "No address."; echo "The cluster does not answer."; exit 1'
TOO_SLOW = 'echo "The current node timed out during startup."; exit 1'


class Play:
    """A rehearsal whose programs are shell scripts, and what it tells."""

    def __init__(self, folder: Path, cluster: dict[str, Any] | None = None) -> None:
        self.told: list[str] = []
        self.started: list[tuple[list[str], dict[str, str]]] = []
        self.scripts: dict[str, list[str]] = {}  # of a pod's group, or the autoscaler: one for each start
        self._steps: list[tuple[str, Callable[[], object] | None]] = []
        self.rehearsal = Rehearsal(cluster or manifest(), folder, self._say, self._start)

    def until(self, words: str, then: Callable[[], object] | None = None) -> None:
        """Play until these words are told; then do this and go on, or end as by Ctrl-C."""
        self._steps.append((words, then))

    def run(self, error: type[BaseException] = KeyboardInterrupt) -> BaseException:
        with pytest.raises(error) as caught:
            self.rehearsal.run()
        assert error is not KeyboardInterrupt or not self._steps, f"these did not come: {self._steps}"
        wait_until(lambda: not carriers(self.mark), "the end of all processes")
        return caught.value

    @property
    def mark(self) -> str:
        """What the environment of every process of this rehearsal has."""
        return f"{MARK}={self.started[0][1][MARK].partition('/')[0]}"

    def patch(self, replicas: int, *leaving: str) -> None:
        """What Ray's autoscaler sends."""
        environ = next(environ for _, environ in self.started if "KUBERNETES_SERVICE_HOST" in environ)
        pem = Certificate(Path(environ["RAY_KUBERAY_CLIENT_CERT_PATH"]), Path(environ["RAY_KUBERAY_CLIENT_KEY_PATH"]))
        at = "/spec/workerGroupSpecs/0"
        changes: list[dict[str, Any]] = [{"op": "replace", "path": f"{at}/replicas", "value": replicas}]
        changes.append({"op": "replace", "path": f"{at}/scaleStrategy", "value": {"workersToDelete": list(leaving)}})
        client = Client(int(environ["KUBERNETES_SERVICE_PORT_HTTPS"]), pem)
        assert client.ask("PATCH", CLUSTER, changes)[0] == 200

    def names(self) -> list[str]:
        """The worker pods that were started."""
        return [
            environ["RAY_CLOUD_INSTANCE_ID"]
            for _, environ in self.started
            if environ.get("RAY_NODE_TYPE_NAME") == "gpu"
        ]

    def _say(self, text: str) -> None:
        self.told.append(text)
        if self._steps and self._steps[0][0] in text:
            _, then = self._steps.pop(0)
            if then is None:
                raise KeyboardInterrupt
            then()

    def _start(self, line: Sequence[str], environ: dict[str, str], log: Path) -> LoggedProcess:
        self.started.append((list(line), environ))
        scripts = self.scripts.get(environ.get("RAY_NODE_TYPE_NAME", "autoscaler"), [])
        return LoggedProcess.start(["/bin/sh", "-c", scripts.pop(0) if scripts else STAYS], environ, log)


@pytest.fixture
def play(tmp_path: Path) -> Play:
    return Play(tmp_path)


def test_the_line_to_type_names_the_address_and_the_token(play: Play, tmp_path: Path) -> None:
    play.until("try it")
    play.run()
    (address,) = [word for line, _ in play.started for word in line if word.startswith("--node-ip-address=")]
    (told,) = [line for line in play.told if "try it" in line]
    assert f"%accel_init address={address.partition('=')[2]}:" in told and f"token_file={tmp_path}/token" in told
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert "  gpu: 1 CPU, 1 GPU, 1 GiB, 0 to 2 replicas" in play.told


def test_pods_come_one_after_the_other_and_leave_as_the_patches_say(play: Play) -> None:
    play.scripts = {"gpu": [WITH_CHILDREN, WITH_CHILDREN]}
    play.until("try it", lambda: play.patch(2))
    play.until("is here", lambda: None)
    play.until("is here", lambda: play.patch(1, play.names()[0]))
    play.until("has left")
    play.run()
    first, second = play.names()
    assert [line.partition(" s  ")[2] for line in play.told if " s  " in line] == [
        "PATCH gpu: replicas 0 -> 2",
        f"pod {first} comes",
        f"pod {first} is here: 1 CPU, 1 GPU, 1 GiB",
        f"pod {second} comes",
        f"pod {second} is here: 1 CPU, 1 GPU, 1 GiB",
        f"PATCH gpu: replicas 2 -> 1, without {first}",
        f"pod {first} leaves",
        f"pod {first} has left",
    ]


def test_a_pod_that_ends_by_itself_is_told_with_its_last_words_and_comes_again(play: Play) -> None:
    play.scripts = {"gpu": [REFUSED]}
    play.until("try it", lambda: play.patch(1))
    play.until("is here")
    play.run()
    (told,) = [line for line in play.told if "has ended by itself" in line]
    assert told.endswith("the next one comes in 1 s. Its last words: The cluster does not answer.")
    assert len(set(play.names())) == 2, "the next pod has a name of its own"


def test_a_cluster_of_a_fixed_size_is_played_without_the_autoscaler(tmp_path: Path) -> None:
    play = Play(tmp_path, manifest("cpu=1,memory=1Gi,min=1,max=1"))
    play.until("is here")
    play.run()
    assert len(play.started) == 2 and "without autoscaling" in play.told[0]


def test_a_head_that_was_too_slow_is_started_again(play: Play) -> None:
    play.scripts = {"headgroup": [TOO_SLOW]}
    play.until("try it")
    play.run()


@pytest.mark.parametrize(
    ("who", "words"), [("headgroup", "Ray's head has ended"), ("autoscaler", "Ray's autoscaler has ended")]
)
def test_the_end_of_the_head_or_the_autoscaler_ends_the_play_with_its_last_words(
    play: Play, who: str, words: str
) -> None:
    play.scripts = {who: [REFUSED]}
    error = play.run(RuntimeError)
    assert words in str(error) and "The cluster does not answer." in str(error)


IN_A_CHILD = """
import subprocess, sys
program = '''
import os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.machines.kuberay.rehearsal.test_play import Play
play = Play(Path({folder!r}))
play.until("try it", lambda: play.patch(1))
play.until("is here", lambda: print("plays", os.getpid(), flush=True))
try:
    play.rehearsal.run()
except BaseException as error:
    Path({folder!r}, "end").write_text(repr(error))
'''
subprocess.Popen([sys.executable, "-c", program])
sys.stdin.read()
"""


@pytest.fixture
def starter(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that has started a rehearsal, which has a pod."""
    code = IN_A_CHILD.format(root=str(ROOT), folder=str(tmp_path))
    environ = {**os.environ, "REHEARSED_IN": str(tmp_path)}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        yield process
        process.kill()
    wait_until(lambda: not carriers(f"REHEARSED_IN={tmp_path}"), "the end of all processes")


def test_a_rehearsal_ends_when_the_program_that_started_it_is_killed(
    starter: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert starter.stdout is not None
    pid = int(starter.stdout.readline().split()[1])
    starter.kill()
    wait_until(lambda: not is_alive(pid), "the end of the rehearsal")
    assert "The program that started the rehearsal has ended" in (tmp_path / "end").read_text()


def test_the_processes_end_when_the_rehearsal_is_killed(starter: subprocess.Popen[str]) -> None:
    assert starter.stdout is not None
    pid = int(starter.stdout.readline().split()[1])
    os.kill(pid, signal.SIGKILL)
    starter.stdin.close()  # type: ignore[union-attr]  # it was started with a pipe


def test_a_process_that_does_not_heed_is_killed_with_what_it_has_started(tmp_path: Path) -> None:
    script = 'trap "" TERM; setsid sh -c \'trap "" TERM; sleep 600\' & echo "Ray runtime started."; wait; wait'
    mark = f"deaf-{os.getpid()}/pod"
    process = LoggedProcess.start(["/bin/sh", "-c", script], {**os.environ, MARK: mark}, tmp_path / "log")
    wait_until(lambda: process.has_started and len(carriers(f"{MARK}={mark}")) >= 2, "the processes")
    end_all([process], patience_s=0.0)
    assert process.has_ended
    wait_until(lambda: not carriers(f"{MARK}={mark}"), "the end of its children")
