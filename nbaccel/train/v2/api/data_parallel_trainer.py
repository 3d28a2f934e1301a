"""DataParallelTrainer, under the path at which programs import it from Ray Train."""

from nbaccel.train.trainer import DataParallelTrainer

__all__ = ["DataParallelTrainer"]
