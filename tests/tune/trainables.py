"""Functions that tests tune. They are found by import in workers, so each is small and takes all it needs in config."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import nbaccel
from nbaccel import train, tune
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.util.placement_group import placement_group_table
from tests.rig import wait_until


def silent_at_one(config: dict[str, Any]) -> dict[str, Any] | None:
    return None if config["x"] == 1 else {"loss": config["x"]}


def square(config: dict[str, Any]) -> dict[str, Any]:
    return {"loss": config["x"] ** 2}


def steps(config: dict[str, Any]) -> None:
    """Report a loss for each step, with a checkpoint if asked; go on from one; fail once in a step if asked."""
    checkpoint = tune.get_checkpoint()
    first = checkpoint.load()["step"] + 1 if checkpoint is not None else 0
    for step in range(first, config["steps"]):
        if config.get("fails_in") == step and fails_now(config):
            if config["how"] == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ZeroDivisionError(f"in step {step}")
        saved = tune.Checkpoint.save({"step": step}) if config.get("saves", True) else None
        tune.report({"loss": config["x"] / (step + 1), "step": step}, checkpoint=saved)


def dies_while_it_saves(config: dict[str, Any]) -> None:
    """Three checkpoints of ten files; the process is killed once, when half of the second one's are there."""
    from nbaccel.train import storage

    checkpoint = train.get_checkpoint()
    start = len(os.listdir(checkpoint.path)) // 10 if checkpoint is not None else 0
    put, died = storage._put, Path(config["folder"], "died")

    def deadly(file: Path, target: Path, *, move: bool) -> None:
        if file.name == "15" and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        put(file, target, move=move)

    storage._put = deadly
    for step in range(start, 3):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(10 * (step + 1)):
                Path(folder, f"{number:02d}").touch()
            tune.report({"step": step}, checkpoint=train.Checkpoint.from_directory(folder))


def fails_now(config: dict[str, Any]) -> bool:
    """Whether this is one of the first attempts that are to fail."""
    count = len(list(Path(config["folder"]).glob("failed-*")))
    (Path(config["folder"]) / f"failed-{count}").touch()
    return bool(count < config.get("failures", 1))


def rooms(config: dict[str, Any]) -> dict[str, Any]:
    return {"loss": 0, "rooms": placed(), "id": tune.get_context().get_trial_id()}


def group_rooms(config: dict[str, Any]) -> None:
    train.report({"loss": 0, "rooms": placed()})


def placed() -> list[str]:
    """The names of the placement groups that have their place."""
    return [row["name"] for row in placement_group_table().values() if row["state"] == "CREATED"]


def place(config: dict[str, Any]) -> dict[str, Any]:
    context = tune.get_context()
    return {
        "gpus": ",".join(str(each) for each in nbaccel.get_gpu_ids()),
        "worker": os.getpid(),
        "name": context.get_experiment_name(),
        "id": context.get_trial_id(),
        "asked": context.get_trial_resources(),
        "dir": context.get_trial_dir(),
    }


def in_threads(config: dict[str, Any]) -> None:
    """Report from several threads at one time."""
    begin = threading.Barrier(config["threads"])

    def reports(thread: int) -> None:
        begin.wait()
        for step in range(config["steps"]):
            tune.report({"thread": thread, "step": step})

    threads = [threading.Thread(target=reports, args=(thread,)) for thread in range(config["threads"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def raises(config: dict[str, Any]) -> dict[str, Any]:
    if config["x"] % 2:
        raise ValueError("an odd number")
    return {"loss": config["x"]}


def raises_until(config: dict[str, Any]) -> dict[str, Any]:
    """Raises for odd numbers until there is a file."""
    return {"loss": config["x"]} if Path(config["mended"]).exists() else raises(config)


def until_stopped(config: dict[str, Any]) -> None:
    """Report until somebody ends the trial, and say that it was ended."""
    folder = Path(config["folder"])
    try:
        for number in range(100_000):
            tune.report({"number": number})
            if number == 1:  # the answer to its first report has come: the experiment's mailbox knows that it runs
                (folder / f"reported-{config['x']}").touch()
            time.sleep(0.01)
    finally:
        (folder / f"ended-{config['x']}").touch()


def silent(config: dict[str, Any]) -> None:
    """Never report; an interrupt ends it."""
    folder = Path(config["folder"])
    train.stop_requested()  # it was answered: the experiment's mailbox knows that it runs
    try:
        (folder / f"there-{config['x']}").touch()  # from here on it may be interrupted
        while True:
            time.sleep(0.05)
    finally:
        (folder / f"ended-{config['x']}").touch()


def learns(config: dict[str, Any]) -> None:
    """Its value grows by its rate in each step, and goes on from a checkpoint. The weak one starts after the strong."""
    strong = Path(config["folder"]) / "strong"
    while config["rate"] == 1 and not strong.exists():
        time.sleep(0.01)
    checkpoint = tune.get_checkpoint()
    value = checkpoint.load()["value"] if checkpoint is not None else 0.0
    for _ in range(12):
        value += config["rate"]
        tune.report({"value": value}, checkpoint=tune.Checkpoint.save({"value": value}))
        if checkpoint is not None:
            (strong.parent / "taken").touch()
    strong.touch()
    wait_until((strong.parent / "taken").exists)  # a trial that has ended is no donor


def fits(config: dict[str, Any]) -> None:
    """Fit a trainer in the trial, and report in the trial before and after."""
    tune.report({"loss": config["x"]})
    inner = DataParallelTrainer(
        group_steps,
        train_loop_config=config,
        scaling_config=train.ScalingConfig(num_workers=config["workers"]),
        run_config=train.RunConfig(name="inner"),
    )
    found = inner.fit().metrics or {}
    tune.report({"loss": found["loss"] + 1})


def group_steps(config: dict[str, Any]) -> None:
    """Report a loss for each step in all ranks; rank 0 brings a checkpoint, and the ranks go on from one."""
    context = train.get_context()
    checkpoint = train.get_checkpoint()
    first = checkpoint.load()["step"] + 1 if checkpoint is not None else 0
    for step in range(first, config["steps"]):
        if config.get("fails_in") == step and context.get_world_rank() == 0 and fails_now(config):
            raise ZeroDivisionError(f"in step {step}")
        saved = train.Checkpoint.save({"step": step}) if context.get_world_rank() == 0 else None
        metrics = {"loss": config["x"] / (step + 1), "step": step, "ranks": context.get_world_size()}
        train.report(metrics, checkpoint=saved)


def group_until_stopped(config: dict[str, Any]) -> None:
    """Report until somebody ends the run; each rank says that it was ended. None is far ahead: one that is stopped
    while another has not reported would have that one interrupted, and killed where it stands still.
    """
    try:
        for number in range(100_000):
            train.report({"number": number})
            if number == 1:  # the answer to its first report has come: the run's mailbox knows of it
                train.collective.barrier()
            time.sleep(0.01)
    finally:
        (Path(config["folder"]) / f"ended-{train.get_context().get_world_rank()}").touch()


def group_silent(config: dict[str, Any]) -> None:
    """Never report; an interrupt ends it, and then it takes a while to tidy up."""
    try:
        (Path(config["folder"]) / f"there-{os.getpid()}").touch()
        (Path(config["folder"]) / "there").touch()
        while True:
            time.sleep(0.05)
    finally:
        (Path(config["folder"]) / "tidies").touch()
        time.sleep(config.get("tidies_for_s", 0.5))
        (Path(config["folder"]) / "ended").touch()


def counted(config: dict[str, Any]) -> dict[str, Any]:
    """Leave a line for each time that it has run to its end."""
    checkpoint = tune.get_checkpoint()
    first = checkpoint.load()["step"] + 1 if checkpoint is not None else 0
    for step in range(first, 3):
        tune.report({"loss": config["x"], "step": step}, checkpoint=tune.Checkpoint.save({"step": step}))
        time.sleep(0.02)
    with open(Path(config["folder"]) / "ends", "a") as file:
        file.write(f"{config['x']}\n")
    return {"loss": config["x"], "step": 3}


def asks_whether_to_stop(config: dict[str, Any]) -> dict[str, Any]:
    """Reports nothing until somebody ends the trial."""
    while not train.stop_requested():
        (Path(config["folder"]) / "asks").touch()  # it was answered: the experiment's mailbox knows that it runs
        time.sleep(0.01)
    return {"asked": True}


def fits_silent(config: dict[str, Any]) -> None:
    """Fit a trainer whose function never reports."""
    DataParallelTrainer(group_silent, train_loop_config=config, scaling_config=train.ScalingConfig(num_workers=1)).fit()
