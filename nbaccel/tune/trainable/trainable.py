"""Trainable: a trial as a class with `setup`, `step`, `save_checkpoint` and `load_checkpoint`. Names as in Ray Tune."""

from __future__ import annotations

import copy
import json
import os
import pickle
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from nbaccel.proc import host_address
from nbaccel.train.checkpoint import Checkpoint

SHOULD_CHECKPOINT = "should_checkpoint"
OF_EACH_RESULT = {
    "training_iteration", "time_this_iter_s", "time_total_s", "timestamp", "date", "pid", "hostname", "node_ip",
    "config", "time_since_restore", "iterations_since_restore", "trial_id", "experiment_tag",
}  # fmt: skip
_METADATA, _STATE = ".tune_metadata", "_dict_checkpoint.pkl"


@dataclass(frozen=True)
class OwnTrial:
    """The trial of an object; without one, "default"."""

    trial_id: str = "default"
    trial_name: str = "default"
    folder: str = ""
    resources: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingResult:
    """A checkpoint, with the metrics of the last step before it."""

    checkpoint: Checkpoint
    metrics: dict[str, Any]


class Trainable:
    """A trial as a class. Override setup() and step(), and save_checkpoint() and load_checkpoint() to go on later.

    >>> class Net(tune.Trainable):
    ...     def setup(self, config):
    ...         self.x = config["start"]
    ...     def step(self):
    ...         self.x *= 0.5
    ...         return {"loss": self.x}
    ...     def save_checkpoint(self, checkpoint_dir):
    ...         return {"x": self.x}                       # or write files into the folder
    ...     def load_checkpoint(self, checkpoint):         # that dict, or the folder
    ...         self.x = checkpoint["x"]
    >>> stop = tune.RunConfig(stop={"training_iteration": 3})
    >>> tune.Tuner(Net, param_space={"start": 1.0}, run_config=stop).fit()[0].metrics["loss"]
    0.125

    step() is called until a stop rule or a scheduler ends the trial, or a result has done=True. Each trial has an
    object of its own; with TuneConfig(reuse_actors=True), one whose reset_config() returns True serves further trials.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        logger_creator: Any = None,
        storage: Any = None,
        *,
        facts: OwnTrial | None = None,
    ) -> None:
        self.config: dict[str, Any] = dict(config or {})
        self._facts = facts or OwnTrial()
        self._folder = self._facts.folder
        self._iteration = self._iterations_since_restore = 0
        self._time_total = self._time_since_restore = 0.0
        self._timesteps_total: int | None = None
        self._episodes_total: int | None = None
        self._last_result: dict[str, Any] = {}
        self.setup(copy.deepcopy(self.config))

    # ---- to override

    def setup(self, config: dict[str, Any]) -> None:
        """Begin: build what the steps need."""

    def step(self) -> dict[str, Any]:
        """One step; returns its metrics."""
        raise NotImplementedError(f"{type(self).__name__} has no step(self): it returns a dict of metrics.")

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, Any] | None:
        """Write files into the folder, or return a dict."""
        raise NotImplementedError(
            f"{type(self).__name__} has no save_checkpoint(self, checkpoint_dir), and a checkpoint is wanted: write "
            "files into the folder, or return a dict."
        )

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Go on from what save_checkpoint has returned; the folder if that was no dict."""
        raise NotImplementedError(
            f"{type(self).__name__} has no load_checkpoint(self, checkpoint), and the trial goes on from one."
        )

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Begin anew with another config; False: make a new object instead."""
        return False

    def cleanup(self) -> None:
        """The end: give back what setup() took."""

    def log_result(self, result: dict[str, Any]) -> None:
        """Called with each result, complete, before it is reported."""

    def _export_model(self, export_formats: list[str], export_dir: str) -> dict[str, str]:
        return {}

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> Any:
        """What a trial of this config holds: a PlacementGroupFactory, or None for one CPU."""
        return None

    @classmethod
    def resource_help(cls, config: dict[str, Any]) -> str:
        """Words about the resources that it wants."""
        return ""

    # ---- to call

    def train(self) -> dict[str, Any]:
        """One step; returns its metrics with the counters and facts that are added."""
        start = time.monotonic()
        result = self.step()
        if not isinstance(result, Mapping):
            raise ValueError(f"{type(self).__name__}.step() returns a dict of metrics, not {result!r}.")
        self._iteration += 1
        self._iterations_since_restore += 1
        took = result.get("time_this_iter_s")
        took = time.monotonic() - start if took is None else took
        self._time_total += took
        self._time_since_restore += took
        found = {"done": False, **self._totals(result), **result}
        found = {**found, **self.get_auto_filled_metrics(time_this_iter=took)}
        self._last_result = found
        self.log_result(found)
        return found

    def _totals(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Steps and episodes that results have counted."""
        found = {}
        for name in ("timesteps", "episodes"):
            total, more = getattr(self, f"_{name}_total"), result.get(f"{name}_this_iter")
            total = (total or 0) + more if more is not None else result.get(f"{name}_total", total)
            setattr(self, f"_{name}_total", total)
            if total is not None:
                found[f"{name}_total"] = total
        return found

    def train_buffered(self, buffer_time_s: float, max_buffer_length: int = 1000) -> list[dict[str, Any]]:
        """Several steps: until so many seconds have passed, a result is done, or there are so many."""
        results: list[dict[str, Any]] = []
        until = time.monotonic() + buffer_time_s
        while len(results) < max_buffer_length:
            results.append(self.train())
            if results[-1].get("done") or results[-1].get(SHOULD_CHECKPOINT) or time.monotonic() > until:
                break
        return results

    def get_auto_filled_metrics(
        self, now: datetime | None = None, time_this_iter: float | None = None, debug_metrics_only: bool = False
    ) -> dict[str, Any]:
        """The counters and facts that are added to each result."""
        now = now or datetime.now()
        found = {
            "trial_id": self.trial_id,
            "date": f"{now:%Y-%m-%d_%H-%M-%S}",
            "timestamp": int(now.timestamp()),
            "time_this_iter_s": time_this_iter,
            "time_total_s": self._time_total,
            "training_iteration": self._iteration,
            "pid": os.getpid(),
            "hostname": socket.gethostname(),
            "node_ip": host_address(),
            "config": self.config,
            "time_since_restore": self._time_since_restore,
            "iterations_since_restore": self._iterations_since_restore,
        }
        return found if not debug_metrics_only else {each: found[each] for each in ("trial_id", "date", "timestamp")}

    def save(self, checkpoint_dir: str | None = None) -> TrainingResult:
        """Save into a folder, by default a new one of the trial; `restore` takes what this returns."""
        folder = checkpoint_dir or tempfile.mkdtemp(prefix=f"checkpoint_{self._iteration:06d}-", dir=self.logdir)
        os.makedirs(folder, exist_ok=True)
        found = self.save_checkpoint(folder)
        if isinstance(found, Mapping):
            (Path(folder) / _STATE).write_bytes(pickle.dumps(found))
        counters = self.get_state()
        del counters["last_result"]
        (Path(folder) / _METADATA).write_text(json.dumps(counters))
        return TrainingResult(Checkpoint(folder), dict(self._last_result))

    def restore(self, checkpoint_path: str | os.PathLike[str] | Checkpoint | TrainingResult) -> None:
        """Go on from a checkpoint: what `save` returned, or its folder."""
        if isinstance(checkpoint_path, TrainingResult):
            checkpoint_path = checkpoint_path.checkpoint
        folder = Path(checkpoint_path.path if isinstance(checkpoint_path, Checkpoint) else checkpoint_path)
        if not folder.is_dir():
            raise FileNotFoundError(f"{type(self).__name__}.restore: there is no checkpoint at {folder}.")
        if (folder / _METADATA).exists():
            counters = json.loads((folder / _METADATA).read_text())
            self._timesteps_total, self._episodes_total = counters["timesteps_total"], counters["episodes_total"]
            self.counts_on(counters["iteration"], counters["time_total"])
        state = folder / _STATE
        self.load_checkpoint(pickle.loads(state.read_bytes()) if state.exists() else str(folder))

    def counts_on(self, iteration: int, time_total: float) -> None:
        """Count on from here."""
        self._iteration, self._time_total = iteration, time_total
        self._iterations_since_restore, self._time_since_restore = 0, 0.0

    def reset(
        self,
        new_config: Mapping[str, Any],
        logger_creator: Any = None,
        storage: Any = None,
        *,
        facts: OwnTrial | None = None,
    ) -> bool:
        """Begin anew with another config, if reset_config() can; returns whether it did."""
        self.config = dict(new_config)
        if facts is not None:
            self._facts, self._folder = facts, facts.folder
        self.counts_on(0, 0.0)
        self._timesteps_total = self._episodes_total = None
        return bool(self.reset_config(copy.deepcopy(self.config)))

    def stop(self) -> None:
        """End: calls cleanup()."""
        self.cleanup()

    def export_model(self, export_formats: list[str] | str, export_dir: str | None = None) -> dict[str, str]:
        """Write the model in these formats, by _export_model(); returns the paths by format."""
        formats = [export_formats] if isinstance(export_formats, str) else list(export_formats)
        return self._export_model(formats, export_dir or self.logdir)

    # ---- facts

    @property
    def logdir(self) -> str:
        """The trial's folder; outside of a trial a temporary one."""
        self._folder = self._folder or tempfile.mkdtemp(prefix=f"{type(self).__name__}-")
        return self._folder

    @property
    def iteration(self) -> int:
        return self._iteration

    @property
    def training_iteration(self) -> int:
        return self._iteration

    @property
    def trial_id(self) -> str:
        return self._facts.trial_id

    @property
    def trial_name(self) -> str:
        return self._facts.trial_name

    @property
    def trial_resources(self) -> dict[str, float]:
        return self._facts.resources

    def get_config(self) -> dict[str, Any]:
        return self.config

    def get_state(self) -> dict[str, Any]:
        """The counters, as `save` writes them, and the last result."""
        return {
            "iteration": self._iteration,
            "time_total": self._time_total,
            "timesteps_total": self._timesteps_total,
            "episodes_total": self._episodes_total,
            "last_result": self._last_result,
        }

    def get_current_ip_pid(self) -> tuple[str, int]:
        """The address of its machine, and the number of its process."""
        return host_address(), os.getpid()

    def is_actor(self) -> bool:
        """Whether a trial has made it."""
        return self._facts.trial_id != OwnTrial.trial_id
