"""How log records look, here and in tasks."""

import json
import logging

import pytest

import nbaccel
from nbaccel.logging_config import LoggingConfig
from tests.rig import wait_until, written_so_far


@pytest.fixture
def root():
    logger = logging.getLogger()
    before, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:] = before
    logger.setLevel(level)


def _formatted(root, record):
    return root.handlers[-1].format(record)


def _record(**fields):
    return logging.makeLogRecord(
        {"msg": "epoch %d", "args": (3,), "levelname": "INFO", "filename": "train.py", **fields}
    )


def test_a_record_as_text_or_as_json(root):
    LoggingConfig(additional_log_standard_attrs=["name"]).apply()
    text = _formatted(root, _record(name="train", lineno=7))
    assert "INFO train.py:7 -- epoch 3 name=train timestamp_ns=" in text
    LoggingConfig(encoding="JSON").apply()
    said = json.loads(_formatted(root, _record()))
    assert said["message"] == "epoch 3" and said["levelname"] == "INFO" and said["timestamp_ns"] > 0


def test_applying_twice_does_not_say_everything_twice(root):
    count = len(root.handlers)
    LoggingConfig().apply()
    LoggingConfig(encoding="JSON").apply()
    assert len(root.handlers) == count + 1


def test_records_of_a_task_say_which_task_wrote_them(root, capfd):
    @nbaccel.remote
    def train():
        logging.getLogger("model").info("begun")
        logging.getLogger("model").debug("not this")
        return nbaccel.get_runtime_context().get_task_id()

    def seen():
        return written_so_far(1) + written_so_far(2)

    def line():
        return next((each for each in seen().splitlines() if "begun" in each), None)

    with nbaccel.init(num_cpus=1, logging_config=LoggingConfig(encoding="JSON")):
        task_id = nbaccel.get(train.remote())
        said = wait_until(line)
        said = json.loads(said[said.index("{") :])
    assert said["task_id"] == task_id and said["task_name"] == "train" and said["job_id"]
    assert "not this" not in seen()


@pytest.mark.parametrize("wrong", [{"encoding": "XML"}, {"additional_log_standard_attrs": ["colour"]}])
def test_what_cannot_be_logged_is_refused(wrong):
    with pytest.raises(ValueError):
        LoggingConfig(**wrong)


def test_init_takes_nothing_else():
    with pytest.raises(TypeError, match="logging_config takes a LoggingConfig"):
        nbaccel.init(logging_config="JSON")
