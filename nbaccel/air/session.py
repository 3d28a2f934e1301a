"""What a training function or a trial calls, under the path at which older programs import it."""

from nbaccel.train.session import get_checkpoint, get_context, get_dataset_shard, report

__all__ = ["get_checkpoint", "get_context", "get_dataset_shard", "report"]
