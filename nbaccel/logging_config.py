"""How log records look, here and in every task: `init(logging_config=LoggingConfig(encoding="JSON"))`.

{"asctime": "…", "levelname": "INFO", "message": "epoch 3", …, "job_id": "00000001", "task_name": "train", …}
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from nbaccel import engine as engines

ENCODINGS = ("TEXT", "JSON")
VARIABLE = "NBACCEL_LOGGING_CONFIG"  # the variable by which a worker gets the configuration
_TEXT = "%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s"
_ALWAYS = ("asctime", "levelname", "message", "filename", "lineno")
_FACTS = {
    "job_id": "job_id",
    "worker_id": "worker_id",
    "node_id": "node_id",
    "actor_id": "actor_id",
    "actor_name": "actor_name",
    "task_id": "task_id",
    "task_name": "task_name",
    "task_func_name": "task_function_name",
}
_OF_A_RECORD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


@dataclass
class LoggingConfig:
    """The format ("TEXT" or "JSON"), the level, and further fields of a LogRecord to show, for example ["name"].

    Each record also says which job, node, worker, task and actor wrote it. Raises ValueError.
    """

    encoding: str = "TEXT"
    log_level: str | int = "INFO"
    additional_log_standard_attrs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            raise ValueError(f"Invalid encoding type: {self.encoding}. Valid encoding types are: {list(ENCODINGS)}")
        for name in self.additional_log_standard_attrs:
            if name not in _OF_A_RECORD:
                raise ValueError(
                    f"{name!r} is not an attribute of a log record; the attributes are {sorted(_OF_A_RECORD)}."
                )

    def apply(self) -> None:
        """Set up the root logger of this process."""
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Formatter(self))
        root = logging.getLogger()
        for before in root.handlers[:]:
            if isinstance(before.formatter, _Formatter):
                root.removeHandler(before)
        root.addHandler(handler)
        root.setLevel(self.log_level)

    def variables(self) -> dict[str, str]:
        """The environment variables that carry these settings to a worker."""
        return {VARIABLE: json.dumps(asdict(self))}


def apply_from_environment() -> None:
    """Set up a worker's logging as its driver requested."""
    asked = os.environ.get(VARIABLE)
    if asked:
        LoggingConfig(**json.loads(asked)).apply()


def take_on_levels(levels: Mapping[str, int]) -> None:
    """Show in a worker what the driver's loggers show. The root gets no handler, so that a task's basicConfig acts."""
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    last = logging.lastResort
    if levels and last is not None:
        last.setLevel(logging.NOTSET)
        last.setFormatter(logging.Formatter(logging.BASIC_FORMAT))


class _Formatter(logging.Formatter):
    """A line of text, or of JSON, that says who wrote it."""

    def __init__(self, config: LoggingConfig) -> None:
        super().__init__(_TEXT)
        self._config = config

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)  # sets record.message, asctime and exc_text as well
        facts = {name: getattr(record, name, None) for name in self._config.additional_log_standard_attrs} | _who()
        facts["timestamp_ns"] = int(record.created * 1e9)
        if self._config.encoding == "TEXT":
            return " ".join([text, *(f"{name}={value}" for name, value in facts.items())])
        said = {name: getattr(record, name) for name in _ALWAYS} | facts
        if record.exc_text:
            said["exc_text"] = record.exc_text
        return json.dumps(said, default=str)


def _who() -> dict[str, Any]:
    started = engines.started()
    if started is None:
        return {}
    context = started.context()
    return {name: value for name, fact in _FACTS.items() if (value := getattr(context, fact, None))}


__all__ = ["LoggingConfig"]
