"""A Slurm of two nodes with a GPU each, and an sshd: on this machine, in folders of their own, without systemd."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.ports import free_ports
from tests.rig import wait_until

_SYSTEM = "/usr/sbin:/sbin:/usr/bin:/bin"  # a plain user's PATH may lack the first
SLURM_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo", "srun")
SSH_PROGRAMS = ("sshd", "ssh", "ssh-keygen")

# Any device file stands for a GPU.
_GRES = "NodeName=n1 Name=gpu File=/dev/null\nNodeName=n2 Name=gpu File=/dev/zero\n"
_SLURM = """
ClusterName=tried
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmctldPort={port}
SlurmctldPidFile={folder}/ctld.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdPidFile={folder}/d-%n.pid
SlurmdLogFile={folder}/d-%n.log
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
MpiDefault=none
ReturnToService=2
GresTypes=gpu
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={port1} CPUs=2 RealMemory=4000 Gres=gpu:1 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={port2} CPUs=2 RealMemory=4000 Gres=gpu:1 State=UNKNOWN
PartitionName=gpu Nodes=n1,n2 Default=YES MaxTime=01:00:00 State=UP
"""
_SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile {folder}/pid
PasswordAuthentication no
UsePAM no
StrictModes no
SetEnv {mark}
"""
_SSH = """
Host gpu1 gpu2
 HostName 127.0.0.1
 Port {port}
 User {user}
 IdentityFile {folder}/user
 IdentitiesOnly yes
 UserKnownHostsFile {folder}/known
 StrictHostKeyChecking yes
Host refused
 HostName 127.0.0.1
 Port {port}
 User {user}
 IdentityFile {folder}/host
 IdentitiesOnly yes
 UserKnownHostsFile {folder}/known
Host unknown
 HostName 127.0.0.1
 Port {port}
 User {user}
 IdentityFile {folder}/user
 UserKnownHostsFile {folder}/empty
Host dead
 HostName 127.0.0.1
 Port {dead}
"""


def missing(programs: tuple[str, ...]) -> str:
    """Why the tests cannot run; empty if all programs are here."""
    gone = [program for program in programs if _found(program) is None]
    return f"{', '.join(gone)} missing" if gone else ""


def _found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_SYSTEM}")


@contextmanager
def slurm(folder: Path, environ: dict[str, str]) -> Iterator[dict[str, str]]:
    """A Slurm with the nodes n1 and n2; the variables with which its commands find it."""
    folder.mkdir(mode=0o755, parents=True)
    (folder / "state").mkdir()
    port, port1, port2 = free_ports(3)
    config = folder / "slurm.conf"
    host = socket.gethostname().partition(".")[0]
    config.write_text(
        _SLURM.format(folder=folder, user=getpass.getuser(), host=host, port=port, port1=port1, port2=port2)
    )
    (folder / "gres.conf").write_text(_GRES)
    environ = {**environ, "SLURM_CONF": str(config)}
    with ExitStack() as stack:
        stack.enter_context(_munge(folder, environ))
        for program, *arguments in (
            ["slurmctld", "-D", "-c"],
            ["slurmd", "-D", "-N", "n1"],
            ["slurmd", "-D", "-N", "n2"],
        ):
            stack.enter_context(_daemon([str(_found(program)), *arguments], environ, folder / "daemons.log"))
        wait_until(lambda: _said(["sinfo", "-h", "-o", "%D %t"], environ).strip() == "2 idle", "two idle nodes")
        yield environ


@contextmanager
def _munge(folder: Path, environ: dict[str, str]) -> Iterator[None]:
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    ends = {"socket": "sock", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    files = [f"--{name}={folder}/munge.{end}" for name, end in ends.items()]
    with _daemon([str(_found("munged")), "--force", "--foreground", *files], environ, folder / "munged.log"):
        wait_until(lambda: (folder / "munge.sock").exists(), "munged's socket")
        yield


@contextmanager
def sshd(folder: Path, mark: str) -> Iterator[Path]:
    """A server whose names in the client's configuration are gpu1, gpu2 and some that cannot work; that file's path."""
    folder.mkdir(mode=0o755, parents=True)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    port, dead = free_ports(2)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    server = folder / "sshd_config"
    server.write_text(_SSHD.format(folder=folder, port=port, mark=mark))
    client = folder / "config"
    client.write_text(_SSH.format(folder=folder, port=port, user=getpass.getuser(), dead=dead))
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    with _daemon([str(_found("sshd")), "-D", "-f", str(server), "-e"], dict(os.environ), folder / "log"):
        wait_until(lambda: "listening" in (folder / "log").read_text().lower(), "sshd")
        yield client


@contextmanager
def _daemon(line: list[str], environ: dict[str, str], log: Path) -> Iterator[None]:
    with open(log, "ab") as output:
        process = subprocess.Popen(line, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _said(line: list[str], environ: dict[str, str]) -> str:
    return subprocess.run(line, env=environ, capture_output=True, text=True, timeout=60).stdout


def jobs(environ: dict[str, str]) -> list[str]:
    """The jobs that wait or run."""
    return _said(["squeue", "-h", "-t", "PENDING,RUNNING"], environ).splitlines()
