"""Begins or continues an experiment: chooses its folder, reads its journal, and takes its lock."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nbaccel.train import storage
from nbaccel.train.configs import RunConfig
from nbaccel.tune import experiment_journal, trial_files
from nbaccel.tune.error import TuneError
from nbaccel.tune.experiment_journal import ExperimentJournal, ExperimentPast


@dataclass(slots=True)
class OpenExperiment:
    """An experiment's folder, open for its driver. `said`: a sentence about its name; "" if there is nothing to say."""

    name: str
    folder: str
    past: ExperimentPast
    journal: ExperimentJournal
    lock: storage.RunLock
    said: str = ""

    def close(self) -> None:
        self.journal.close()
        self.lock.release()


def open_new(config: RunConfig, default_name: str) -> OpenExperiment:
    """Open the folder of a new experiment. Raises TuneError if it cannot be written."""
    assert config.storage_path is not None
    wanted = config.name or default_name
    name, number = wanted, 1
    while not _claim(Path(config.storage_path) / name):
        number += 1
        name = f"{wanted}-{number}"
    said = ""
    if config.name and name != wanted:  # one that was given no name may have begun in the same second as another
        said = (
            f"The folder {wanted} exists, so {name} begins. "
            f"tune.Tuner.restore({str(Path(config.storage_path) / wanted)!r}, trainable) goes on with {wanted}."
        )
    return _open(Path(config.storage_path) / name, said)


def _claim(folder: Path) -> bool:
    """Make the folder, since another process may want the same name now. False if somebody has it.

    A folder that cannot be made is ours, too: why it cannot is told when it is opened.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return True
    try:
        folder.mkdir()
    except OSError as error:
        return not isinstance(error, FileExistsError)
    return True


def reopen(path: str | os.PathLike[str]) -> OpenExperiment:
    """Open an experiment again. Raises FileNotFoundError if there is none, TuneError if it is under way."""
    read_past(path)
    return _open(Path(path).expanduser().absolute(), "")


def read_past(path: str | os.PathLike[str]) -> ExperimentPast:
    """The journal of an experiment. Raises FileNotFoundError if the folder holds none."""
    past = experiment_journal.read(Path(path).expanduser())
    if past is None or not past.facts:
        raise FileNotFoundError(
            f"{os.fspath(path)} holds no experiment of nbaccel: it has no {experiment_journal.FILE} with a whole line."
        )
    return past


def _open(folder: Path, said: str) -> OpenExperiment:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = storage.RunLock(str(folder))
    except BlockingIOError:
        raise TuneError(
            f"The experiment {folder.name} is under way in process {storage.holder(str(folder))}: two cannot share a "
            "folder. Wait for it, or stop it."
        ) from None
    except OSError as error:
        raise TuneError(
            f"The experiment's folder {folder} cannot be written: {error.strerror or error}. Give another one: "
            "RunConfig(storage_path=...), or the environment variable NBACCEL_STORAGE."
        ) from error
    try:
        past = experiment_journal.read(folder) or ExperimentPast()
        for trial in past.trials.values():
            trial_files.settle(str(folder), trial, remove=True)
        return OpenExperiment(folder.name, str(folder), past, ExperimentJournal(folder, past), lock, said)
    except BaseException:  # a later version, or a disk
        lock.release()
        raise
