"""What users hold: refs, handles and methods; how long what they stand for lives; names of actors."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest

import nbaccel
from nbaccel.handles.remote import RemoteFunction
from tests.census import Place
from tests.heads import assert_idle, inside, rows
from tests.rig import Gate, is_alive, wait_until


@pytest.fixture(scope="module")
def head() -> Iterator[Place]:
    with inside(Place()) as place:
        nbaccel.init(num_cpus=4, num_gpus=2, namespace="tests")
        yield place


@pytest.fixture(autouse=True)
def cluster(head: Place) -> Iterator[Place]:
    yield head
    for row in nbaccel.util.list_named_actors(all_namespaces=True):
        with contextlib.suppress(ValueError):  # its last handle went with the test: it ends by itself
            nbaccel.kill(nbaccel.get_actor(row["name"], row["namespace"]))
    assert_idle()


def free_gpus() -> float:
    return nbaccel.available_resources().get("GPU", 0.0)


@nbaccel.remote
def echo(value: Any) -> Any:
    return value


@nbaccel.remote
class Actor:
    """Remembers what it was told, in order."""

    def __init__(self, *said: Any) -> None:
        self.said = list(said)

    def pid(self) -> int:
        return os.getpid()

    def say(self, value: Any) -> None:
        self.said.append(value)

    def all(self) -> list[Any]:
        return self.said

    def ids(self) -> list[Any]:
        return nbaccel.get_gpu_ids()

    def fail(self) -> None:
        raise LookupError("nothing there")

    def leave(self) -> None:
        nbaccel.actor.exit_actor()

    @nbaccel.method(num_returns=2)
    def two(self) -> tuple[int, int]:
        return 1, 2

    def call(self, other: Any) -> Any:
        return nbaccel.get(other.all.remote())


# ---- refs


def test_refs_are_equal_and_hashed_by_their_id() -> None:
    ref = nbaccel.put(1)
    same = nbaccel.get(echo.remote([ref]))[0]
    assert same == ref
    assert hash(same) == hash(ref)
    assert len({same, ref, nbaccel.put(1)}) == 2
    assert ref != 1
    assert ref.hex() == ref.binary().hex() == repr(ref)[len("ObjectRef(") : -1]
    assert len(ref.hex()) == 56
    assert copy.copy(ref) is ref
    assert copy.deepcopy([ref])[0] is ref


def test_refs_of_one_task_share_its_id() -> None:
    first, second = echo.options(num_returns=2).remote((1, 2))
    assert first.task_id() == second.task_id()
    assert first.job_id() == nbaccel.put(1).job_id()
    assert nbaccel.get([first, second]) == [1, 2]


def test_a_ref_is_dropped_when_its_last_copy_is() -> None:
    ref = nbaccel.put("x")
    copies = [ref, copy.copy(ref), *nbaccel.get(echo.remote([ref, ref]))]
    while copies:
        assert any(row["object_id"] == ref.hex() for row in rows("objects"))
        copies.pop()
    del ref
    wait_until(lambda: not rows("objects"))


def test_dropped_results_of_tasks_that_still_run_are_never_kept() -> None:
    for _ in range(100):
        echo.remote("nobody wants me")
    wait_until(lambda: not rows("objects"))


# ---- actors


def test_a_temporary_handle_lives_until_its_call_has_ended() -> None:
    assert nbaccel.get(Actor.remote("only me").all.remote()) == ["only me"]
    assert nbaccel.get(Actor.options(num_gpus=1).remote().ids.remote()) in ([0], [1])
    wait_until(lambda: free_gpus() == 2, "the temporary's GPU")


def test_an_actor_out_of_scope_ends_and_gives_its_devices_back() -> None:
    actor = Actor.options(num_gpus=2).remote()
    pid = nbaccel.get(actor.pid.remote())
    assert free_gpus() == 0
    del actor
    wait_until(lambda: not is_alive(pid), "the actor's end")
    wait_until(lambda: free_gpus() == 2, "its GPUs")


def test_an_actor_lives_while_anyone_holds_a_handle() -> None:
    actor, keeper = Actor.remote("kept"), Actor.remote()
    nbaccel.get(keeper.say.remote(actor))
    pid = nbaccel.get(actor.pid.remote())
    del actor
    gc.collect()
    assert nbaccel.get(nbaccel.get(keeper.all.remote())[0].all.remote()) == ["kept"]
    nbaccel.kill(keeper)
    wait_until(lambda: not is_alive(pid), "the actor's end with its last holder")


def test_an_attribute_asked_of_a_handle_is_said_to_be_out_of_reach() -> None:
    class Sized:
        X = 1

    with pytest.raises(AttributeError, match=r"Sized has no such method, and attributes of an actor cannot be reached"):
        _ = nbaccel.remote(Sized).remote().X


# ---- names


def test_a_named_actor_ends_with_its_last_handle_unless_it_is_detached() -> None:
    named = Actor.options(name="named").remote()
    detached = Actor.options(name="detached", lifetime="detached").remote("still here")
    pids = nbaccel.get([named.pid.remote(), detached.pid.remote()])
    del named, detached
    gc.collect()
    wait_until(lambda: not is_alive(pids[0]), "the named actor's end")
    assert nbaccel.get(nbaccel.get_actor("detached").all.remote()) == ["still here"]
    nbaccel.kill(nbaccel.get_actor("detached"))
    wait_until(lambda: not is_alive(pids[1]), "the detached actor's end")


def test_the_handle_that_get_if_exists_finds_keeps_the_actor() -> None:
    first = Actor.options(name="kept").remote("first")
    again = Actor.options(name="kept", get_if_exists=True).remote("never made")
    del first
    gc.collect()
    assert nbaccel.get(again.all.remote()) == ["first"]


def test_a_detached_actor_needs_a_name_to_be_found_and_survives_its_driver(head: Place) -> None:
    place = Place()
    assert place.command("start", "--head", "--num-cpus=2").returncode == 0
    join = "import nbaccel\nnbaccel.init(address='auto', namespace='n')\n"
    make = join + (
        "@nbaccel.remote\nclass A:\n    def n(self): return 7\n"
        "a = A.options(name='stays', lifetime='detached').remote()\nprint(nbaccel.get(a.n.remote()))"
    )
    assert place.run(make).stdout.splitlines()[-1] == "7"
    found = place.run(join + "print(nbaccel.get(nbaccel.get_actor('stays').n.remote()))")
    assert found.stdout.splitlines()[-1] == "7", found.stderr
    assert place.command("stop").returncode == 0
    place.assert_nothing_left()
    place.clear()


def test_refs_are_not_pickled_by_hand_where_that_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    ref = nbaccel.put(1)
    monkeypatch.setenv("RAY_allow_out_of_band_object_ref_serialization", "0")
    with pytest.raises(nbaccel.exceptions.OufOfBandObjectRefSerializationException, match=ref.hex()):
        nbaccel.cloudpickle.dumps(ref)
    assert nbaccel.get(nbaccel.get(nbaccel.put([ref]))) == [1]


def test_functions_and_classes_capture_no_refs_where_that_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    ref, gate = nbaccel.put(1), Gate.remote()
    monkeypatch.setenv("RAY_allow_out_of_band_object_ref_serialization", "0")

    @nbaccel.remote
    def captures() -> int:
        return nbaccel.get(ref)

    @nbaccel.remote
    class Captures:
        mine = ref

    @nbaccel.remote
    def knows_an_actor() -> int:
        return nbaccel.get(gate.arrived.remote())

    for made in (captures, Captures):
        with pytest.raises(nbaccel.exceptions.OufOfBandObjectRefSerializationException, match=ref.hex()):
            made.remote()
    assert nbaccel.get(knows_an_actor.remote()) == 0


# ---- calls that are wrong


class Animal:
    """Not decorated: the remote class below derives from it."""

    def sound(self) -> str:
        return "none"


@nbaccel.remote
class Dog(Animal):
    def __init__(self, name: str) -> None:
        self.name = name

    @staticmethod
    def double(number: int) -> int:
        return 2 * number


def test_wrong_calls_raise_where_they_are_made() -> None:
    dog = Dog.remote("Rex")
    with pytest.raises(TypeError, match="missing a required argument: 'number'"):
        dog.double.remote()
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        dog.double.remote(1, y=2)
    with pytest.raises(TypeError):
        Dog.remote()
    with pytest.raises(TypeError, match="cannot be called directly"):
        dog.sound()
    with pytest.raises(TypeError, match="cannot be instantiated directly"):
        Dog("Rex")
    with pytest.raises(AssertionError, match="takes keyword options"):
        nbaccel.method(3)


def test_handles_and_classes_can_be_annotated() -> None:
    def use(actor: nbaccel.actor.ActorHandle[int], made: nbaccel.actor.ActorClass[int]) -> nbaccel.ObjectRef[int]: ...
    def more(
        proxy: nbaccel.actor.ActorProxy[int],
        function: RemoteFunction[[int, str], float],
        method: nbaccel.actor.ActorMethod[[int], float],
    ) -> nbaccel.ObjectRefGenerator[int]: ...

    for annotated in (use, more):
        for annotation in annotated.__annotations__.values():
            assert eval(annotation)
