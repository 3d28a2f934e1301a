"""MLflowLoggerCallback, which says what to call instead."""

from nbaccel.tune import logger

MLflowLoggerCallback = logger.MLflowLoggerCallback
