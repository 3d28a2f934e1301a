"""The folder of a trial; a checkpoint gets into it whole or not at all.

```
  <experiment>/<trial>/.attempt_002/.checkpoint_000007.part/…    an attempt puts its files here
                      /checkpoint_000007/…                       … and the driver renames it
                      /exploited_003/…                           a copy of the checkpoint of another trial
```
Each attempt has a place of its own: a process of an attempt that is over, whose driver was killed a moment ago, may
still write while the next attempt runs.
"""

from __future__ import annotations

import os
import re
import shutil

from nbaccel.train import storage
from nbaccel.tune.trial import Trial

_REST = re.compile(r"\.(checkpoint|exploited)_\d+\.(part|deleted)|\.attempt_\d+|\.saved-.*")
_CHECKPOINT = re.compile(r"checkpoint_\d{6,}")


def place_of(folder: str, attempt: int) -> str:
    """Where an attempt puts the files of its checkpoints."""
    return os.path.join(folder, f".attempt_{attempt:03d}")


def bring(source: str, folder: str, attempt: int, report: int, *, move: bool) -> None:
    """Put the files of a checkpoint where the driver can commit them. Raises OSError if the disk is full."""
    storage.bring(source, place_of(folder, attempt), report, move=move)


def commit(folder: str, attempt: int, report: int) -> str:
    """Give a finished checkpoint its name; returns the name. Raises OSError."""
    return storage.commit(place_of(folder, attempt), report, into=folder)[0]


def copy(source: str, folder: str, name: str) -> None:
    """Copy a checkpoint of another trial, in place of an earlier copy of this name. Raises OSError."""
    part = os.path.join(folder, f".{name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a driver that was killed
    shutil.copytree(source, part)
    storage.delete(folder, name)  # of an attempt that failed before it could begin there
    os.rename(part, os.path.join(folder, name))


def clear(folder: str) -> None:
    """Remove what is no checkpoint, when no attempt of this driver runs."""
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            if _REST.fullmatch(name):
                shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def settle(experiment: str, trial: Trial, *, remove: bool) -> None:
    """Make the journal and the folder agree, after a crash or a move.

    A checkpoint whose folder is gone is forgotten. With `remove`, a folder that the journal does not name is removed:
    the trial goes on from the one before, and reports that step again.
    """
    folder = os.path.join(experiment, trial.folder_name)
    there = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    trial.kept = [each for each in trial.kept if each.folder in there]
    if remove:
        clear(folder)
        known = {each.folder for each in trial.kept}
        for name in there - known:
            if _CHECKPOINT.fullmatch(name):
                storage.delete(folder, name)
