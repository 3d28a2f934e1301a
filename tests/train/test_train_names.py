"""The names of nbaccel.train: there, refused with a sentence, or told outside of a run."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import train
from nbaccel.train import Checkpoint
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.torch import TorchTrainer
from tests.documented_names import documented, found, is_refused


def test_every_name_that_is_promised_is_there() -> None:
    for name in train.__all__:
        assert getattr(train, name) is not None


def test_importing_it_loads_nothing_that_a_run_needs() -> None:
    program = (
        "import sys, nbaccel; before = set(sys.modules); import nbaccel.train; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["nbaccel.train"]


@pytest.mark.parametrize(
    "name", ["report", "get_context", "get_checkpoint", "get_dataset_shard", "stop_requested", "get_preemption_info"]
)
def test_functions_of_a_worker_refuse_outside_of_a_run(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"`{name}` cannot be used outside of a training function"):
        getattr(train, name)(*([{}] if name == "report" else []))
    with pytest.raises(RuntimeError, match="barrier"):
        train.collective.barrier()


def test_the_old_trainer_says_what_to_write() -> None:
    from nbaccel.train import Trainer

    with pytest.raises(NotImplementedError, match=r"TorchTrainer\(train_func, scaling_config=ScalingConfig\("):
        Trainer(backend="torch", num_workers=2, use_gpu=True)


def test_names_that_are_not_here_import_and_say_what_instead() -> None:
    from nbaccel.train import SyncConfig, ValidationConfig

    for absent, words in ((SyncConfig, "storage_path"), (ValidationConfig, "as a task")):
        with pytest.raises(NotImplementedError, match=words):
            absent()
    with pytest.raises(ModuleNotFoundError, match=r"nbaccel has no train\.horovod"):
        import nbaccel.train.horovod  # noqa: F401
    assert not hasattr(train, "something_else")


@pytest.mark.parametrize("name", ["restore", "can_restore"])
def test_restoring_is_told_where_it_went(name: str) -> None:
    with pytest.raises(DeprecationWarning, match="same RunConfig"):
        getattr(DataParallelTrainer, name)("/tmp/run")


def test_what_a_trainer_cannot_take_is_refused_when_it_is_made() -> None:
    def two(a: int, b: int) -> None: ...

    with pytest.raises(ValueError, match="0 or 1 required arguments, but two has 2: a, b"):
        DataParallelTrainer(two)  # type: ignore[arg-type]

    def one_by_name(config: dict[str, int], *, data: int) -> None: ...

    with pytest.raises(ValueError, match="one_by_name has a required argument that is given by name: data"):
        DataParallelTrainer(one_by_name)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be a function, not 3"):
        DataParallelTrainer(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"scaling_config takes nbaccel\.train\.ScalingConfig"):
        DataParallelTrainer(print, scaling_config={"num_workers": 2})  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="validate"):
        DataParallelTrainer(print, validation_config=object())
    with pytest.raises(DeprecationWarning, match="train_loop_config"):
        DataParallelTrainer(print, metadata={"a": 1})


def test_a_checkpoint_to_resume_from_is_a_checkpoint_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"resume_from_checkpoint takes nbaccel\.train\.Checkpoint"):
        DataParallelTrainer(print, resume_from_checkpoint=str(tmp_path))
    with pytest.raises(ValueError, match="gone is no folder"):
        DataParallelTrainer(print, resume_from_checkpoint=Checkpoint(tmp_path / "gone"))


@pytest.mark.parametrize("kind", [DataParallelTrainer, TorchTrainer])
def test_the_warning_about_an_old_argument_names_the_users_line(kind: Any, tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="resume_from_checkpoint") as told:
        kind(print, resume_from_checkpoint=Checkpoint(tmp_path))
    assert [each.filename for each in told] == [__file__]


def test_what_a_call_would_not_run_is_refused_when_the_trainer_is_made() -> None:
    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    with pytest.raises(ValueError, match=r"coroutine is an async one.*asyncio\.run"):
        DataParallelTrainer(coroutine)
    with pytest.raises(ValueError, match=r"generator has a yield.*train\.report"):
        DataParallelTrainer(generator)
    with pytest.raises(ValueError, match="without @remote"):
        DataParallelTrainer(nbaccel.remote(print))


@pytest.mark.parametrize(
    ("module", "instead"),
    [
        ("tensorflow", "Keras 3 runs on torch and JAX"),
        ("xgboost", "DataParallelTrainer"),
        ("lightgbm", "DataParallelTrainer"),
        ("horovod", "TorchTrainer connects its workers"),
        ("mosaic", "Composer"),
    ],
)
def test_rooms_of_ray_train_that_are_not_here_say_what_instead(module: str, instead: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=rf"nbaccel has no train\.{module}: .*{instead}"):
        importlib.import_module(f"nbaccel.train.{module}")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("world_rank", "get_world_rank"),
        ("local_rank", "get_local_rank"),
        ("world_size", "get_world_size"),
        ("load_checkpoint", "get_checkpoint"),
        ("save_checkpoint", "checkpoint=Checkpoint"),
    ],
)
def test_functions_of_the_first_ray_train_say_what_to_write(name: str, instead: str) -> None:
    with pytest.raises(NotImplementedError, match=instead):
        getattr(train, name)()


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("huggingface", "TransformersTrainer", r"RayTrainReportCallback\(\).*give the function to .*TorchTrainer"),
        ("huggingface", "HuggingFaceTrainer", "TorchTrainer"),
        ("huggingface", "AccelerateTrainer", r"accelerate\.Accelerator\(\) in a function"),
        ("huggingface", "TransformersCheckpoint", "from_pretrained"),
        ("huggingface", "TransformersPredictor", "in an actor"),
        ("lightning", "LightningTrainer", r"RayDDPStrategy\(\).*TorchTrainer"),
        ("lightning", "LightningConfigBuilder", r"RayDDPStrategy\(\).*TorchTrainer"),
        ("lightning", "LightningCheckpoint", "load_from_checkpoint"),
    ],
)
def test_trainers_that_ray_had_before_2_7_import_and_say_what_to_write(module: str, name: str, words: str) -> None:
    if module == "lightning":
        pytest.importorskip("lightning", reason="lightning is not installed: pip install lightning")
    home = importlib.import_module(f"nbaccel.train.{module}")
    old = getattr(home, name)
    with pytest.raises(NotImplementedError, match=rf"nbaccel\.train\.{module}\.{name} is not here: .*{words}"):
        old(trainer_init_per_worker=print)
    assert not hasattr(home, "something_else")


def test_constants_of_ray_train_are_those_that_mean_the_same() -> None:
    from nbaccel.train import constants

    assert constants.TRAIN_DATASET_KEY == train.TRAIN_DATASET_KEY
    assert train.RunConfig().storage_path == constants.DEFAULT_STORAGE_PATH
    theirs = pytest.importorskip("ray.train.constants", reason="ray is not installed")
    for name in ("TRAIN_DATASET_KEY", "EVALUATION_DATASET_KEY", "RAY_CHDIR_TO_TRIAL_DIR"):
        assert getattr(constants, name) == getattr(theirs, name)


def test_every_other_constant_of_ray_train_says_what_stands_instead() -> None:
    with pytest.raises(ImportError, match=r'WORKER_SPREAD_ENV is not here: .*placement_strategy="SPREAD"'):
        from nbaccel.train.constants import TRAIN_ENABLE_WORKER_SPREAD_ENV  # noqa: F401
    with pytest.raises(ImportError, match="MODEL_KEY is not here: a checkpoint is a folder"):
        from nbaccel.train.constants import MODEL_KEY  # noqa: F401
    assert not hasattr(train.constants, "SOMETHING_ELSE")


def test_a_name_of_the_room_is_looked_up_once() -> None:
    assert train.report is vars(train)["report"]  # training loops call it as train.report(...)


NAMES = "training.md", "Ray Train's names"
OF_LIBRARIES = {"lightning": "lightning", "huggingface": "transformers", "torch": "torch", "v2": "jax"}


def test_the_page_about_training_knows_which_of_rays_names_are_here() -> None:
    here = documented(*NAMES, "here")
    assert len(here) > 60 and len(set(here)) == len(here)
    for name in here:
        library = OF_LIBRARIES.get(name.partition(".")[0])
        if library is None or importlib.util.find_spec(library) is not None:
            assert found(train, name) is not None and not is_refused(found(train, name)), name


@pytest.mark.parametrize("name", documented(*NAMES, "not here"))
def test_each_name_that_is_not_here_says_what_to_use(name: str) -> None:
    with pytest.raises(
        (NotImplementedError, ModuleNotFoundError, DeprecationWarning), match=r"not here: |nbaccel has no "
    ):
        found(train, name)()


PATHS = {
    "context": "TrainContext get_context",
    "torch.config": "TorchConfig",
    "v2.api.config": "CheckpointConfig FailureConfig LoggingConfig RunConfig ScalingConfig",
    "v2.api.context": "TrainContext",
    "v2.api.callback": "UserCallback",
    "v2.api.data_parallel_trainer": "DataParallelTrainer",
    "v2.api.exceptions": "ControllerError TrainingFailedError WorkerGroupError",
    "v2.api.report_config": "CheckpointConsistencyMode CheckpointUploadMode",
    "v2.api.reported_checkpoint": "ReportedCheckpoint ReportedCheckpointStatus",
    "v2.api.result": "Result",
    "v2.api.train_fn_utils": "get_all_reported_checkpoints get_checkpoint get_context get_dataset_shard report",
    "v2.api.validation_config": "ValidationConfig ValidationFn ValidationTaskConfig",
}


@pytest.mark.parametrize("path", PATHS)
def test_names_are_at_the_paths_at_which_programs_import_them(path: str) -> None:
    if path.startswith("torch"):
        pytest.importorskip("torch", reason="torch is not installed")
    home = importlib.import_module(f"nbaccel.train.{path}")
    for name in PATHS[path].split():
        expected = {"DataParallelTrainer": DataParallelTrainer}.get(name) or getattr(
            train.torch if name == "TorchConfig" else train, name
        )
        assert getattr(home, name) is expected


def test_older_programs_find_their_names_in_air() -> None:
    from nbaccel.air.checkpoint import Checkpoint as TheirCheckpoint
    from nbaccel.air.config import RunConfig, ScalingConfig
    from nbaccel.air.integrations.wandb import WandbLoggerCallback
    from nbaccel.air.result import Result

    from nbaccel import air, tune
    from nbaccel.air import session

    assert (air.RunConfig, air.ScalingConfig, air.Result) == (RunConfig, ScalingConfig, Result)
    assert (RunConfig, ScalingConfig, Result) == (tune.RunConfig, train.ScalingConfig, tune.Result)
    assert session is air.session and session.report is train.report and air.Checkpoint is TheirCheckpoint is Checkpoint
    with pytest.raises(ModuleNotFoundError, match="call wandb in your training function"):
        WandbLoggerCallback(project="p")


def test_a_result_knows_its_filesystem(tmp_path: Path) -> None:
    fs = pytest.importorskip("pyarrow.fs", reason="pyarrow is not installed")
    result = train.Result(None, Checkpoint(tmp_path), None, str(tmp_path))
    assert result.checkpoint is not None
    for filesystem in (result.filesystem, result.checkpoint.filesystem):
        assert isinstance(filesystem, fs.LocalFileSystem)


def test_what_report_cannot_do_is_refused_in_words(tmp_path: Path) -> None:
    def loop(config: dict[str, Any]) -> None:
        train.report({}, checkpoint=Checkpoint(tmp_path / "own"), **config)

    def fit(**given: Any) -> train.Result:
        run = train.RunConfig(storage_path=str(tmp_path))
        scaling = train.ScalingConfig(num_workers=0)
        return DataParallelTrainer(loop, train_loop_config=given, scaling_config=scaling, run_config=run).fit()

    for given, words in (
        ({"checkpoint_upload_mode": train.CheckpointUploadMode.NO_UPLOAD}, "in its own folder"),
        ({"checkpoint_upload_fn": print}, "copies the files itself"),
        ({"validation": True}, "as a task"),
    ):
        with pytest.raises(NotImplementedError, match=words):
            fit(**given)
    for name in ("", "a/b", ".hidden", 3):
        with pytest.raises(ValueError, match="must be the name of a folder"):
            fit(checkpoint_dir_name=name)
    (tmp_path / "own").mkdir()
    fit(checkpoint_upload_mode=train.CheckpointUploadMode.SYNC)
    assert (tmp_path / "own").exists()
    fit(checkpoint_upload_mode=train.CheckpointUploadMode.ASYNC)  # as Ray, which deletes it after the upload
    assert not (tmp_path / "own").exists()
