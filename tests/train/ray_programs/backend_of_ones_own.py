"""A backend of one's own prepares the workers, and a subclass of a trainer gives it its config."""

import os
from dataclasses import dataclass

from ray import train
from ray.train.backend import Backend, BackendConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer


def set_variable(name, value):
    os.environ[name] = value
    return os.getpid()


class OwnBackend(Backend):
    def on_start(self, worker_group, backend_config):
        pids = worker_group.execute(set_variable, "OWN_NAME", backend_config.name)
        assert len(set(pids)) == len(worker_group) == 2
        for rank in range(len(worker_group)):
            worker_group.execute_single(rank, set_variable, "OWN_RANK", str(rank))

    def on_training_start(self, worker_group, backend_config):
        worker_group.execute(set_variable, "OWN_TRAINING", "begins")

    def on_shutdown(self, worker_group, backend_config):
        worker_group.execute(set_variable, "OWN_TRAINING", "over")


@dataclass
class OwnConfig(BackendConfig):
    name: str = "none"

    @property
    def backend_cls(self):
        return OwnBackend


def train_func():
    names = ("OWN_NAME", "OWN_RANK", "OWN_TRAINING")
    return [os.environ[name] for name in names] + [train.get_context().get_world_rank()]


class OwnTrainer(DataParallelTrainer):
    def __init__(self, train_loop_per_worker, *, own_config=None, **options):
        super().__init__(train_loop_per_worker, backend_config=own_config or OwnConfig(), **options)


result = OwnTrainer(
    train_func,
    own_config=OwnConfig("given"),
    scaling_config=train.ScalingConfig(num_workers=2),
    run_config=train.RunConfig(name="own", storage_path=os.path.abspath("backends")),
).fit()
answer = {"returned": result.return_value, "metrics": result.metrics, "checkpoint": result.checkpoint,
          "best": result.best_checkpoints}  # fmt: skip
