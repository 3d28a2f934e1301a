"""AimLoggerCallback, which says what to call instead."""

from nbaccel.tune import logger

AimLoggerCallback = logger.AimLoggerCallback
