"""inspect_serializability names the part that cannot be pickled."""

import io
import threading

from nbaccel.util import inspect_serializability

LOCK = threading.Lock()


class Holder:
    def __init__(self):
        self.settings = {"rate": 1, "inner": [1, threading.Lock()]}
        self.name = "fine"

    def method(self):
        return self.name


def blamed(candidate, **how):
    output = io.StringIO()
    serializable, failures = inspect_serializability(candidate, print_file=output, **how)
    return serializable, {failure.name for failure in failures}, output.getvalue()


def test_what_can_be_sent_is_found_fine():
    assert blamed(lambda: 3)[:2] == (True, set())


def test_a_captured_variable_is_named():
    lock = threading.Lock()
    assert blamed(lambda: lock)[:2] == (False, {"lock"})


def test_a_captured_global_is_named():
    code = {"LOCK": LOCK}
    exec("def task():\n    return LOCK", code)
    assert blamed(code["task"])[1] == {"LOCK"}


def test_an_attribute_is_followed_as_deep_as_asked():
    assert blamed(Holder())[1] == {"[1]"}
    assert blamed(Holder(), depth=1)[1] == {"settings"}


def test_a_method_is_followed_to_its_instance():
    assert "[1]" in blamed(Holder().method, depth=5)[1]


def test_what_refers_to_itself_ends():
    holder = Holder()
    holder.me = holder
    assert "[1]" in blamed(holder)[1]


def test_the_report_names_the_object_and_what_to_do():
    _, _, text = blamed(Holder(), name="holder")
    assert "Checking Serializability of holder" in text
    assert "cannot pickle '_thread.lock' object" in text
    assert "Make these inside the task" in text


def test_a_failure_knows_its_object_and_its_parent():
    lock = threading.Lock()
    _, failures = inspect_serializability({"a": lock}, print_file=io.StringIO())
    (failure,) = failures
    assert (failure.obj, failure.parent) == (lock, {"a": lock})
    assert "[obj=" in repr(failure)
