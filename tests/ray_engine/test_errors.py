"""Ray's errors become nbaccel's of the same name."""

from __future__ import annotations

import pytest

from nbaccel import exceptions

ray = pytest.importorskip("ray")

from nbaccel.ray_engine.submission import errors  # noqa: E402


@pytest.mark.parametrize(
    "error",
    [
        ray.exceptions.WorkerCrashedError(),
        ray.exceptions.TaskCancelledError(),
        ray.exceptions.NodeDiedError("gone"),
        ray.exceptions.OutOfMemoryError("too much"),
        ray.exceptions.ObjectLostError("ab" * 28, None, ""),
        ray.exceptions.OwnerDiedError("ab" * 28, None, ""),
        ray.exceptions.RuntimeEnvSetupError("no such wheel"),
        ray.exceptions.TaskUnschedulableError("never"),
        ray.exceptions.PendingCallsLimitExceeded("full"),
        ray.exceptions.ActorDiedError(),
        ray.exceptions.ActorUnavailableError("restarts", None),
        ray.exceptions.RaySystemError("broken"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_each_error_arrives_under_its_own_name(error):
    made = errors.translate(error)
    assert type(made) is getattr(exceptions, type(error).__name__)
    assert str(made).strip()


def test_an_error_of_the_users_is_left_alone():
    error = ValueError("mine")
    assert errors.translate(error) is error


def test_a_task_error_keeps_cause_pid_and_words():
    text = '\x1b[36mray::f()\x1b[39m (pid=7, ip=10.0.0.1)\n  File "mine.py", line 1, in f\nValueError: no'
    rays = ray.exceptions.RayTaskError("f", text, ValueError("no")).as_instanceof_cause()
    made = errors.translate(rays)
    assert isinstance(made, ValueError) and isinstance(made, exceptions.RayTaskError)
    assert (made.function_name, made.pid, made.args) == ("f", 7, ("no",))
    assert "mine.py" in str(made)


def test_the_mark_of_the_wrapper_is_taken_off():
    cause = ValueError("no")
    cause.__dict__[errors.WHERE] = {"task_id": "ab", "device_ids": {"GPU": ["1"]}, "name": "Model.train", "pid": 9}
    made = errors.translate(ray.exceptions.RayTaskError("train", "text", cause).as_instanceof_cause())
    assert (made.actor, made.function_name, made.device_ids, made.pid) == ("Model", "train", {"GPU": ["1"]}, 9)
    assert errors.WHERE not in made.cause.__dict__ and errors.WHERE not in made.__dict__


def test_what_ray_leaves_of_the_frames_it_hides_is_taken_out():
    text = (
        "           ^^^^^^^^^^^^\n"
        "                  ^^^^^^\n"
        '  File "/usr/lib/python3.12/concurrent/futures/_base.py", line 456, in result\n'
        "    return self.__get_result()\n"
        "           ^^^^^^^^^^^^^^^^^^^\n"
        '  File "/opt/site-packages/ray/actor.py", line 9, in __ray_call__\n'
        "    return fn(self)\n"
        '  File "/tmp/ray/nbaccel_in_ray/wrapping.py", line 3, in run\n'
        "    return code()\n"
        '  File "/home/me/ray/mine.py", line 1, in f\n'
        "    g()(1)\n"
        "    ~~~^^^\n"
        "    ^^^^^\n"
        '  File "/usr/lib/python3.12/concurrent/futures/_base.py", line 456, in result\n'
        "    return self.__get_result()\n"
        "TypeError: no\n"
        "    and why"
    )
    assert errors.users_traceback(text).splitlines() == [
        "Traceback (most recent call last):",
        '  File "/home/me/ray/mine.py", line 1, in f',
        "    g()(1)",
        "    ~~~^^^",
        '  File "/usr/lib/python3.12/concurrent/futures/_base.py", line 456, in result',
        "    return self.__get_result()",
        "TypeError: no",
        "    and why",
    ]


def test_of_an_arguments_error_only_the_argument_is_told():
    heading = "ray.exceptions.RayTaskError: ray::f()\n"
    one = "  At least one of the input arguments for this task could not be computed:\n" + heading
    rest = '  File "mine.py", line 1, in f\nValueError: no'
    assert errors.users_traceback(one + one + rest) == "Traceback (most recent call last):\n" + rest


def test_the_traceback_that_the_wrapper_left_is_shown_without_the_runtimes_frames():
    cause = ValueError("no")
    left = (
        "Traceback (most recent call last):\n"
        '  File "mine.py", line 1, in f\n'
        "    {}['k']\n"
        "KeyError: 'k'\n"
        "\n"
        "During handling of the above exception, another exception occurred:\n"
        "\n"
        "Traceback (most recent call last):\n"
        '  File "/tmp/ray/nbaccel_in_ray/wrapping.py", line 3, in run\n'
        "    return code()\n"
        "           ^^^^^^\n"
        '  File "mine.py", line 2, in f\n'
        "ValueError: no"
    )
    cause.__dict__[errors.WHERE] = {"name": "f", "pid": 9, "traceback": left}
    made = errors.translate(ray.exceptions.RayTaskError("f", "Ray's text", cause).as_instanceof_cause())
    kept = [line for line in left.splitlines() if "wrapping" not in line and "code()" not in line and "^^" not in line]
    assert str(made).splitlines() == ["ray::f() (pid=9)", *kept]


def test_frames_of_the_runtime_are_left_out_of_a_group_too():
    cause = ExceptionGroup("many", [TypeError("b")])
    left = (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "/tmp/ray/nbaccel_in_ray/wrapping.py", line 3, in run\n'
        "  |     return code()\n"
        '  |   File "mine.py", line 2, in f\n'
        "  | ExceptionGroup: many (1 sub-exception)"
    )
    cause.__dict__[errors.WHERE] = {"name": "f", "pid": 9, "traceback": left}
    made = errors.translate(ray.exceptions.RayTaskError("f", "Ray's text", cause).as_instanceof_cause())
    lines = left.splitlines()
    assert str(made).splitlines()[1:] == [lines[0], *lines[3:]]
