"""The tree of errors, and RayTaskError's second nature as what the user raised."""

import asyncio
import contextlib
import copy
import inspect
import pickle
import traceback

import pytest

from nbaccel import exceptions
from nbaccel.exceptions import ActorDiedError, GetTimeoutError, RayError, RayTaskError, TaskCancelledError


class NeedsTwo(Exception):
    def __init__(self, code, reason):
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class Slotted(Exception):
    __slots__ = ("shard",)

    def __init__(self, shard):
        super().__init__("lost a shard")
        self.shard = shard


class Final(Exception):
    def __init_subclass__(cls, **kwargs):
        raise TypeError("no subclasses, please")


class OwnReduce(Exception):
    def __init__(self, *, step):
        super().__init__(f"step {step}")
        self.step = step

    def __reduce_ex__(self, protocol):
        return _own, (self.step,)


def _own(step):
    return OwnReduce(step=step)


def failed(cause, name="f", **where):
    """The RayTaskError of a task whose body raised `cause`."""
    try:
        raise cause
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
        return RayTaskError(name, text, error, **where)


def every_kind():
    kinds = [kind for _, kind in inspect.getmembers(exceptions, inspect.isclass)]
    return [kind for kind in kinds if issubclass(kind, RayError) and kind is not RayTaskError]


def roundtrips(error):
    return [pickle.loads(pickle.dumps(error, protocol)) for protocol in (4, 5)] + [copy.copy(error)]


@pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.__name__)
def test_every_error_survives_pickle_with_its_message_and_facts(kind):
    error = kind("what happened")
    error.seen_by = "driver"
    for again in roundtrips(error):
        assert type(again) is kind
        assert str(again) == "what happened"
        assert vars(again) == vars(error)


@pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.__name__)
def test_every_error_is_drawn_in_the_tree_at_the_top(kind):
    assert f" {kind.__name__}" in exceptions.__doc__ or kind is RayError


def test_errors_are_also_the_builtin_errors_that_ray_users_catch():
    assert issubclass(GetTimeoutError, TimeoutError)
    assert issubclass(exceptions.ActorAlreadyExistsError, ValueError)
    assert issubclass(exceptions.ActorHandleNotFoundError, ValueError)
    assert issubclass(exceptions.ReferenceCountingAssertionError, AssertionError)
    assert issubclass(exceptions.HeadDiedError, exceptions.RaySystemError)


def test_a_task_error_is_an_instance_of_what_the_task_raised():
    with pytest.raises(ValueError) as caught:
        raise failed(ValueError("bad rows", 3), pid=123).as_instanceof_cause()
    error = caught.value
    assert isinstance(error, RayTaskError)
    assert type(error).__name__ == "RayTaskError(ValueError)"
    assert type(error.cause) is ValueError
    assert error.args == ("bad rows", 3)


def test_the_text_is_the_remote_traceback_under_a_line_that_says_where():
    error = failed(ValueError("bad"), "train", pid=123, device_ids={"GPU": ["0", "1"], "TPU": []}).as_instanceof_cause()
    first, *rest = str(error).splitlines()
    assert first == "ray::train() (pid=123, GPU=0,1)"
    assert rest[0] == "Traceback (most recent call last):"
    assert rest[-1] == "ValueError: bad"


def test_a_method_is_named_with_its_actor():
    assert str(failed(ValueError("bad"), "load", actor="Server", pid=1)).startswith("ray::Server.load() (pid=1)\n")


def test_where_it_failed_is_kept_by_the_fused_error():
    where = {"task_id": "ab", "pid": 7, "device_ids": {"GPU": ["MIG-1"]}, "cell": "In [3]", "actor": "Counter"}
    error = failed(KeyError("x"), **where).as_instanceof_cause()
    assert {name: getattr(error, name) for name in where} == where


def test_attributes_and_methods_of_the_users_exception_are_visible():
    error = failed(NeedsTwo(5, "no disk")).as_instanceof_cause()
    assert (error.code, error.reason, error.args) == (5, "no disk", ("5: no disk",))


def test_c_fields_of_builtin_exceptions_are_visible():
    assert failed(FileNotFoundError(2, "gone", "/x")).as_instanceof_cause().errno == 2
    assert failed(FileNotFoundError(2, "gone", "/x")).as_instanceof_cause().filename == "/x"
    decode = failed(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")).as_instanceof_cause()
    assert (decode.object, decode.end, decode.reason) == (b"\xff", 1, "invalid")
    assert failed(ModuleNotFoundError("no x", name="x")).as_instanceof_cause().name == "x"


CAUSES = [
    ValueError("bad"),
    KeyError("k"),
    NeedsTwo(5, "no disk"),
    Slotted(3),
    OwnReduce(step=4),
    FileNotFoundError(2, "gone", "/x"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
    ModuleNotFoundError("no x", name="x"),
    StopIteration(3),
    ExceptionGroup("two", [ValueError(1), TypeError(2)]),
    GetTimeoutError("late"),
    ActorDiedError("gone", actor_id="ff"),
]


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: type(cause).__name__)
def test_a_task_error_of_any_cause_survives_pickle_fused_or_plain(cause):
    plain = failed(cause, pid=9, device_ids={"GPU": ["0"]})
    fused = plain.as_instanceof_cause()
    for error in (plain, fused):
        for again in roundtrips(error):
            assert type(again) is type(error)
            assert isinstance(again, type(cause)) is isinstance(error, type(cause))
            assert str(again) == str(error)
            assert again.device_ids == {"GPU": ["0"]}
            assert type(again.cause) is type(cause)
            assert repr(again.cause) == repr(cause)
            assert vars(again.cause) == vars(cause)


def test_slots_of_the_users_exception_are_visible_and_survive_pickle():
    error = failed(Slotted(3)).as_instanceof_cause()
    assert isinstance(error, Slotted)
    again = pickle.loads(pickle.dumps(error))
    assert (error.shard, again.shard, again.cause.shard) == (3, 3, 3)


def test_fields_of_an_os_error_survive_pickle():
    again = pickle.loads(pickle.dumps(failed(PermissionError(13, "no", "/etc/x")).as_instanceof_cause()))
    assert (again.errno, again.filename) == (13, "/etc/x")


class NoSetter(Exception):
    """Shows `args` of its own."""

    def __init__(self, text):
        self.text = text

    args = property(lambda self: ("shown",))
    cause = property(lambda self: "its own")


class Unchangeable(Exception):
    def __setattr__(self, name, value):
        raise AttributeError(f"{name} is fixed")


@pytest.mark.parametrize("cause", [NoSetter("kept"), Unchangeable("kept")], ids=lambda c: type(c).__name__)
def test_a_class_that_lets_nothing_be_set_is_fused_copied_and_pickled(cause):
    error = failed(cause).as_instanceof_cause()
    error.task_id = "ab"
    for same in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert isinstance(same, type(cause)) and isinstance(same, RayTaskError)
        assert same.args == cause.args
        assert getattr(same, "text", "kept") == "kept"
        with pytest.raises(type(cause)), contextlib.suppress(ZeroDivisionError):
            raise same


def test_a_class_that_refuses_subclasses_gives_the_plain_error():
    error = failed(Final("x")).as_instanceof_cause()
    assert type(error) is RayTaskError
    assert type(error.cause) is Final


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), asyncio.CancelledError()], ids=lambda c: type(c).__name__)
def test_a_task_that_stopped_itself_is_told_as_cancelled(cause):
    error = failed(cause).as_instanceof_cause()
    assert isinstance(error, TaskCancelledError) and isinstance(error, RayTaskError)
    assert error.cause is cause and type(cause).__name__ in str(error.args)


def test_a_cause_that_is_no_exception_is_caught_by_its_own_class():
    class Halt(BaseException):
        pass

    with pytest.raises(Halt, match="now") as caught:
        raise failed(Halt("now")).as_instanceof_cause()
    assert isinstance(caught.value, RayTaskError)


@pytest.mark.parametrize("cause", [SystemExit(3), GeneratorExit()], ids=lambda c: type(c).__name__)
def test_what_would_end_the_caller_gives_the_plain_error(cause):
    error = failed(cause).as_instanceof_cause()
    assert type(error) is RayTaskError
    assert type(pickle.loads(pickle.dumps(error)).cause) is type(cause)


def test_no_cause_or_a_bare_exception_gives_the_plain_error():
    assert type(RayTaskError("f", "text", None).as_instanceof_cause()) is RayTaskError
    assert type(failed(Exception("x")).as_instanceof_cause()) is RayTaskError


def test_fusing_twice_changes_nothing():
    fused = failed(ValueError("x")).as_instanceof_cause()
    assert fused.as_instanceof_cause() is fused


def test_two_errors_of_one_class_share_the_fused_class():
    first, second = failed(ValueError(1)).as_instanceof_cause(), failed(ValueError(2)).as_instanceof_cause()
    assert type(first) is type(second)


def test_an_exception_group_of_a_task_can_be_split_and_caught_by_part():
    error = failed(ExceptionGroup("two", [ValueError(1), TypeError(2)])).as_instanceof_cause()
    caught = []
    try:
        raise error
    except* ValueError as group:
        caught += group.exceptions
    except* TypeError as group:
        caught += group.exceptions
    assert [type(part) for part in caught] == [ValueError, TypeError]


def test_a_task_of_a_task_keeps_the_innermost_cause_and_both_tracebacks():
    inner = failed(KeyError("rows"), "inner", pid=1).as_instanceof_cause()
    outer = failed(inner, "outer", pid=2).as_instanceof_cause()
    assert isinstance(outer, KeyError)
    assert type(outer).__name__ == "RayTaskError(KeyError)"
    assert type(outer.cause) is KeyError
    assert str(outer).startswith("ray::outer() (pid=2)")
    assert str(outer).count("ray::inner() (pid=1)") == 1
    assert str(outer).count("KeyError: 'rows'") == 1


def test_an_inner_traceback_that_the_outer_text_lacks_is_put_before_it():
    inner = failed(KeyError("rows"), "inner", pid=1)
    outer = RayTaskError("outer", "Traceback: somewhere", inner)
    assert str(outer).index("ray::inner() (pid=1)") < str(outer).index("Traceback: somewhere")


def test_what_is_added_to_a_task_error_survives_pickle():
    error = failed(KeyError("door")).as_instanceof_cause()
    error.step = 7
    assert [again.step for again in roundtrips(error)] == [7, 7, 7]


def test_notes_on_a_task_error_survive_pickle():
    error = failed(ValueError("x")).as_instanceof_cause()
    error.add_note("see cell 3")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["see cell 3"]


def test_a_users_exception_with_fields_of_our_names_keeps_them_on_its_cause():
    cause = ValueError("x")
    cause.pid = "theirs"
    error = failed(cause, pid=5).as_instanceof_cause()
    assert (error.pid, error.cause.pid) == (5, "theirs")


def test_a_memory_error_is_caught_as_one_though_its_class_refuses_company():
    error = RayTaskError("f", "Traceback", MemoryError("8 PiB")).as_instanceof_cause()
    assert isinstance(error, MemoryError) and error.args == ("8 PiB",)
    assert isinstance(pickle.loads(pickle.dumps(error)), MemoryError)


def test_an_actors_error_tells_by_rays_names_what_happened():
    error = pickle.loads(pickle.dumps(ActorDiedError("The actor is dead.", actor_id="ab")))
    assert (error.actor_id, error.error_msg, error.preempted) == ("ab", "The actor is dead.", False)
