"""Two ranks bring one checkpoint, and the run goes on from it after rank 1 has failed."""

import json
import os
import tempfile
from pathlib import Path

import ray
from ray import train
from ray.train import Checkpoint, FailureConfig, RunConfig, ScalingConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer


def train_func(config):
    rank = train.get_context().get_world_rank()
    start = 0
    checkpoint = train.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            start = json.loads(Path(folder, f"state-{rank}.json").read_text())["epoch"] + 1
    for epoch in range(start, 4):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"state-{rank}.json").write_text(json.dumps({"epoch": epoch}))
            if rank == 0:
                Path(folder, "shared.txt").write_text(str(epoch))
            train.report(
                {"epoch": epoch, "rank": rank},
                checkpoint=Checkpoint.from_directory(folder),
                checkpoint_dir_name=f"epoch={epoch}",
            )
        if epoch == 1 and rank == 1 and start == 0:
            raise RuntimeError("once")
    return start


storage = os.path.abspath("two_ranks")
trainer = DataParallelTrainer(
    train_func,
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(name="two", storage_path=storage, failure_config=FailureConfig(max_failures=1)),
)
result = trainer.fit()
with result.checkpoint.as_directory() as folder:
    files = {name: Path(folder, name).read_text() for name in sorted(os.listdir(folder))}
answer = {
    "metrics": result.metrics["epoch"],
    "files": files,
    "folder": os.path.basename(result.checkpoint.path),
    "kept": sorted(os.path.basename(each.path) for each, _ in result.best_checkpoints),
    "went on from": result.return_value,
    "shared": ray.is_initialized(),
}
