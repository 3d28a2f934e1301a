"""Ray's module paths that are no files here: those of names that have another place, and those of Ray's libraries.

The libraries' modules import, and a name that is used says where to find it.

A package may import `ray.data` at its top for a feature that its user never needs. It works here as well:

>>> from nbaccel.data import Dataset            # a class of which nothing is an instance
>>> def rows(source: Dataset | list) -> list:   # annotations and isinstance() work
...     return source.take_all() if isinstance(source, Dataset) else source
>>> nbaccel.data.range(10)
Traceback (most recent call last):
ModuleNotFoundError: nbaccel has no data.range: ...

Python asks this finder last, so a module of nbaccel with the same name wins.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import GenericAlias, ModuleType
from typing import Any, NoReturn

# The modules beside nbaccel's own; the row of a library that nbaccel has is taken out.
LIBRARIES = {
    "air": "Ray AIR",
    "data": "Ray Data",
    "job_submission": "the job submission client",
    "llm": "Ray LLM",
    "rllib": "RLlib",
    "workflow": "Ray Workflow",
}

# Modules of Ray's beside nbaccel's own that are not here, by the package that would have them. They do not import, so
# that hasattr() tells a program that they are missing.
_MISSING = {
    "": ("client_builder", "cross_language", "internal", "widgets"),
    "experimental": (
        "channel", "collective", "compiled_dag_ref", "dynamic_resources", "internal_kv", "rdt", "shuffle",
    ),
    "util": (
        "client", "client_connect", "debugpy", "helpers", "iter", "iter_metrics", "lightgbm", "pdb",
        "ray_debugpy", "rpdb", "sgd", "spark", "timer", "tracing", "xgboost",
    ),
    "cluster_utils": ("AutoscalingCluster",),
    "serve": ("grpc_util", "llm", "metrics", "request_router", "task_consumer", "task_processor"),
    "train": (
        "gbdt_trainer", "jax", "rl", "sklearn", "torch.xla", "trainer",
    ),
}  # fmt: skip


# Modules of Ray's whose names are at another place here: that place, and the names, or * for all that it has in __all__
# (decision 67). A row that others begin with is a package.
_PATHS = {
    "_private.ray_constants": (
        "_private",
        "ID_SIZE, DEFAULT_PORT, DEFAULT_DASHBOARD_PORT, MIN_RESOURCE_GRANULARITY, "
        "DEFAULT_ACTOR_METHOD_NUM_RETURN_VALS, RAY_ADDRESS_ENVIRONMENT_VARIABLE, RAY_NAMESPACE_ENVIRONMENT_VARIABLE, "
        "RAY_RUNTIME_ENV_ENVIRONMENT_VARIABLE, LOGGER_FORMAT, LOGGER_LEVEL, LOGGER_LEVEL_CHOICES",
    ),
    "_private.runtime_env": ("_private", ""),
    "_private.runtime_env.constants": (
        "_private",
        "RAY_JOB_CONFIG_JSON_ENV_VAR, RAY_RUNTIME_ENV_PLUGINS_ENV_VAR, RAY_RUNTIME_ENV_PLUGIN_SCHEMAS_ENV_VAR",
    ),
    "_private.services": ("util", "get_node_ip_address"),
    "_private.utils": ("_private", "format_error_message"),
    "_raylet": (
        "",
        "ActorClassID, ActorID, DynamicObjectRefGenerator, FunctionID, JobID, Language, NodeID, ObjectRef, "
        "ObjectRefGenerator, PlacementGroupID, TaskID, UniqueID, WorkerID",
    ),
    "air.checkpoint": ("train.checkpoint", "Checkpoint"),
    "air.config": ("air", "CheckpointConfig, FailureConfig, RunConfig, ScalingConfig"),
    "air.result": ("air", "Result"),
    "air.session": ("train.session", "get_checkpoint, get_context, get_dataset_shard, report"),
    "experimental.locations": ("experimental", "get_local_object_locations, get_object_locations"),
    "experimental.state": ("util.state", ""),
    "experimental.state.api": ("util.state", "*"),
    "experimental.state.common": ("util.state.common", "*"),
    "experimental.state.exception": (
        "util.state.records",
        "DataSourceUnavailable, RayStateApiException, ServerUnavailable",
    ),
    "remote_function": ("handles.remote", "RemoteFunction"),
    "train.backend": ("train.configs", "Backend, BackendConfig"),
    "train.context": ("train", "TrainContext, get_context"),
    "train.torch.torch_trainer": ("train.torch.config", "TorchTrainer"),
    "train.v2": ("train", ""),
    "train.v2.api": ("train", ""),
    "train.v2.api.callback": ("train", "UserCallback"),
    "train.v2.api.config": ("train", "CheckpointConfig, FailureConfig, LoggingConfig, RunConfig, ScalingConfig"),
    "train.v2.api.context": ("train", "TrainContext"),
    "train.v2.api.data_parallel_trainer": ("train.data_parallel_trainer", "DataParallelTrainer"),
    "train.v2.api.exceptions": (
        "train",
        "ControllerError, NCCLHangError, PreemptionError, RayTrainError, TrainingFailedError, WorkerGroupError",
    ),
    "train.v2.api.preemption": ("train", "PreemptionInfo"),
    "train.v2.api.report_config": ("train", "CheckpointConsistencyMode, CheckpointUploadMode"),
    "train.v2.api.reported_checkpoint": ("train", "ReportedCheckpoint, ReportedCheckpointStatus"),
    "train.v2.api.result": ("train", "Result"),
    "train.v2.api.train_fn_utils": (
        "train",
        "get_all_reported_checkpoints, get_checkpoint, get_context, get_dataset_shard, get_preemption_info, report",
    ),
    "train.v2.api.validation_config": ("train", "ValidationConfig, ValidationFn, ValidationTaskConfig"),
    "train.v2.jax": ("train.jax_trainer", "JaxConfig, JaxTrainer"),
    "tune.analysis": ("tune.result_grid", "ExperimentAnalysis"),
    "tune.callback": ("tune.logger", "Callback"),
    "tune.execution": ("tune", ""),
    "tune.execution.placement_groups": ("tune.resources", "PlacementGroupFactory, resource_dict_to_pg_factory"),
    "tune.execution.tune_controller": ("tune.trial_decisions", "TrialController as TuneController"),
    "tune.experiment": ("tune.tuner", "Experiment, Trial"),
    "tune.experiment.experiment": ("tune", "Experiment"),
    "tune.experiment.trial": ("tune.trial", "Trial"),
    "tune.integration.ray_train": ("tune.integration", "TuneReportCallback"),
    "tune.logger.aim": ("tune.logger", "AimLoggerCallback"),
    "tune.logger.comet": ("tune.logger", "CometLoggerCallback"),
    "tune.logger.csv": ("tune.logger", "CSVLoggerCallback"),
    "tune.logger.json": ("tune.logger", "JsonLoggerCallback"),
    "tune.logger.logger": ("tune.logger", "LoggerCallback, pretty_print"),
    "tune.logger.mlflow": ("tune.logger", "MLflowLoggerCallback"),
    "tune.logger.tensorboardx": ("tune.logger", "TBXLoggerCallback"),
    "tune.logger.wandb": ("tune.logger", "WandbLoggerCallback"),
    "tune.progress_reporter": ("tune.result_tables", "CLIReporter, JupyterNotebookReporter, ProgressReporter"),
    "tune.registry": ("tune.trainable", "get_trainable_cls, is_function_trainable, register_env, register_trainable"),
    "tune.schedulers.async_hyperband": ("tune.schedulers", "ASHAScheduler, AsyncHyperBandScheduler"),
    "tune.schedulers.hyperband": ("tune.schedulers", "HyperBandScheduler"),
    "tune.schedulers.median_stopping_rule": ("tune.schedulers", "MedianStoppingRule"),
    "tune.schedulers.pbt": ("tune.schedulers", "PopulationBasedTraining, PopulationBasedTrainingReplay"),
    "tune.search.basic_variant": ("tune.search", "BasicVariantGenerator"),
    "tune.search.concurrency_limiter": ("tune.search", "ConcurrencyLimiter"),
    "tune.search.repeater": ("tune.search", "Repeater"),
    "tune.search.search_algorithm": ("tune.search", "Searcher as SearchAlgorithm"),
    "tune.search.search_generator": ("tune.search", "SearchGenerator"),
    "tune.search.searcher": ("tune.search", "Searcher"),
    "tune.syncer": ("tune", "SyncConfig"),
    "tune.trainable.trainable": ("tune.trainable", "Trainable"),
    "tune.utils.util": ("tune.utils", "date_str, deep_update, flatten_dict, merge_dicts, unflatten_dict, wait_for_gpu"),
    "util.collective.collective": ("util.collective", "*"),
    "util.collective.types": ("util.collective", "Backend, ReduceOp, cupy_available, torch_available"),
    "util.multiprocessing.pool": ("util.multiprocessing", "AsyncResult, Pool, PoolTaskError, TimeoutError"),
    "util.state.api": ("util.state", "*"),
    "util.state.exception": (
        "util.state.records",
        "DataSourceUnavailable, RayStateApiException, ServerUnavailable",
    ),
}


# Modules of searches and schedulers in Ray Tune, and what does their work here.
_TUNE_SEARCHES = ("ax", "bayesopt", "bohb", "hebo", "hyperopt", "nevergrad", "skopt", "zoopt")
_TUNE_SCHEDULERS = ("hb_bohb", "pb2", "resource_changing_scheduler")


# Modules of Ray Train, and what does their work here.
_TRAIN = {
    "tensorflow": "Keras 3 runs on torch and JAX. Call keras in a function that you give to "
    "nbaccel.train.torch.TorchTrainer.",
    "xgboost": "call xgboost in a function that you give to nbaccel.train.data_parallel_trainer.DataParallelTrainer, "
    "with num_workers=1 and as many CPUs or GPUs as it may use.",
    "lightgbm": "call lightgbm in a function that you give to "
    "nbaccel.train.data_parallel_trainer.DataParallelTrainer, with num_workers=1 and as many CPUs as it may use.",
    "horovod": "nbaccel.train.torch.TorchTrainer connects its workers by torch.distributed.",
    "mosaic": "call Composer in a function that you give to nbaccel.train.torch.TorchTrainer: it finds torchrun's "
    "variables.",
}


def no_attribute(package: str, name: str) -> AttributeError:
    """The AttributeError of a package that lacks `name`. If Ray has it, the message says how to get it there."""
    words = _missing_words(f"{package}.{name}")
    return AttributeError(words or f"module {package!r} has no attribute {name!r}", name=name)


def _missing_words(fullname: str) -> str:
    """Why a module of Ray, or a name below one, is missing here; "" if Ray has no such module."""
    path = fullname.partition(".")[2]
    if path.removeprefix("tune.search.").partition(".")[0] in _TUNE_SEARCHES and path.startswith("tune.search."):
        return (
            f"nbaccel has no {path}: it searches by Optuna, which has TPE (the method of HyperOpt), GP, CMA-ES, "
            "NSGA-II and more. pip install 'nbaccel[tune]', then nbaccel.tune.search.optuna.OptunaSearch("
            "sampler=optuna.samplers.TPESampler())."
        )
    if path.removeprefix("tune.schedulers.") in _TUNE_SCHEDULERS and path.startswith("tune.schedulers."):
        return f"nbaccel has no {path}: use nbaccel.tune.schedulers.ASHAScheduler, with OptunaSearch if it is to learn."
    if path.startswith("train.") and (instead := _TRAIN.get(path.split(".")[1])):
        return f"nbaccel has no {path}: {instead}"
    for package, names in _MISSING.items():
        inside = path.removeprefix(f"{package}.") if package else path
        if (inside != path or not package) and any(f"{inside}.".startswith(f"{name}.") for name in names):
            return (
                f"nbaccel has no {path}: it has the names of Ray Core that programs call, and this is not one of them. "
                f"On a Ray cluster you have both: nbaccel.init(engine='ray'), then `import ray` beside nbaccel and "
                f"ray.{path}."
            )
    return ""


def refusing(module: str, name: str, instead: str) -> type:
    """A name that imports and raises NotImplementedError when it is used; the message says `instead`."""
    return _Unbuilt(
        name, (), {"__module__": module, "__qualname__": name, "_words": f"{module}.{name} is not here: {instead}"}
    )


def install() -> None:
    """Make the modules of LIBRARIES and _PATHS importable. Calling this twice is safe."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


class _Finder:
    """Finds the modules of _PATHS, and `nbaccel.data` with all modules below it, whatever their names.

    It and the loader have no base: importing importlib.abc takes longer than all that `import nbaccel` needs.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, inside = fullname.partition(".")
        if package == __package__ and inside in _PATHS:
            is_package = any(other.startswith(f"{inside}.") for other in _PATHS)
            return ModuleSpec(fullname, _PathLoader(), is_package=is_package)  # type: ignore[arg-type]
        if package == __package__ and (words := _missing_words(fullname)):
            # Without a name: `from nbaccel.util import iter` would swallow the error of the module that it looks for.
            raise ModuleNotFoundError(words)
        if package != __package__ or inside.partition(".")[0] not in LIBRARIES:
            return None
        return ModuleSpec(fullname, _Loader(), is_package=True)  # type: ignore[arg-type]


class _Loader:
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name, f"Where Ray has {_library(spec.name)}: its names import, and refuse when used.")

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing in it."""


class _PathLoader:
    """Fills a module of _PATHS."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None  # a plain one

    def exec_module(self, module: ModuleType) -> None:
        inside = module.__name__.partition(".")[2]
        place, names = _PATHS[inside]
        home = f"{__package__}.{place}" if place else "nbaccel"
        module.__doc__ = f"Ray's path of names that are in {home}."
        source = importlib.import_module(home)
        names = ", ".join(source.__all__) if names == "*" else names
        pairs = [(name.partition(" as ")[0], name.rpartition(" as ")[2]) for name in names.split(", ") if name]
        vars(module).update({here: getattr(source, there) for there, here in pairs})
        vars(module)["__all__"] = [here for _, here in pairs]
        below = [path.removeprefix(f"{inside}.") for path in _PATHS if path.startswith(f"{inside}.")]
        vars(module)["__getattr__"] = submodules_by_attribute(module.__name__, *below)


class _Module(ModuleType):
    """A module in which every public name is a class that refuses."""

    def __getattr__(self, name: str) -> Any:
        made = absent(self.__name__, name)
        setattr(self, name, made)  # the same class each time, so that it can be pickled by its name
        return made


def absent(module: str, name: str) -> type:
    """A name of one of LIBRARIES that imports, and refuses when it is used. Raises AttributeError for a private one."""
    if name.startswith("_"):  # asked by Python itself, by notebooks and by debuggers
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return _Absent(name, (), {"__module__": module, "__qualname__": name})


class _Absent(type):
    """The class of such names: they stand in annotations, in isinstance() and as bases; to use one is an error."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(cls)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        raise AttributeError(str(cls._refusal()))

    def __getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(cls, item)

    def __bool__(cls) -> bool:
        return True  # as any class: `if Dataset:` asks whether an import went well

    def _refusal(cls) -> Exception:
        """What is raised wherever the name is used."""
        return ModuleNotFoundError(_words(_origin(cls)), name=_origin(cls).__module__)


class _Unbuilt(_Absent):
    """The class of a name that a module of nbaccel's own lacks."""

    _words: str

    def _refusal(cls) -> Exception:
        return NotImplementedError(cls._words)


def _refuse(cls: _Absent, *args: Any) -> NoReturn:
    raise cls._refusal()


# Python looks these up on the class of a name, where __getattr__ is not asked. Without __iter__ it would count through
# __getitem__, which never ends. `|`, `==` and hash() stay a class's: annotations need them.
_OPERATIONS = (
    "iter next reversed contains len setitem delitem enter exit await aiter anext aenter aexit "
    "add radd sub rsub mul rmul matmul rmatmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow "
    "lshift rlshift rshift rrshift and rand xor rxor neg pos abs invert int float complex index round "
    "lt le gt ge"
)
for _operation in _OPERATIONS.split():
    setattr(_Absent, f"__{_operation}__", _refuse)


def _origin(cls: type) -> type:
    """The name that is not here: the class itself, or the base of a class that a program derived from it."""
    return next(
        base
        for base in cls.__mro__
        if isinstance(base, _Absent) and base.__module__.split(".")[:2] in ([__package__, name] for name in LIBRARIES)
    )


def _library(path: str) -> str:
    return LIBRARIES[path.split(".")[1]]


def _words(absent: type) -> str:
    path = f"{absent.__module__}.{absent.__qualname__}".partition(".")[2]
    if path.startswith("air.integrations.keras"):
        return f"nbaccel has no {path}: use a callback of nbaccel.tune.integration.keras."
    if path.startswith("air.integrations."):
        return (
            f"nbaccel has no {path}: call {path.split('.')[2]} in your training function, where "
            "train.get_context().get_world_rank() is 0, or in your trainable."
        )
    if path.startswith("air."):
        return (
            f"nbaccel has no {path}: what Ray AIR had for training is in nbaccel.train (report, Checkpoint, RunConfig, "
            "…), as in Ray Train."
        )
    module = absent.__module__.partition(".")[2]
    return (
        f"nbaccel has no {path}: it has the names of Ray Core, and {_library(absent.__module__)} is not a part of "
        f"that. On a Ray cluster you have both: nbaccel.init(engine='ray'), then `import ray.{module}` beside nbaccel."
    )


def submodules_by_attribute(package: str, *names: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `nbaccel.autoscaler.sdk` after `import nbaccel`."""

    def load(name: str) -> Any:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise no_attribute(package, name)

    return load
