"""What a class may look like: inheritance, generics, class and static methods, order of calls, argument checks."""

import threading
from abc import ABC, abstractmethod
from collections import namedtuple
from typing import Generic, TypeVar

import pytest

import nbaccel
from tests.rig import Gate

T = TypeVar("T")


class Animal(ABC):
    def __init__(self, name):
        self.name = name

    @abstractmethod
    def sound(self): ...

    def speak(self):
        return f"{self.name}: {self.sound()}"


@nbaccel.remote
class Dog(Animal):
    legs = 4

    def __init__(self, name):
        super().__init__(name)

    def sound(self):
        return "woof"

    @staticmethod
    def double(x):
        return 2 * x

    @classmethod
    def kind(cls):
        return cls.__name__

    @property
    def tail(self):
        return True

    def __len__(self):
        return 7

    def __call__(self, x):
        return x

    @nbaccel.method(num_returns=2)
    def pair(self):
        return 1, 2

    @nbaccel.method(num_returns=0)
    def silent(self): ...

    def count(self):
        yield 1
        yield 2


@pytest.fixture
def dog():
    return Dog.remote("Rex")


def test_inherited_class_and_static_methods_are_called(dog):
    calls = [dog.speak.remote(), dog.double.remote(4), dog.kind.remote(), dog.__call__.remote(3), dog.__len__.remote()]
    assert nbaccel.get(calls) == ["Rex: woof", 8, "Dog", 3, 7]


def test_methods_say_how_much_they_return(dog):
    assert nbaccel.get(dog.pair.remote()) == [1, 2]
    assert dog.silent.remote() is None
    assert [nbaccel.get(ref) for ref in dog.count.remote()] == [1, 2]


def test_what_is_no_method_is_no_attribute(dog):
    for name in ("tail", "legs", "nope"):
        with pytest.raises(AttributeError, match=name):
            getattr(dog, name)


def test_the_plain_class_shows_through():
    assert Dog.legs == 4 and Dog.double(3) == 6


def test_wrong_calls_raise_where_they_are_made(dog):
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        dog.double.remote()
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        dog.double.remote(1, y=2)
    with pytest.raises(TypeError):
        Dog.remote()
    with pytest.raises(TypeError, match="cannot be called directly"):
        dog.speak()
    with pytest.raises(TypeError, match="cannot be instantiated directly"):
        Dog("Rex")


def test_an_actor_class_has_no_subclasses():
    from nbaccel.actor import ActorClassInheritanceException

    with pytest.raises(ActorClassInheritanceException):

        class Puppy(Dog): ...


def test_a_generic_class_is_an_actor():
    @nbaccel.remote
    class Box(Generic[T]):
        def __init__(self, value: T):
            self.value = value

        def get(self) -> T:
            return self.value

    assert nbaccel.get(Box.remote(3).get.remote()) == 3


@nbaccel.remote
def after(gate, value):
    nbaccel.get(gate.wait.remote())
    return value


@nbaccel.remote
class Notes:
    def __init__(self):
        self.notes = []

    def write(self, note):
        self.notes.append(note)

    def read(self):
        return self.notes


def test_calls_keep_their_order_though_an_argument_is_late():
    gate, notes = Gate.remote(), Notes.remote()
    notes.write.remote(after.remote(gate, "first"))
    second = notes.write.remote("second")
    assert nbaccel.wait([second], timeout=0) == ([], [second])
    nbaccel.get(gate.open.remote())
    assert nbaccel.get(notes.read.remote()) == ["first", "second"]


def test_out_of_order_calls_do_not_wait_for_each_other():
    gate, notes = Gate.remote(), Notes.options(allow_out_of_order_execution=True).remote()
    first = notes.write.remote(after.remote(gate, "first"))
    nbaccel.get(notes.write.remote("second"))
    nbaccel.get(gate.open.remote())
    nbaccel.get(first)
    assert nbaccel.get(notes.read.remote()) == ["second", "first"]


def test_exit_actor_outside_of_an_actor_is_a_type_error():
    with pytest.raises(TypeError):
        nbaccel.actor.exit_actor()


@pytest.mark.parametrize("broken", [lambda self: 1 / 0, lambda self: ""])
def test_an_actor_without_a_name_for_itself_is_an_actor(broken):
    nameless = type("Nameless", (), {"__repr__": broken, "answer": lambda self: 42})
    assert nbaccel.get(nbaccel.remote(nameless).remote().answer.remote()) == 42


def test_an_abstract_class_is_refused_where_it_is_started():
    class Shape(ABC):
        @abstractmethod
        def area(self): ...

    with pytest.raises(TypeError, match="abstract class Shape: it does not define area"):
        nbaccel.remote(Shape).remote()


def test_a_method_may_be_marked_bare():
    @nbaccel.remote
    class Marked:
        @nbaccel.method
        def answer(self):
            return 42

    assert nbaccel.get(Marked.remote().answer.remote()) == 42
    with pytest.raises(AssertionError, match="takes keyword options"):
        nbaccel.method(3)


def test_handles_and_classes_can_be_annotated():
    def use(actor: nbaccel.actor.ActorHandle[int], made: nbaccel.actor.ActorClass[int]) -> nbaccel.ObjectRef[int]: ...

    assert len(use.__annotations__) == 3


def test_a_class_that_is_made_by_new_is_an_actor():
    point = nbaccel.remote(namedtuple("Point", "x y"))
    assert nbaccel.get(point.remote(3, y=4).index.remote(4)) == 1
    with pytest.raises(TypeError):
        point.remote(1, 2, 3)


def test_a_member_that_cannot_be_pickled_is_named():
    class Guarded:
        lock = threading.Lock()

    with pytest.raises(TypeError, match=r"Guarded\.lock \(_thread\.lock\) cannot be pickled"):
        nbaccel.remote(Guarded).remote()
