"""Training runs on nbaccel and on what users would pick instead: how soon the function begins, what a report costs.

    python benchmarks/training.py --only nbaccel,spawn,notebook_launcher,torchrun,ray --repeat 5

Each contender runs in a process of its own, one after the other, so that nobody runs beside another. Two workers, on
CPUs, connected by gloo. Every figure is checked by what the workers return: two pids, two ranks, the sum that an
all_reduce gave. A row that a contender has no word for is left out. A ratio is that of one round; the median of the
rounds is printed with the quartiles, which say how much of it is the machine's other work.

`spawn` is torch.multiprocessing.spawn, whose processes import torch; `notebook_launcher` is Accelerate's, which forks
this process, with torch loaded. A training by DDP is compared with torchrun's in `benchmarks/ddp.py`.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a script, the directory above is not there

from benchmarks import census, rounds  # noqa: E402

REPORTS, CHECKPOINTS, STREAM = 50, 20, 500
IDLE_S = 10.0
ROWS = {
    "fit": "a second empty fit(), two ranks and their process group (s)",
    "first_line": "from the call of fit() to the first line of the function (s)",
    "report": "one report of metrics, its sender's cost, median (µs)",
    "reports": "reports in a row, until all are sent (1/s)",
    "checkpoint": "one report with a checkpoint of 1 MB, its sender's cost, median (ms)",
    "resume": "from kill -9 of rank 1 in step 100 to the first report after the restart (s)",
    "idle": "CPU of all processes while fit() waits for two ranks that sleep (% of a CPU)",
}
PROGRAM = """
import json, os, sys, time
import torch, torch.distributed as dist
begun = time.time()
dist.init_process_group("gloo")
total = torch.tensor(dist.get_rank() + 1)
dist.all_reduce(total)
rank = dist.get_rank()
json.dump([os.getpid(), rank, int(total), begun], open(os.path.join(sys.argv[1], str(rank)), "w"))
dist.destroy_process_group()
"""


def group() -> tuple[int, int, int, float]:
    """In a rank: who it is, and what all ranks have added up."""
    begun = time.time()
    import torch

    total = torch.tensor(torch.distributed.get_rank() + 1)
    torch.distributed.all_reduce(total)
    return os.getpid(), torch.distributed.get_rank(), int(total), begun


def reporting(train: Any, new_checkpoint: Callable[[str], Any]) -> dict[str, float]:
    """In a rank: what reports cost."""
    metrics = []
    for number in range(REPORTS):
        start = time.perf_counter()
        train.report({"step": number, "loss": 0.5})
        metrics.append(time.perf_counter() - start)
        time.sleep(0.002)  # as a step of training lies between two of them
    start = time.perf_counter()
    for number in range(STREAM):
        train.report({"step": number, "loss": 0.5})
    stream = time.perf_counter() - start
    files = []
    for _ in range(CHECKPOINTS):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "model").write_bytes(os.urandom(1_000_000))
            start = time.perf_counter()
            train.report({}, checkpoint=new_checkpoint(folder))
            files.append(time.perf_counter() - start)
    return {
        "report": statistics.median(metrics) * 1e6,
        "reports": STREAM / stream,
        "checkpoint": statistics.median(files) * 1e3,
    }


def nbaccel_reports() -> dict[str, float] | None:
    from nbaccel import train

    if train.get_context().get_world_rank():
        return None
    return reporting(train, train.Checkpoint.from_directory)


def nbaccel_dies(config: dict[str, str]) -> float:
    """In a rank: rank 1 dies once, in step 100; returns how long after that the first report of rank 0 was made."""
    from nbaccel import train

    rank, died = train.get_context().get_world_rank(), Path(config["died"])
    past = train.get_checkpoint()
    first = past.load()["step"] + 1 if past is not None else 0
    for step in range(first, 120):
        brings = rank == 0 and step % 20 == 19
        train.report({"step": step}, checkpoint=train.Checkpoint.save({"step": step}) if brings else None)
        if past is not None:
            break
        if step % 20 == 19:
            train.collective.barrier()
        if rank == 1 and step == 100:
            died.write_text(repr(time.time()))
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == 0 and step == 100:
            time.sleep(3600)  # it waits for rank 1, as in a collective
    resumed = time.time()
    assert first in (80, 100)
    return resumed - float(died.read_text())


def nbaccel_sleeps(config: dict[str, str]) -> None:
    """In a rank: report once, and do nothing for longer than is measured."""
    from nbaccel import train

    train.report({"step": 0})
    Path(config["there"], str(train.get_context().get_world_rank())).touch()
    time.sleep(IDLE_S + 4)


class IdleWatch(threading.Thread):
    """Measures the CPU of driver, head and workers, from a second after both ranks sleep; without its own."""

    def __init__(self, there: str) -> None:
        super().__init__()
        self.percent = float("nan")
        self._there = there

    def run(self) -> None:
        while len(os.listdir(self._there)) < 2:
            time.sleep(0.1)
        time.sleep(1)
        everyone = census.members() | {os.getpid()}
        start, own, used = time.perf_counter(), time.thread_time(), census.cpu_s(everyone)
        time.sleep(IDLE_S)
        spent = census.cpu_s(everyone) - used
        self.percent = (spent - (time.thread_time() - own)) / (time.perf_counter() - start) * 100
        assert everyone == census.members() | {os.getpid()}


def nbaccel_figures() -> dict[str, float]:
    import nbaccel
    from nbaccel.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
    from nbaccel.train.torch import TorchTrainer

    os.environ[census.TOKEN_VARIABLE] = str(os.getpid())
    nbaccel.init(num_cpus=2, preload=["torch"])
    with tempfile.TemporaryDirectory() as storage:

        def fit(function: Any) -> Any:
            config = RunConfig(storage_path=storage, checkpoint_config=CheckpointConfig(num_to_keep=2))
            return TorchTrainer(function, scaling_config=ScalingConfig(num_workers=2), run_config=config).fit()

        fit(group)
        start, clock = time.time(), time.perf_counter()
        pid, rank, total, begun = fit(group).return_value
        took = time.perf_counter() - clock
        assert (rank, total) == (0, 3) and pid != os.getpid()
        found = fit(nbaccel_reports).return_value
        trainer = TorchTrainer(
            nbaccel_dies,
            train_loop_config={"died": os.path.join(storage, "died")},
            scaling_config=ScalingConfig(num_workers=2),
            run_config=RunConfig(storage_path=storage, failure_config=FailureConfig(max_failures=1)),
        )
        found["resume"] = trainer.fit().return_value
        found["idle"] = idle_percent(storage)
    nbaccel.shutdown()
    return {"fit": took, "first_line": begun - start, **found}


def idle_percent(storage: str) -> float:
    from nbaccel.train import RunConfig, ScalingConfig
    from nbaccel.train.torch import TorchTrainer

    there = tempfile.mkdtemp(dir=storage)
    watch = IdleWatch(there)
    watch.start()
    TorchTrainer(
        nbaccel_sleeps,
        train_loop_config={"there": there},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=storage),
    ).fit()
    watch.join()
    return watch.percent


def ray_figures() -> dict[str, float]:
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    ray.init("local", num_cpus=4)  # a cluster of its own: without an address, Ray joins any that it finds
    with tempfile.TemporaryDirectory() as storage:

        def fit() -> Any:
            config = RunConfig(storage_path=storage)
            return TorchTrainer(group, scaling_config=ScalingConfig(num_workers=2), run_config=config).fit()

        fit()
        start, clock = time.time(), time.perf_counter()
        _pid, rank, total, begun = fit().return_value
        took = time.perf_counter() - clock
        assert (rank, total) == (0, 3)
    ray.shutdown()
    return {"fit": took, "first_line": begun - start}


def _spawned(rank: int, port: int, folder: str) -> None:
    begun = time.time()
    import torch

    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    total = torch.tensor(rank + 1)
    torch.distributed.all_reduce(total)
    Path(folder, str(rank)).write_text(json.dumps([os.getpid(), rank, int(total), begun]))
    torch.distributed.destroy_process_group()


def spawn_figures() -> dict[str, float]:
    import socket

    import torch.multiprocessing

    with socket.socket() as probe, tempfile.TemporaryDirectory() as folder:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        start, clock = time.time(), time.perf_counter()
        torch.multiprocessing.spawn(_spawned, args=(port, folder), nprocs=2)
        return _checked(folder, start, time.perf_counter() - clock)


def notebook_launcher_figures() -> dict[str, float]:
    import socket

    from accelerate import notebook_launcher

    def port() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):  # the second is measured, as with nbaccel and Ray
            start, clock = time.time(), time.perf_counter()
            notebook_launcher(_launched, (folder,), num_processes=2, use_port=str(port()))
            took = time.perf_counter() - clock
        return _checked(folder, start, took)


def _launched(folder: str) -> None:
    begun = time.time()
    import torch

    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    total = torch.tensor(rank + 1)
    torch.distributed.all_reduce(total)
    Path(folder, str(rank)).write_text(json.dumps([os.getpid(), rank, int(total), begun]))
    torch.distributed.destroy_process_group()


def torchrun_figures() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(PROGRAM)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        start, clock = time.time(), time.perf_counter()
        subprocess.run([*command, str(program), folder], check=True, stderr=subprocess.DEVNULL)
        return _checked(folder, start, time.perf_counter() - clock)


def _checked(folder: str, start: float, took: float) -> dict[str, float]:
    ranks = [json.loads(Path(folder, str(rank)).read_text()) for rank in range(2)]
    assert [each[1:3] for each in ranks] == [[0, 3], [1, 3]] and ranks[0][0] != ranks[1][0]
    return {"fit": took, "first_line": ranks[0][3] - start}


CONTENDERS: dict[str, Callable[[], dict[str, float]]] = {
    "nbaccel": nbaccel_figures,
    "spawn": spawn_figures,
    "notebook_launcher": notebook_launcher_figures,
    "torchrun": torchrun_figures,
    "ray": ray_figures,
}


if __name__ == "__main__":
    rounds.main(__file__, __doc__, ROWS, CONTENDERS)
