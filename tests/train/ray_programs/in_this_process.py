"""num_workers=0 runs the function here, and errors keep their class."""

import os

from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.collective import barrier, broadcast_from_rank_zero
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

seen = []


def train_func(config):
    context = train.get_context()
    seen.append(os.getpid())
    barrier()
    train.report({"loss": config["loss"]})
    return [context.get_world_size(), context.get_world_rank(), broadcast_from_rank_zero(3),
            train.get_checkpoint()]  # fmt: skip


def fails():
    raise ValueError("here")


run = RunConfig(storage_path=os.path.abspath("here"))
here = ScalingConfig(num_workers=0)
result = DataParallelTrainer(train_func, train_loop_config={"loss": 0.5}, scaling_config=here, run_config=run).fit()
answer = {"returned": result.return_value, "metrics": result.metrics, "here": seen == [os.getpid()]}
try:
    DataParallelTrainer(fails, scaling_config=here, run_config=run).fit()
except Exception as error:
    answer["raised"] = [type(error).__name__, str(error)]
