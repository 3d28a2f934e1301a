"""CometLoggerCallback, which says what to call instead."""

from nbaccel.tune import logger

CometLoggerCallback = logger.CometLoggerCallback
