"""How a checkpoint is reported, under the path at which programs import them from Ray Train."""

from nbaccel.train.session import CheckpointConsistencyMode, CheckpointUploadMode

__all__ = ["CheckpointConsistencyMode", "CheckpointUploadMode"]
