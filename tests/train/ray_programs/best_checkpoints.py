"""The checkpoints with the best scores are kept, and a result lists them from worst to best."""

import os
import tempfile
from pathlib import Path

import ray.train
from ray.train import CheckpointConfig, Result, RunConfig, ScalingConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

LOSSES = [0.9, 0.2, 0.5, 0.3, 0.8]


def train_func():
    for epoch, loss in enumerate(LOSSES):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "epoch.txt").write_text(str(epoch))
            ray.train.report({"loss": loss, "epoch": epoch}, checkpoint=ray.train.Checkpoint.from_directory(folder))


def fitted(name, **kept):
    run = RunConfig(name=name, storage_path=os.path.abspath("best"), checkpoint_config=CheckpointConfig(**kept))
    return DataParallelTrainer(train_func, scaling_config=ScalingConfig(num_workers=1), run_config=run).fit()


def facts(result):
    return {
        "listed": [metrics["loss"] for _, metrics in result.best_checkpoints],
        "latest": Path(result.checkpoint.path, "epoch.txt").read_text(),
        "metrics": result.metrics,
        "lowest": Path(result.get_best_checkpoint("loss", "min").path, "epoch.txt").read_text(),
        "highest": Path(result.get_best_checkpoint("loss", "max").path, "epoch.txt").read_text(),
        "error": result.error,
        "on disk": sum(name.startswith("checkpoint_") and "." not in name[-4:] for name in os.listdir(result.path)) > 0,
        "filesystem": type(result.filesystem).__name__,
    }


lowest = fitted("lowest", num_to_keep=2, checkpoint_score_attribute="loss", checkpoint_score_order="min")
highest = fitted("highest", num_to_keep=3, checkpoint_score_attribute="loss")
all_scored = fitted("all", checkpoint_score_attribute="loss", checkpoint_score_order="min")
latest = fitted("latest", num_to_keep=2)
answer = {name: facts(each) for name, each in
          {"lowest": lowest, "highest": highest, "all": all_scored, "latest": latest}.items()}  # fmt: skip
answer["again"] = facts(Result.from_path(highest.path)) | {"metrics": None}
