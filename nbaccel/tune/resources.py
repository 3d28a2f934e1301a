"""What a trial holds while it runs, in Ray Tune's words: {"cpu": 2, "gpu": 0.5}, or a PlacementGroupFactory.

```
  {"cpu": 2, "gpu": 1}                       one bundle: the trial is a task
  PlacementGroupFactory([{…}, {…}, {…}])     several: the trial is a task in the first, and its own tasks use the others
  lambda config: {"gpu": config["gpus"]}     for each trial by its config
```
Keys may be written in lower or upper case. A dict without "cpu" asks for no CPU, as in Ray; None asks for one.
"""

from __future__ import annotations

import copy
import difflib
import inspect
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any

import nbaccel
from nbaccel.handles import option_checks as checks
from nbaccel.handles.option_checks import did_you_mean
from nbaccel.quantities import ACCELERATORS
from nbaccel.train import loops, storage
from nbaccel.train.configs import CheckpointConfig, FailureConfig, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.forwarding import host
from nbaccel.tune.comparing import plain_number
from nbaccel.tune.trainable import BoundTrainable, Trainable, bound, is_class
from nbaccel.tune.trial_session import TrialSession
from nbaccel.util.placement_group import VALID_PLACEMENT_GROUP_STRATEGIES

Resources = dict[str, float]

# Ours beside Ray's keys: they go to the trial's task as they are.
_OPTIONS = ("gpu_memory", "fallback", "fallback_after_s", "fallback_on", "label_selector", "accelerator_type")
_MISTAKES = {
    "num_cpus": "cpu",
    "num_gpus": "gpu",
    "cpus": "cpu",
    "gpus": "gpu",
    "extra_cpu": "a PlacementGroupFactory with a second bundle",
    "extra_gpu": "a PlacementGroupFactory with a second bundle",
    "resources": "custom_resources",
}


@dataclass(frozen=True, slots=True)
class TrialResources:
    """What one trial asks for.

    bundles   by resource; "CPU" and "GPU" in upper case
    strategy  how several bundles are placed
    options   further options of the trial's task
    is_worker_group  the worker group that the trial starts holds them, and its task holds nothing
    is_headless  the tasks of the trial hold them, since its own bundle is empty
    """

    bundles: tuple[Resources, ...] = ({"CPU": 1.0},)
    strategy: str = "PACK"
    options: Mapping[str, Any] = field(default_factory=dict)
    is_worker_group: bool = False
    is_headless: bool = False

    @property
    def is_task(self) -> bool:
        """Whether the trial is a task that holds all of it."""
        return not self.is_worker_group and not self.is_headless and len(self.bundles) == 1

    @property
    def total(self) -> Resources:
        found: Resources = {}
        for bundle in self.bundles:
            for name, amount in bundle.items():
                found[name] = found.get(name, 0) + amount
        return found

    @property
    def least(self) -> TrialResources:
        """What a trial holds at least: one with a fallback may run without its devices."""
        if "fallback" not in self.options:
            return self
        plain = tuple({name: n for name, n in each.items() if name not in ACCELERATORS} for each in self.bundles)
        return replace(self, bundles=plain if any(plain) else ({"CPU": 1.0},))

    def task_options(self) -> dict[str, Any]:
        """The options of the trial's task: those of the first bundle."""
        if self.is_worker_group or self.is_headless:
            return {"num_cpus": 0}
        first = dict(self.bundles[0])
        options = {"num_cpus": first.pop("CPU", 0), "num_gpus": first.pop("GPU", 0), **self.options}
        memory = first.pop("memory", None)
        if memory:
            options["memory"] = memory
        if first:
            options["resources"] = first
        return options

    def fits(self, there: Mapping[str, float]) -> int:
        """How many such trials these resources hold."""
        counts = [math.floor(there.get(name, 0) / amount + 1e-6) for name, amount in self.total.items() if amount]
        return min(counts, default=1000)


class PlacementGroupFactory:
    """The bundles of a trial, such as {"CPU": 1}. The trial runs in the first; tasks that it starts use all of them.

    If the first bundle is empty, all others are for the tasks. Raises ValueError for invalid bundles.

    >>> bundles = PlacementGroupFactory([{"CPU": 1}, {"GPU": 1}])      # the trial in the first, its tasks in both
    """

    def __init__(self, bundles: Sequence[Mapping[str, float]], strategy: str = "PACK") -> None:
        if not bundles or not all(isinstance(bundle, Mapping) for bundle in bundles):
            raise ValueError(f"PlacementGroupFactory takes a list of dicts of resources, not {bundles!r}.")
        if strategy not in VALID_PLACEMENT_GROUP_STRATEGIES:
            known = ", ".join(VALID_PLACEMENT_GROUP_STRATEGIES)
            raise ValueError(f"PlacementGroupFactory(strategy={strategy!r}) must be one of: {known}.")
        for bundle in bundles:
            if options := [name for name in _OPTIONS if name in bundle]:
                raise ValueError(
                    f"A bundle of PlacementGroupFactory has amounts of resources alone, not {options[0]!r}. A trial of "
                    f"one bundle may have it: tune.with_resources(trainable, {{..., {options[0]!r}: ...}})."
                )
            given: dict[str, Any] = dict(bundle)
            numbers = {name: amount for name, amount in given.items() if isinstance(amount, Real)}
            checks.bundle("A bundle of PlacementGroupFactory", numbers)
        self.bundles = [dict(bundle) for bundle in bundles]
        self.strategy = strategy

    @property
    def head_bundle_is_empty(self) -> bool:
        return not _bundle(self.bundles[0])[0]

    @property
    def head_cpus(self) -> float:
        """The CPUs of the first bundle."""
        return _bundle(self.bundles[0])[0].get("CPU", 0)

    @property
    def required_resources(self) -> Resources:
        """The sum of all bundles."""
        return resources_of(self, {}).total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlacementGroupFactory) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.strategy, str(self.bundles)))

    def __repr__(self) -> str:
        return f"PlacementGroupFactory({self.bundles}, strategy={self.strategy!r})"


def resource_dict_to_pg_factory(spec: Mapping[str, Any] | PlacementGroupFactory | None = None) -> PlacementGroupFactory:
    """The factory of a dict such as {"cpu": 2, "gpu": 1}; one CPU for None."""
    if isinstance(spec, PlacementGroupFactory):
        return spec
    return PlacementGroupFactory([dict(bundle) for bundle in resources_of(spec, {}).bundles])


def resources_of(given: Any, config: Mapping[str, Any]) -> TrialResources:
    """The resources of a trial with this config. Raises ValueError for keys that look like mistakes."""
    if callable(given):
        given = given(config)
    if given is None:
        return TrialResources()
    if isinstance(given, TrialResources):
        return given
    if isinstance(given, PlacementGroupFactory):
        bundles = [_bundle(bundle)[0] for bundle in given.bundles]
        filled = tuple(each for each in bundles if each)
        return TrialResources(filled or ({},), given.strategy, is_headless=bool(filled) and not bundles[0])
    if not isinstance(given, Mapping):
        raise ValueError(f"The resources of a trial are a dict such as {{'cpu': 2, 'gpu': 1}}, not {given!r}.")
    bundle, options = _bundle(given)
    return TrialResources((bundle,), options=options)


def _bundle(given: Mapping[str, Any]) -> tuple[Resources, dict[str, Any]]:
    bundle: Resources = {}
    options: dict[str, Any] = {}
    for key, value in given.items():
        if not isinstance(key, str):
            raise ValueError(f"The resources of a trial are named by texts such as 'cpu', not {key!r}.")
        if key in _MISTAKES:
            raise ValueError(
                f"The resources of a trial have the key {key!r}: write {_MISTAKES[key]!r}, as in Ray Tune."
            )
        if key in _OPTIONS:
            options[key] = value
        elif key == "custom_resources":
            if not isinstance(value, Mapping):
                raise ValueError(f"The resources of a trial: {key!r} is a dict such as {{'blue': 1}}, not {value!r}.")
            bundle |= {name: _amount(name, amount) for name, amount in value.items() if amount}
        else:
            name = key.upper() if key.lower() in ("cpu", "gpu", "tpu") else key
            if name == key:
                _refuse_a_slip(key)
            if (amount := _amount(key, value)) > 0:
                bundle[name] = amount
    return bundle, options


def _refuse_a_slip(key: str) -> None:
    """Raises ValueError for a resource of the user's own whose name looks like a slip of a known key."""
    known = (*_OPTIONS, "cpu", "gpu", "tpu", "memory", "custom_resources")
    close = difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.75)
    if close and key not in known and key not in ("CPU", "GPU", "TPU"):
        raise ValueError(
            f"The resources of a trial have the key {key!r}. Did you mean {close[0]!r}? A resource of your own with "
            f"such a name is {{'custom_resources': {{{key!r}: ...}}}}."
        )


def _amount(name: str, value: Any) -> float:
    value = plain_number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        known = (*_OPTIONS, "cpu", "gpu", "memory", "custom_resources")
        hint = did_you_mean(name, known) if name.lower() not in known else ""
        raise ValueError(f"The resources of a trial: {name!r} must be a number from 0, not {value!r}.{hint}")
    checks.bundle("The resources of a trial", {name: value})
    if name.upper() in ACCELERATORS and value > 1 and value % 1:
        raise ValueError(
            f"The resources of a trial: {name!r} is {value}, but a trial holds a part of one device or whole ones. Ask "
            f"for {math.floor(value)} or {math.ceil(value)}, or for a part below 1."
        )
    return float(value)


# ---- trainables with more than a config


def with_resources(
    trainable: Callable[..., Any],
    resources: Mapping[str, Any] | PlacementGroupFactory | Callable[[Any], Mapping[str, Any] | PlacementGroupFactory],
) -> BoundTrainable:
    """The trainable, with what each of its trials holds: a dict, a PlacementGroupFactory, or a function of the config.

    >>> def train_model(config): return {"loss": 1}
    >>> half = tune.with_resources(train_model, {"cpu": 2, "gpu": 0.5})       # two trials share a GPU
    >>> some = tune.with_resources(train_model, lambda config: {"gpu": config["gpus"]})
    """
    _check_function(trainable)
    if not callable(resources):
        resources_of(resources, {})
    return bound(trainable, resources, {})


def with_parameters(trainable: Callable[..., Any], **parameters: Any) -> BoundTrainable:
    """The trainable, with large parameters that are put into the object store once and passed to every trial.

    >>> def train_model(config, data): return {"loss": len(data)}
    >>> tune.Tuner(tune.with_parameters(train_model, data=[1, 2, 3])).fit()[0].metrics["loss"]
    3
    """
    _check_function(trainable)
    refs = {name: nbaccel.put(value) for name, value in parameters.items()}
    return bound(trainable, requested_by(trainable), refs)


def _check_function(trainable: Any) -> None:
    if isinstance(trainable, DataParallelTrainer):
        raise ValueError(
            "tune.with_resources and tune.with_parameters take a function or a class. The trials of a trainer hold "
            "what its scaling_config asks for, and its large values come as datasets=."
        )
    if not callable(trainable) or (inspect.isclass(trainable) and not issubclass(trainable, Trainable)):
        raise ValueError(f"The trainable must be a function of the config or a tune.Trainable, not {trainable!r}.")


def requested_by(trainable: Any) -> Any:
    """The resources that `with_resources` gave to a trainable, or its class asks for; None without."""
    bound_to_it = trainable.resources if isinstance(trainable, BoundTrainable) else None
    if bound_to_it is not None or not is_class(trainable):
        return bound_to_it
    cls = trainable.function if isinstance(trainable, BoundTrainable) else trainable
    own: Any = cls.default_resource_request
    return None if own.__func__ is vars(Trainable)["default_resource_request"].__func__ else own


# ---- a trainer as a trainable: each trial is a run of its own, and holds what the run's worker group does
#
# ```
#   Tuner(trainer, param_space={"train_loop_config": {"lr": …}, "scaling_config": {"num_workers": …}})
#      └── a task that holds nothing ── trainer.fit() ──► a worker group, placed as a whole
# ```


LOOP, SCALING = "train_loop_config", "scaling_config"


class TrainerTrial:
    """The trainable that a trainer is: it fits the trainer with a trial's config."""

    def __init__(self, trainer: DataParallelTrainer) -> None:
        if trainer.run_config.callbacks:
            raise ValueError(
                "RunConfig(callbacks) of a trainer that is tuned would run in the processes of its trials: pass "
                "Tuner(run_config=tune.RunConfig(callbacks=[...])) with a tune.Callback."
            )
        self._trainer = trainer
        self.__name__ = loops.name_of(trainer.train_loop_per_worker)

    def check(self, space: Mapping[str, Any]) -> None:
        """Raises ValueError for a search space with other keys than a trainer has."""
        for name, value in space.items():
            if name not in (LOOP, SCALING):
                raise ValueError(
                    f"param_space has {name!r}, but that of a trainer has {LOOP!r} and {SCALING!r}: write "
                    f"{{{LOOP!r}: {{{name!r}: ...}}}}.{did_you_mean(name, (LOOP, SCALING))}"
                )
            if name == SCALING and isinstance(value, Mapping) and "grid_search" not in value:
                known = [each.name for each in fields(ScalingConfig)]
                for key in value:
                    if key not in known:
                        raise ValueError(f"ScalingConfig has no {key!r}.{did_you_mean(key, known)}")

    def scaling_of(self, config: Mapping[str, Any]) -> ScalingConfig:
        """The worker group of a trial: a ScalingConfig, or a dict of what differs from the trainer's."""
        given = config.get(SCALING)
        own: ScalingConfig = self._trainer.scaling_config
        if given is None:
            return own
        if isinstance(given, Mapping):
            return replace(own, **given)
        if not isinstance(given, ScalingConfig):
            raise ValueError(f"param_space[{SCALING!r}] gives a ScalingConfig or a dict of its fields, not {given!r}.")
        return given

    def resources(self, config: Mapping[str, Any]) -> TrialResources:
        """What a trial holds: what its worker group does."""
        scaling = self.scaling_of(config)
        if not scaling.min_workers:
            return TrialResources()  # the function runs in the trial's own process
        bundles = tuple(scaling.bundles(scaling.min_workers))
        return TrialResources(bundles, scaling.placement_strategy, is_worker_group=True)

    def __call__(self, config: dict[str, Any]) -> None:
        trainer = copy.copy(self._trainer)
        loop = {**(self._trainer.train_loop_config or {}), **config.get(LOOP, {})}
        trainer.train_loop_config = loop or self._trainer.train_loop_config
        trainer.scaling_config = self.scaling_of(config)
        # The experiment counts failures and keeps checkpoints.
        trainer.run_config = replace(
            trainer.run_config, failure_config=FailureConfig(), checkpoint_config=CheckpointConfig(num_to_keep=1)
        )
        trial = host()
        assert isinstance(trial, TrialSession)
        trial.is_a_run = True
        try:
            trainer.fit()
        finally:
            _delete_checkpoints(os.path.join(*trial.run_at))


def _delete_checkpoints(run_folder: str) -> None:
    """Delete the run's copies of checkpoints, which the trial has."""
    for name in os.listdir(run_folder) if os.path.isdir(run_folder) else ():
        if name.startswith("checkpoint_"):
            storage.delete(run_folder, name)
