"""What Ray says while it starts is kept and not shown; errors are shown, and after a failure everything is."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator

import pytest

from nbaccel.handles.options import init_options
from nbaccel.ray_engine.starting import kept_back


@pytest.fixture
def shown() -> Iterator[io.StringIO]:
    """What the handler of Ray's logger writes; Ray's own handlers rest meanwhile."""
    logger, stream = logging.getLogger("ray"), io.StringIO()
    before, propagate, level = list(logger.handlers), logger.propagate, logger.level
    logger.handlers[:], logger.propagate = [logging.StreamHandler(stream)], False
    logger.setLevel(logging.INFO)
    yield stream
    logger.handlers[:], logger.propagate = before, propagate
    logger.setLevel(level)


def test_lines_up_to_warnings_are_kept_and_errors_shown(shown: io.StringIO) -> None:
    below = logging.getLogger("ray._private.worker")
    with warnings.catch_warnings(), kept_back(init_options()) as kept:
        warnings.simplefilter("always")
        kept.watch_log()
        below.warning("Token authentication is enabled")
        below.error("the raylet died")
        warnings.warn("Ray will no longer override", FutureWarning, stacklevel=1)
    below.warning("after the start")
    assert shown.getvalue() == "the raylet died\nafter the start\n"
    first, second = kept.lines
    assert first.startswith("WARNING test_rays_lines.py:") and first.endswith("-- Token authentication is enabled")
    assert "FutureWarning: Ray will no longer override" in second
    assert kept.hint() == "2 lines of Ray's log: %accel_logs"


def test_a_start_that_fails_shows_what_it_had_kept(shown: io.StringIO) -> None:
    with (
        pytest.warns(FutureWarning, match="no longer override"),
        pytest.raises(ConnectionError),
        kept_back(init_options()) as kept,
    ):
        kept.watch_log()
        logging.getLogger("ray").info("Connecting to existing Ray cluster")
        warnings.warn("Ray will no longer override", FutureWarning, stacklevel=1)
        assert shown.getvalue() == ""
        raise ConnectionError
    assert shown.getvalue() == "Connecting to existing Ray cluster\n"


def test_the_address_of_a_dashboard_is_shown(shown: io.StringIO) -> None:
    with kept_back(init_options(include_dashboard=True)) as kept:
        kept.watch_log()
        logging.getLogger("ray").info("Started a local Ray instance. View the dashboard at %s", "http://127.0.0.1:8265")
    assert "http://127.0.0.1:8265" in shown.getvalue()


@pytest.mark.parametrize("option", [{"logging_level": "warning"}, {"logging_format": "%(message)s"}])
def test_who_says_how_ray_is_to_log_sees_its_lines(shown: io.StringIO, option: dict[str, str]) -> None:
    with kept_back(init_options(**option)) as kept:
        kept.watch_log()
        logging.getLogger("ray").warning("Token authentication is enabled")
    assert shown.getvalue() == "Token authentication is enabled\n" and kept.lines == [] and kept.hint() == ""
