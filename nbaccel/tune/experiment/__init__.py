"""Experiment: the arguments of `tune.run` under a name, for `tune.run_experiments`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nbaccel.tune.trial import Trial

__all__ = ["Experiment", "Trial"]


class Experiment:
    """A trainable with the arguments that tune.run has for it.

    >>> def train_model(config): return {"loss": config["lr"]}
    >>> first = tune.Experiment("first", train_model, config={"lr": tune.uniform(0, 1)}, num_samples=2)
    >>> len(tune.run_experiments(first))
    2
    """

    def __init__(
        self,
        name: str,
        run: Any,
        *,
        stop: Any = None,
        time_budget_s: Any = None,
        config: Mapping[str, Any] | None = None,
        resources_per_trial: Any = None,
        num_samples: int = 1,
        storage_path: str | os.PathLike[str] | None = None,
        checkpoint_config: Any = None,
        log_to_file: Any = False,
        export_formats: Any = None,
        max_failures: int = 0,
        restore: Any = None,
        trial_name_creator: Any = None,
        trial_dirname_creator: Any = None,
    ) -> None:
        self.name, self.run = name, run
        options = {each: value for each, value in locals().items() if each not in ("self", "name", "run")}
        self.spec: dict[str, Any] = {each: value for each, value in options.items() if value is not None}

    @classmethod
    def from_json(cls, name: str, spec: Mapping[str, Any]) -> Experiment:
        """An experiment of a dict: {"run": f, "config": {…}, "stop": {…}}."""
        if "run" not in spec:
            raise ValueError(f"The experiment {name!r} has no 'run': its function, class, or registered name.")
        options = dict(spec)
        return cls(name, options.pop("run"), **options)

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {self.run!r})"
