"""Loggers: callbacks that write what trials report. Names as in Ray Tune.

A trial's folder has params.json, result.json and progress.csv in any case, so the classes for them write nothing more.
"""

from __future__ import annotations

from typing import Any

from nbaccel import elsewhere
from nbaccel.tune.logger.logger import CSVLoggerCallback, JsonLoggerCallback, LoggerCallback, pretty_print
from nbaccel.tune.logger.tensorboardx import TBXLoggerCallback

__all__ = ["CSVLoggerCallback", "JsonLoggerCallback", "LoggerCallback", "TBXLoggerCallback", "pretty_print"]

_CALL_IT = "call it in the trainable, which has the config and the metrics: {0}. Or derive a class from LoggerCallback."
_ELSEWHERE = {
    "AimLoggerCallback": _CALL_IT.format("aim.Run()"),
    "CometLoggerCallback": _CALL_IT.format("comet_ml.start()"),
    "MLflowLoggerCallback": _CALL_IT.format("mlflow.start_run()"),
    "WandbLoggerCallback": _CALL_IT.format("wandb.init(config=config)"),
    "Logger": "derive a class from LoggerCallback, and give it to RunConfig(callbacks=[...]), as in Ray.",
    "UnifiedLogger": "the files are always written; RunConfig(callbacks=[...]) takes further LoggerCallbacks.",
    "DEFAULT_LOGGERS": "the files are always written; RunConfig(callbacks=[...]) takes further LoggerCallbacks.",
}


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, _ELSEWHERE[name]))
    raise elsewhere.no_attribute(__name__, name)
