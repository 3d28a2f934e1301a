"""The modules that a rank of a TorchTrainer loads: imported once, where workers are forked from."""

from nbaccel.train import mailbox, worker
from nbaccel.train.torch import process_group, trainer

__all__ = ["mailbox", "process_group", "trainer", "worker"]
