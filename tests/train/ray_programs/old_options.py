"""Options of former versions raise, and wrong values are refused."""

import os
import warnings

from ray import train, tune
from ray.train.torch import TorchTrainer
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

warnings.simplefilter("ignore")


def train_func():
    context = train.get_context()
    found = {}
    for name in ("get_metadata", "get_trial_name", "get_trial_id", "get_trial_resources"):
        found[name] = raised(getattr(context, name))
    return found


def raised(call):
    try:
        call()
    except BaseException as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return "nothing"


CALLS = {
    "fail_fast": lambda: train.FailureConfig(fail_fast=True),
    "no fail_fast": lambda: train.FailureConfig(fail_fast=False),
    "tune's fail_fast": lambda: tune.FailureConfig(fail_fast=True),
    "tune's fail_fast with failures": lambda: tune.FailureConfig(fail_fast=True, max_failures=1),
    "tune's fail_fast in words": lambda: tune.FailureConfig(fail_fast="raise"),
    "checkpoint_frequency": lambda: train.CheckpointConfig(checkpoint_frequency=1),
    "checkpoint_at_end": lambda: train.CheckpointConfig(checkpoint_at_end=False),
    "num_to_keep": lambda: train.CheckpointConfig(num_to_keep=0),
    "score order": lambda: train.CheckpointConfig(checkpoint_score_order="best"),
    "verbose": lambda: train.RunConfig(verbose=0),
    "stop": lambda: train.RunConfig(stop={"a": 1}),
    "sync_config": lambda: train.RunConfig(sync_config=object()),
    "progress_reporter": lambda: train.RunConfig(progress_reporter=object()),
    "log_to_file": lambda: train.RunConfig(log_to_file=True),
    "a callback of tune": lambda: train.RunConfig(callbacks=[tune.Callback()]),
    "log_level": lambda: train.LoggingConfig(log_level="LOUD"),
    "a log_level that is a number": lambda: train.LoggingConfig(log_level=10),
    "a good log_level": lambda: train.LoggingConfig(log_level="debug"),
    "a half": lambda: train.ScalingConfig(num_workers=1.5),
    "negative": lambda: train.ScalingConfig(num_workers=-1),
    "min above max": lambda: train.ScalingConfig(num_workers=(3, 2)),
    "GPU without use_gpu": lambda: train.ScalingConfig(num_workers=1, resources_per_worker={"GPU": 1}),
    "TPU and GPU": lambda: train.ScalingConfig(use_gpu=True, use_tpu=True),
    "interval": lambda: train.ScalingConfig(elastic_resize_monitor_interval_s=-1),
    "label_selector": lambda: train.ScalingConfig(num_workers=2, label_selector=[{"a": "b"}]),
    "metadata": lambda: DataParallelTrainer(train_func, metadata={"a": 1}),
    "restore": lambda: TorchTrainer.restore("/tmp/no"),
    "can_restore": lambda: TorchTrainer.can_restore("/tmp/no"),
    "two arguments": lambda: DataParallelTrainer(lambda a, b: None).fit(),
    "result's config": lambda: train.Result(None, None, None, "/tmp").config,
    "report outside": lambda: train.report({}),
    "get_context outside": lambda: train.get_context(),
    "get_checkpoint outside": lambda: train.get_checkpoint(),
    "get_dataset_shard outside": lambda: train.get_dataset_shard("train"),
    "from_dict": lambda: train.Checkpoint.from_dict({}),
}
answer = {name: raised(call) for name, call in CALLS.items()}
run = train.RunConfig(storage_path=os.path.abspath("old"))
answer |= DataParallelTrainer(train_func, run_config=run).fit().return_value
