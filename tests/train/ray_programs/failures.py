"""A run goes on after failures as often as it may, and then its error says which worker failed how."""

import json
import os
import tempfile
from pathlib import Path

import ray.train
from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError, UserCallback
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

SEEN = os.path.abspath("seen.jsonl")


class Notes(UserCallback):
    def after_report(self, run_context, metrics, checkpoint):
        self.note({"losses": [each["loss"] for each in metrics], "checkpoint": checkpoint is not None,
                   "run": run_context.get_run_config().name, "workers": run_context.scaling_config.num_workers,
                   "config": run_context.train_loop_config})  # fmt: skip

    def after_exception(self, run_context, worker_exceptions):
        self.note({"failed": "epoch" in str(worker_exceptions[1])})

    def note(self, what):
        with open(SEEN, "a") as file:
            print(json.dumps(what), file=file)


def train_func(config):
    rank = ray.train.get_context().get_world_rank()
    checkpoint = ray.train.get_checkpoint()
    start = 0
    if checkpoint:
        with checkpoint.as_directory() as folder:
            start = int(Path(folder, "epoch.txt").read_text()) + 1
    for epoch in range(start, config["epochs"]):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "epoch.txt").write_text(str(epoch))
            given = ray.train.Checkpoint.from_directory(folder) if rank == 0 else None
            ray.train.report({"loss": epoch + rank / 10}, checkpoint=given)
        if rank == 1 and epoch < config["fails_before"]:
            raise ValueError(f"epoch {epoch}")
    return {"started at": start}


def trainer(name, failures, fails_before):
    return DataParallelTrainer(
        train_func,
        train_loop_config={"epochs": 3, "fails_before": fails_before},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(
            name=name,
            storage_path=os.path.abspath("failing"),
            failure_config=FailureConfig(max_failures=failures),
            callbacks=[Notes()],
        ),
    )


result = trainer("recovers", 2, 2).fit()
answer = {"metrics": result.metrics["loss"], "returned": result.return_value, "error": result.error}
try:
    trainer("fails", 1, 2).fit()
except TrainingFailedError as error:
    answer["failure"] = "epoch 1" in str(error.worker_failures[1])
    answer["kinds"] = [isinstance(error, ray.train.WorkerGroupError), isinstance(error, ray.train.ControllerError)]
again = trainer("fails", 0, 0).fit()  # goes on from the latest checkpoint of the failed run
answer["again"] = again.return_value
seen = [json.loads(line) for line in Path(SEEN).read_text().splitlines()]
answer["reports"] = [each for each in seen if "losses" in each]
answer["exceptions"] = [each["failed"] for each in seen if "failed" in each]
