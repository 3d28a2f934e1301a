"""Training functions that the tests give to real workers; each is small, and waits for conditions, never for time."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from nbaccel import train
from nbaccel.train import Checkpoint
from tests.rig import wait_until


def facts(config: dict[str, Any]) -> dict[str, Any]:
    """Everything that a rank knows of itself; rank 0's is the run's value, all are in the checkpoint's metadata."""
    context = train.get_context()
    mine = {
        "rank": context.get_world_rank(),
        "size": context.get_world_size(),
        "local": (context.get_local_rank(), context.get_local_world_size(), context.get_node_rank()),
        "name": context.get_experiment_name(),
        "main": threading.current_thread() is threading.main_thread(),
        "cwd": os.getcwd(),
        "variable": os.environ.get("NCCL_SOCKET_IFNAME"),
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }
    Path(config["folder"], f"rank-{mine['rank']}").write_text(repr(mine))
    return mine


def steps(config: dict[str, Any]) -> int:
    """Reports and checkpoints; goes on from the last one. May fail in a step of one rank, once."""
    rank = train.get_context().get_world_rank()
    checkpoint = train.get_checkpoint()
    start = checkpoint.load()["step"] + 1 if checkpoint is not None else 0
    for step in range(start, config.get("steps", 4)):
        if config.get("together"):
            train.collective.barrier()  # all ranks have sent their reports of the steps before
        if step == config.get("fails_in") and rank == config.get("rank", 1) and first_time(config):
            fail(config["how"])
        state = Checkpoint.save({"step": step}) if rank == 0 else None
        train.report({"step": step, "loss": 1 / (step + 1)}, checkpoint=state)
    return start


def ahead(config: dict[str, Any]) -> int:
    """Rank 0 brings a checkpoint in each step, the others begin in its second; the most checkpoints it sees.

    One that is being committed has two names for a moment: its own and that of its part, which is empty by then.
    """
    rank, folder = train.get_context().get_world_rank(), train.get_context().get_trial_dir()
    most = 0
    for step in range(config["steps"]):
        Path(config["folder"], f"{rank}-in-{step}").touch()
        if rank != 0:
            wait_until(Path(config["folder"], "0-in-1").exists)
        train.report({"step": step}, checkpoint=Checkpoint.save({"step": step}) if rank == 0 else None)
        names = {name.strip(".").removesuffix(".part") for name in os.listdir(folder) if "checkpoint_" in name}
        most = max(most, sum("deleted" not in name for name in names))
    return most


def first_time(config: dict[str, Any]) -> bool:
    """Whether nobody has been here before."""
    try:
        Path(config["once"]).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def fail(how: str) -> None:
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise ZeroDivisionError("it cannot be divided")


def until_stopped(config: dict[str, Any]) -> None:
    """Reports until it is asked to stop, and notes its last report and that `finally` ran."""
    rank = train.get_context().get_world_rank()
    number = -1
    try:
        while True:
            number += 1
            train.report({"number": number})
            if number == 2:  # the answer to its first report has come: the run knows of it
                Path(config["folder"], f"reports-{rank}").touch()
    finally:
        Path(config["folder"], f"ended-{rank}").write_text(str(number))


def silent(config: dict[str, Any]) -> None:
    """Only rank 0 reports; the others wait in their own code until they are interrupted."""
    rank = train.get_context().get_world_rank()
    if rank == 0 and config.get("reports", True):
        until_stopped(config)
    try:
        Path(config["folder"], f"there-{rank}").touch()  # from here on it may be interrupted
        while True:
            time.sleep(3600)
    finally:
        Path(config["folder"], f"ended-{rank}").write_text("interrupted")


def until_asked(config: dict[str, Any]) -> str:
    """Reports nothing, and asks whether somebody has stopped the run."""
    Path(config["folder"], f"there-{train.get_context().get_world_rank()}").touch()
    while not train.stop_requested():
        time.sleep(0.01)
    return "asked"


def reads_its_part(config: dict[str, Any]) -> list[int]:
    """Notes the rows that this rank reads, of the divided and of the whole dataset."""
    rank = train.get_context().get_world_rank()
    rows = [row for batch in train.get_dataset_shard("train").iter_batches(2) for row in batch]
    Path(config["folder"], f"rows-{rank}").write_text(repr((rows, len(train.get_dataset_shard("valid")))))
    return rows


def hangs_in_c(config: dict[str, Any]) -> None:
    """Rank 1 hangs in C code that keeps the interpreter's lock: it takes a mutex twice, which no signal ends."""
    import ctypes

    rank = train.get_context().get_world_rank()
    train.report({"rank": rank})
    Path(config["folder"], f"there-{rank}").touch()
    if rank == 1:
        mutex = ctypes.create_string_buffer(128)
        for _ in range(2):
            ctypes.PyDLL(None).pthread_mutex_lock(mutex)
    while True:
        time.sleep(3600)


def files_of_one_name(config: dict[str, Any]) -> None:
    """Each rank brings a file of its own, all by one name."""
    rank = train.get_context().get_world_rank()
    mine = Path(config["folder"], f"mine-{rank}")
    mine.mkdir()
    (mine / "model").write_text(str(rank))
    for step in range(config["steps"]):
        train.report({"step": step}, checkpoint=Checkpoint.from_directory(mine))


def slower_than_the_failure(config: dict[str, Any]) -> int:
    """Rank 1 fails after its second report, before rank 0 brings the checkpoint of its first; once."""
    rank, checkpoint = train.get_context().get_world_rank(), train.get_checkpoint()
    start = checkpoint.load()["step"] + 1 if checkpoint is not None else 0
    for step in range(start, 3):
        if rank == 0 and start == 0:
            wait_until(lambda: has_ended(config))
        train.report({"step": step}, checkpoint=Checkpoint.save({"step": step}) if rank == 0 else None)
        if step == 1:
            Path(config["folder"], f"pid-{rank}").write_text(str(os.getpid()))
            raise ZeroDivisionError
    return start


def has_ended(config: dict[str, Any]) -> bool:
    """Whether the process of rank 1 is gone."""
    pid = Path(config["folder"], "pid-1")
    return pid.exists() and not Path(f"/proc/{pid.read_text()}").exists()


def names_its_checkpoints(config: dict[str, Any]) -> list[Any]:
    """Checkpoints in folders of chosen names, one of which comes twice; what rank 0 knows of them."""
    rank = train.get_context().get_world_rank()
    for step, name in enumerate(("first", "again", "again")):
        mine = Checkpoint.save({"step": step}) if rank == 0 else None
        train.report({"step": step}, checkpoint=mine, checkpoint_dir_name=name)
    return [
        (Path(each.checkpoint.path).name, each.metrics["step"], each.status.value)
        for each in train.get_all_reported_checkpoints()
    ]
