"""What Ray logs of errors that nobody asked for."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports import watching

RAYS = logging.getLogger("ray._private.worker")
ERROR = (
    "Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): "
    "\x1b[36mray::Model.train()\x1b[39m (pid=18419, ip=10.0.0.1)\n"
    '  File "mine.py", line 7, in train\n'
    "    return 1 / x\n"
    "ZeroDivisionError: division by zero\n"
)


@pytest.fixture(autouse=True)
def heard(caplog):
    """Ray's loggers pass nothing on to the root."""
    RAYS.addHandler(caplog.handler)
    yield
    RAYS.removeHandler(caplog.handler)


@pytest.fixture
def shortened():
    watching.shorten_unread_errors()
    yield
    watching.stop_unread_errors()


def test_one_line_is_left_of_it(shortened, caplog):
    RAYS.error(ERROR)
    (said,) = caplog.messages
    assert said == "Model.train (pid 18419) failed and nobody asked for its result: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    "text", ["Unhandled error (suppress with 'X=1'): Task: ab was cancelled. ", "100% of it", "a\nb"]
)
def test_other_words_are_rays(shortened, caplog, text):
    RAYS.error(text)
    assert caplog.messages == [text]


def test_after_the_end_they_are_rays_again(caplog):
    watching.shorten_unread_errors()
    watching.stop_unread_errors()
    RAYS.error(ERROR)
    assert caplog.messages == [ERROR]
