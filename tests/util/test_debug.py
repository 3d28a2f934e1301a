"""Saying something once in a process."""

import importlib

import pytest

import nbaccel
from nbaccel.util import debug


@pytest.fixture(autouse=True)
def nothing_said_before():
    importlib.reload(debug)
    yield
    importlib.reload(debug)


def test_only_the_first_call_with_a_key_says_something():
    assert [debug.log_once("slow"), debug.log_once("slow"), debug.log_once("other")] == [True, False, True]


def test_what_was_said_can_be_forgotten():
    debug.log_once("a"), debug.log_once("b")
    debug.reset_log_once("a")
    assert debug.log_once("a") and not debug.log_once("b")
    debug.reset_log_once()
    assert debug.log_once("b")


def test_a_process_can_be_silenced():
    debug.disable_log_once_globally()
    assert not debug.log_once("a")


def test_it_stands_in_util_as_well():
    assert nbaccel.util.log_once.__module__ == "nbaccel.util.debug"
