"""The checkpoints that were reported, under the path at which programs import them from Ray Train."""

from nbaccel.train.session import ReportedCheckpoint, ReportedCheckpointStatus

__all__ = ["ReportedCheckpoint", "ReportedCheckpointStatus"]
