"""TuneReportCallback of Ray Train in Ray Tune: here a run in a trial reports to the trial by itself."""

from nbaccel.train.configs import UserCallback


class TuneReportCallback(UserCallback):
    """Accepted, and not needed: rank 0's reports and checkpoints of a run in a trial are the trial's in any case."""


__all__ = ["TuneReportCallback"]
