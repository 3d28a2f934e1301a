"""Begins or continues a run: chooses the folder, reads its journal, and takes the lock that keeps others out.

```
  no name was given                ──► begin, in a folder that nobody has
  no folder of this name           ──► begin
  interrupted, stopped or failed   ──► go on from its latest checkpoint
  finished                         ──► look at name-2, name-3, …; with resume=True go on with it
  under way in another process     ──► refuse
```
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbaccel.train import journal, storage
from nbaccel.train.configs import RunConfig
from nbaccel.train.errors import ControllerError
from nbaccel.train.journal import Journal, Past
from nbaccel.train.remote import RemoteRun, RemoteStorage, storage_of


@dataclass(slots=True)
class OpenRun:
    """A run's folder, open for its driver.

    said  how the run begins, a sentence for the user; "" for a new one under the name that was asked for
    """

    name: str
    folder: str
    past: Past
    journal: Journal
    lock: storage.RunLock
    said: str = ""
    begin_from: str = ""  # a checkpoint of another run, for one that has none of its own
    remote: RemoteRun | None = None

    def close(self) -> None:
        self.journal.close()
        self.lock.release()


def open_run(config: RunConfig, default_name: str) -> OpenRun:
    """Open the run that the config names. Raises ControllerError if it cannot be written or is under way."""
    assert config.storage_path is not None
    wanted = config.name or default_name
    storage_ = storage_of(config.storage_path, config.storage_filesystem)
    root = storage_.local_root() if storage_ is not None else Path(config.storage_path)
    folder = root / wanted
    try:
        if config.name:
            name, past = _choose(root, storage_, wanted, bool(config.resume))
        else:
            name, past = _new(root, storage_, wanted)
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        lock = storage.RunLock(str(folder))
    except BlockingIOError:
        raise ControllerError(
            f"The run {name} is under way in process {storage.holder(str(folder))}: two runs cannot share a folder. "
            f"Wait for it, stop it, or give this one another name: RunConfig(name={name + '-other'!r})."
        ) from None
    except OSError as error:
        raise _not_writable(folder, error) from error
    remote = storage_.run(name) if storage_ is not None else None
    try:
        if remote is not None:
            remote.bring_to(folder, lambda data: journal.parse(data).kept)
        # Read again: whoever held the lock a moment ago may have written.
        past = journal.read(folder) or past
        storage.settle(str(folder), past)
        log = _begun(folder, past, name)
    except BaseException:  # of a network, or of a disk
        lock.release()
        raise
    said = _how_it_begins(config.name or name, name, past)
    past.name = name
    past.ended = past.error = ""
    if remote is not None:
        said = f"{said} The run is copied to {remote.url}; it works in {folder}.".strip()
    return OpenRun(name, str(folder), past, log, lock, said, remote=remote)


def _begun(folder: Path, past: Past, name: str) -> Journal:
    """The run's journal, with the line that it begins. Raises ControllerError if the disk is full."""
    try:
        log = Journal(folder, past)
        try:
            log.begin(name)
        except OSError:
            log.close()
            raise
    except OSError as error:
        raise _not_writable(folder, error) from error
    return log


def _not_writable(folder: Path, error: OSError) -> ControllerError:
    return ControllerError(
        f"The run's folder {folder} cannot be written: {error.strerror or error}. Give another one: "
        "RunConfig(storage_path=...), or the environment variable NBACCEL_STORAGE.",
        error,
    )


def _choose(root: Path, remote: RemoteStorage | None, wanted: str, resume: bool) -> tuple[str, Past]:
    """The first of name, name-2, … that has not finished."""
    name, number = wanted, 1
    while True:
        past = journal.read(root / name) or Past()
        if remote is not None and not past.ended:  # another machine may have gone on with it
            there = journal.parse(remote.run(name).journal())
            past = there if there.length > past.length else past
        if resume or past.ended != "finished":
            return name, past
        number += 1
        name = f"{wanted}-{number}"


def _new(root: Path, remote: RemoteStorage | None, wanted: str) -> tuple[str, Past]:
    """A folder that nobody has, for a run that was given no name: another one may have begun in the same second."""
    name, number = wanted, 1
    while True:
        try:
            (root / name).mkdir(parents=True)
            if remote is None or not remote.run(name).journal():
                return name, Past()
        except FileExistsError:
            pass
        number += 1
        name = f"{wanted}-{number}"


def _how_it_begins(wanted: str, name: str, past: Past) -> str:
    if name != wanted and not past.name:
        return (
            f"The run {wanted} has finished, so {name} begins. RunConfig(name={wanted!r}, resume=True) goes on with "
            f"{wanted} from its latest checkpoint."
        )
    if not past.name and not past.kept:
        return ""
    how = {"stopped": "was stopped", "failed": "failed", "finished": "has finished"}.get(past.ended, "was interrupted")
    after = f"from {past.kept[-1].folder}" if past.kept else "from its beginning: it has no checkpoint"
    return f"The run {name} {how}; it goes on {after}. A new name begins a new run: RunConfig(name=...)."


def bring_here(path: str, filesystem: Any = None) -> Path:
    """The folder of a run on this machine; for a run in remote storage, a copy that is made or brought up to date."""
    parent, _, name = path.rstrip("/").rpartition("/")
    remote = storage_of(parent, filesystem)
    if remote is None:
        return Path(path)
    folder = remote.local_root() / name
    folder.mkdir(parents=True, exist_ok=True)
    remote.run(name).bring_to(folder, lambda data: journal.parse(data).kept)
    return folder


def read_run(path: str | os.PathLike[str]) -> Past:
    """A run's journal, with the existing checkpoints. Raises FileNotFoundError for a folder that holds no run."""
    past = journal.read(os.fspath(path))
    if past is None:
        raise FileNotFoundError(f"{os.fspath(path)} holds no training run of nbaccel: it has no {journal.FILE}.")
    there = {name for name in os.listdir(path) if name.startswith("checkpoint_")}
    past.kept = [each for each in past.kept if each.folder in there]
    return past
