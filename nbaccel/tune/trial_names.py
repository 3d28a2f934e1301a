"""What trials and their folders are called: as in Ray Tune, "train_f21cc_00000" and "train_f21cc_00000_0_lr=0.0100"."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nbaccel.views import wording

if TYPE_CHECKING:
    from nbaccel.tune.trial import Trial

MOST = 130  # characters of a folder's name; TUNE_MAX_LEN_IDENTIFIER sets another number
_UNFIT = re.compile(r"[^A-Za-z0-9_.,=@+-]+")


def tag_of(number: int, params: Mapping[str, Any]) -> str:
    """ "3_lr=0.0100,layers=2": the number of a trial, and its parameters by the last part of their names."""
    words = [f"{name.rpartition('/')[2]}={_word(value)}" for name, value in sorted(params.items())]
    return f"{number}_{','.join(words)}" if words else str(number)


def _word(value: Any) -> str:
    text = f"{value:.4f}" if type(value) is float else wording.text_of(value, MOST, _text)
    return _UNFIT.sub("_", text)


def _text(value: Any) -> str:
    return str(getattr(value, "__name__", value))


class TrialNames:
    """Names the trials of an experiment.

    name_creator, dirname_creator  functions of the trial, of TuneConfig
    """

    def __init__(
        self,
        trainable: str,
        name_creator: Callable[[Trial], Any] | None = None,
        dirname_creator: Callable[[Trial], Any] | None = None,
    ) -> None:
        self._trainable, self._name_creator, self._dirname_creator = trainable, name_creator, dirname_creator
        self._most = int(os.environ.get("TUNE_MAX_LEN_IDENTIFIER", MOST))
        self._taken: set[str] = set()

    def name(self, trial: Trial, experiment_folder: str) -> None:
        """Name a trial and its folder; one of a journal keeps its names. Raises ValueError for an unfit one."""
        trial.trainable_name = self._trainable
        trial.experiment_folder = experiment_folder
        trial.tag = trial.experiment_tag
        if trial.folder:
            self._taken.add(trial.folder)
            return
        if self._name_creator is not None:
            trial.custom_name = str(self._name_creator(trial))
        if self._dirname_creator is None:
            trial.folder = _UNFIT.sub("_", f"{trial}_{trial.experiment_tag}")[: self._most].rstrip(".")
        else:
            trial.folder = _checked(str(self._dirname_creator(trial)))
        if trial.folder in self._taken:
            trial.folder = f"{trial.folder}_{trial.id}"
        self._taken.add(trial.folder)


def _checked(name: str) -> str:
    if not name or name in (".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > 240:
        raise ValueError(
            f"trial_dirname_creator returned {name!r}: it returns the name of a folder, without '/' and of at most 240 "
            "bytes."
        )
    return name
