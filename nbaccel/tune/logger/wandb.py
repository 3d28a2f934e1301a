"""WandbLoggerCallback, which says what to call instead."""

from nbaccel.tune import logger

WandbLoggerCallback = logger.WandbLoggerCallback
