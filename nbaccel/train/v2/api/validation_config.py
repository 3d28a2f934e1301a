"""What Ray Train validates checkpoints with, which is not here: each name says what to do."""

from nbaccel import train

ValidationConfig = train.ValidationConfig
ValidationFn = train.ValidationFn
ValidationTaskConfig = train.ValidationTaskConfig
__all__ = ["ValidationConfig", "ValidationFn", "ValidationTaskConfig"]
