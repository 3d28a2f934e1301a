"""Ray's path: `from ray.train.data_parallel_trainer import DataParallelTrainer`."""

from nbaccel.train.trainer import DataParallelTrainer

__all__ = ["DataParallelTrainer"]
