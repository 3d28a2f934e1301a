"""The exchanges of a population, in files as Ray Tune writes them: `pbt_global.txt`, and `pbt_policy_<trial>.txt`.

A line is a JSON list: the names of the trial and of its donor, their iterations, the config before and the one after. A
trial's file begins with that of its donor, so that it is the whole schedule of what the trial has become.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

from nbaccel.views import wording


def note(trial: Any, donor: Any, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Append an exchange. Raises OSError if the disk is full."""
    if not trial.experiment_folder:
        return
    counts = [int(each.last.get("training_iteration", 0)) for each in (trial, donor)]
    line = json.dumps([str(trial), str(donor), *counts, before, after], default=_text) + "\n"
    own, others = (os.path.join(trial.experiment_folder, f"pbt_policy_{each.id}.txt") for each in (trial, donor))
    if os.path.exists(others) and others != own:
        shutil.copyfile(others, own)
    for path in (os.path.join(trial.experiment_folder, "pbt_global.txt"), own):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line)


def read(path: str) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """The schedule of a trial: at which iteration, the config before, the one after. Raises ValueError for none."""
    found = []
    with open(os.path.expanduser(path), encoding="utf-8") as file:
        for number, text in enumerate(file):
            try:
                _, _, _, at, before, after = json.loads(text)
            except ValueError:
                raise ValueError(f"Line {number + 1} of {path} is no exchange of PopulationBasedTraining.") from None
            found.append((int(at), before, after))
    if not found:
        raise ValueError(f"{path} has no exchange: the trial kept its config. Run that config again.")
    return found


def _text(value: Any) -> str:
    return wording.text_of(value, text=repr)
