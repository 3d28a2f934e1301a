"""What is to be tuned: checks it, and binds to it what each of its trials is given."""

from __future__ import annotations

import copy
import inspect
import io
import json
import os
import pickle
import socket
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import cloudpickle

import nbaccel
from nbaccel import elsewhere
from nbaccel.handles.option_checks import did_you_mean
from nbaccel.proc import host_address
from nbaccel.train import loops
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.tune.error import TuneError
from nbaccel.util.check_serialize import inspect_serializability

# ---- a class of trainables


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
    """A trial as a class. Override setup() and step(), and to resume later save_checkpoint() and load_checkpoint().

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

    step() is called until a stop rule or a scheduler ends the trial, or a result has done=True. Each trial has its own
    object; with TuneConfig(reuse_actors=True), an object whose reset_config() returns True serves further trials.
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
        """Build what the steps need; called first."""

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
        """Resume from the dict that save_checkpoint returned, else from its folder."""
        raise NotImplementedError(
            f"{type(self).__name__} has no load_checkpoint(self, checkpoint), and the trial goes on from one."
        )

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Start over with another config; False: a new object is made instead."""
        return False

    def cleanup(self) -> None:
        """Release what setup() took; called last."""

    def log_result(self, result: dict[str, Any]) -> None:
        """Called with each complete result before it is reported."""

    def _export_model(self, export_formats: list[str], export_dir: str) -> dict[str, str]:
        return {}

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> Any:
        """What a trial of this config holds: a PlacementGroupFactory, or None for one CPU."""
        return None

    @classmethod
    def resource_help(cls, config: dict[str, Any]) -> str:
        """A text about the resources that it needs."""
        return ""

    # ---- to call

    def train(self) -> dict[str, Any]:
        """One step; returns its metrics with those of get_auto_filled_metrics()."""
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
        """Step until `buffer_time_s` seconds are over, a result is done, or there are `max_buffer_length`."""
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
        """What is added to each result: trial_id, training_iteration, time_total_s, hostname and more."""
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
        """Save into a folder, by default a new one in the trial's; returns what `restore` takes."""
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
        """Resume from a checkpoint: what `save` returned, or its folder. Raises FileNotFoundError."""
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
        """Set the counters: steps, and seconds."""
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
        """Start over with another config, if reset_config() can; returns whether it could."""
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
        """Write the model in these formats with _export_model(); returns {format: path}."""
        formats = [export_formats] if isinstance(export_formats, str) else list(export_formats)
        return self._export_model(formats, export_dir or self.logdir)

    # ---- facts

    @property
    def logdir(self) -> str:
        """The trial's folder; without a trial a temporary one."""
        self._folder = self._folder or tempfile.mkdtemp(prefix=f"{type(self).__name__}-")
        return self._folder

    @property
    def iteration(self) -> int:
        return self._iteration

    @property
    def training_iteration(self) -> int:
        """The number of steps so far."""
        return self._iteration

    @property
    def trial_id(self) -> str:
        return self._facts.trial_id

    @property
    def trial_name(self) -> str:
        return self._facts.trial_name

    @property
    def trial_resources(self) -> dict[str, float]:
        """The sum of what the trial holds."""
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
        """The IP address of its machine, and its process id."""
        return host_address(), os.getpid()

    def is_actor(self) -> bool:
        """Whether it belongs to a trial."""
        return self._facts.trial_id != OwnTrial.trial_id


class BoundTrainable:
    """A function with the resources of its trials, or with parameters that are stored once; made by `bound`."""

    def __init__(self, function: Any, resources: Any, parameters: Mapping[str, Any]) -> None:
        self.function = function
        self.resources = resources
        self.parameters = dict(parameters)
        self.__name__ = name_of(function)

    def __call__(self, config: Any) -> Any:
        values = {name: nbaccel.get(ref) for name, ref in self.parameters.items()}
        return self.function(config, **values) if takes_config(self.function) else self.function(**values)


def bound(trainable: Any, resources: Any, parameters: Mapping[str, Any]) -> BoundTrainable:
    """The trainable with these resources, and with these parameters beside those that it has."""
    if isinstance(trainable, BoundTrainable):
        return BoundTrainable(trainable.function, resources, {**trainable.parameters, **parameters})
    return BoundTrainable(trainable, resources, parameters)


def name_of(function: Any) -> str:
    """The trainable's name, as a folder may have it."""
    name = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", None)
    text = str(name or type(function).__name__)
    return "".join(each if each.isalnum() or each in "-_" else "_" for each in text[:50]).strip("_") or "trainable"


def checked(trainable: Any) -> Any:
    """The trainable, a function of the config or a class; of a name, what was registered.

    Raises ValueError, or TuneError for an unknown name, with what to give instead.
    """
    if isinstance(trainable, str):
        return checked(get_trainable_cls(trainable))
    is_bound = isinstance(trainable, BoundTrainable)
    function, given = (trainable.function, trainable.parameters) if is_bound else (trainable, {})
    if inspect.isclass(function):
        _check_class(function, given)
        return trainable
    if not callable(trainable):
        raise ValueError(f"The trainable must be a function of the config or a trainer, not {trainable!r}.")
    loops.refuse_what_a_call_does_not_run(function, "The trainable")
    _refuse_arguments_that_are_left(function, given)
    _refuse_arguments_that_it_does_not_take(function, given)
    return trainable


def refuse_what_cannot_be_sent(trainable: Any) -> None:
    """Raises what pickling raises, with the part that cannot be pickled, before an experiment has begun."""
    function = trainable.function if isinstance(trainable, BoundTrainable) else trainable
    if nbaccel.is_initialized():
        nbaccel.put((function,))
        return
    try:
        cloudpickle.dumps(function)
    except Exception as error:
        fine, parts = inspect_serializability(function, print_file=io.StringIO())
        names = ", ".join(sorted(each.name for each in parts))
        if fine or not names:
            raise
        raise TypeError(
            f"The trainable {name_of(function)} cannot be sent to its trials: {names} cannot be pickled ({error}). "
            "Make it in the trainable, or give it by tune.with_parameters."
        ) from error


def is_class(trainable: Any) -> bool:
    """Whether this is a class of trainables, also with resources or parameters."""
    return inspect.isclass(trainable.function if isinstance(trainable, BoundTrainable) else trainable)


def class_of(trainable: Any) -> Any:
    """The class, whose setup() gets the parameters that were bound to it."""
    if not isinstance(trainable, BoundTrainable) or not trainable.parameters:
        return trainable.function if isinstance(trainable, BoundTrainable) else trainable
    cls = trainable.function
    values = {name: nbaccel.get(ref) for name, ref in trainable.parameters.items()}

    def setup(self: Trainable, config: dict[str, Any]) -> None:
        cls.setup(self, config, **values)

    return type(cls.__name__, (cls,), {"setup": setup, "__module__": cls.__module__, "__qualname__": cls.__qualname__})


def _check_class(cls: type, given: Mapping[str, Any]) -> None:
    if not issubclass(cls, Trainable):
        module = "ray.tune" if any(each.__module__.startswith("ray.tune") for each in cls.__mro__) else ""
        raise ValueError(
            f"The trainable {cls.__name__} is a class{' of Ray Tune' if module else ''}. A class of trainables is "
            "derived from nbaccel.tune.Trainable, with setup() and step()."
        )
    wanted = [name for name in loops.required(cls.setup)[2:] if name not in given]
    if wanted:
        raise ValueError(
            f"{cls.__name__}.setup has the arguments {', '.join(wanted)} beside the config: give them once, for all "
            f"trials: tune.with_parameters({cls.__name__}, {wanted[0]}=...)."
        )
    if given:
        _refuse_unknown_names(cls.setup, given, f"{cls.__name__}.setup")


def _refuse_arguments_that_are_left(function: Any, given: Mapping[str, Any]) -> None:
    by_place, by_name = loops.required(function), loops.required_by_name(function)
    left = [name for name in (*by_place[1:], *by_name) if name not in given]
    if not left:
        return
    wanted = [name for name in (*by_place, *by_name) if name not in given]
    raise ValueError(
        f"The trainable takes the config alone, but {name_of(function)} has {len(wanted)} required "
        f"argument{'s' if len(wanted) > 1 else ''}: {', '.join(wanted)}. Give the others once, for all trials: "
        f"tune.with_parameters(trainable, {left[0]}=...)."
    )


def _refuse_arguments_that_it_does_not_take(function: Any, given: Mapping[str, Any]) -> None:
    if not given:
        return
    known = _refuse_unknown_names(function, given, name_of(function))
    if known and takes_config(function) and known[0] in given:
        raise ValueError(
            f"tune.with_parameters(trainable, {known[0]}=...): the first argument of {name_of(function)} is the "
            f"config. Let it take two: config, {known[0]}."
        )


def _refuse_unknown_names(function: Any, given: Mapping[str, Any], name: str) -> list[str]:
    """The names of the function's arguments; [] if nobody knows them."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return []
    known = list(signature.parameters)
    if unknown := [each for each in given if each not in known and not _takes_all_names(signature)]:
        raise ValueError(
            f"tune.with_parameters(trainable, {unknown[0]}=...): {name} has no argument {unknown[0]!r}."
            f"{did_you_mean(unknown[0], known)}"
        )
    return known


def _takes_all_names(signature: inspect.Signature) -> bool:
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values())


def takes_config(function: Callable[..., Any]) -> bool:
    """Whether the function takes the config; a function without parameters is called without."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C
        return True
    kinds = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    )
    return any(each.kind in kinds for each in parameters)


# ---- names for trainables, in this process


_trainables: dict[str, Any] = {}


def register_trainable(name: str, trainable: Callable[..., Any] | type, warn: bool = True) -> None:
    """Give a trainable a name, which tune.run and Tuner take in its place. A later one replaces the former.

    >>> tune.register_trainable("doubled", lambda config: {"loss": 2 * config["x"]})
    >>> tune.run("doubled", config={"x": 2}).trials[0].last_result["loss"]
    4
    """
    if not isinstance(name, str) or not callable(trainable):
        raise TypeError(f"register_trainable takes a name and a function or a class, not {name!r} and {trainable!r}.")
    _trainables[name] = trainable


def get_trainable_cls(trainable_name: str) -> Any:
    """The trainable of this name. Raises TuneError if there is none."""
    if trainable_name not in _trainables:
        known = f" Registered are: {', '.join(sorted(_trainables))}." if _trainables else ""
        raise TuneError(
            f"Unknown trainable: {trainable_name}. tune.register_trainable(name, trainable) gives a name to yours; "
            f"RLlib, whose algorithms have names, is not here.{known}"
        )
    return _trainables[trainable_name]


def is_function_trainable(trainable: Any) -> bool:
    """Whether a trainable, or that of a name, is a function."""
    found = get_trainable_cls(trainable) if isinstance(trainable, str) else trainable
    return callable(found) and not isinstance(found, type)


register_env = elsewhere.refusing(__name__, "register_env", "RLlib is not here, and trainables need no environments.")


def __getattr__(name: str) -> Any:
    if name == "with_parameters":  # its module needs this one
        from nbaccel.tune import resources

        return resources.with_parameters
    raise elsewhere.no_attribute(__name__, name)
