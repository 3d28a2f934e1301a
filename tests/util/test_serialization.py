"""register_serializer: classes that pickle alone cannot send."""

import threading

import pytest

import nbaccel
from nbaccel.util import deregister_serializer, register_serializer


class Guarded:
    def __init__(self, value):
        self.value = value
        self.lock = threading.Lock()


def test_a_registered_class_travels_and_a_deregistered_one_does_not():
    @nbaccel.remote(num_cpus=0)
    def value_of(guarded):
        return guarded.value

    register_serializer(Guarded, serializer=lambda guarded: guarded.value, deserializer=lambda value: Guarded(value))
    assert nbaccel.get(value_of.remote(Guarded(3))) == 3
    deregister_serializer(Guarded)
    deregister_serializer(Guarded)
    with pytest.raises(TypeError):
        value_of.remote(Guarded(3))


class Refused(Exception):
    def __init__(self, request, lock):
        super().__init__(f"{request} was refused")
        self.request = request
        self.lock = lock


def test_an_exception_whose_class_was_registered_in_its_task_arrives_as_itself():
    @nbaccel.remote(num_cpus=0)
    def refuse():
        register_serializer(Refused, serializer=lambda error: error.request, deserializer=lambda r: Refused(r, None))
        raise Refused("GET /", threading.Lock())

    with pytest.raises(Refused) as caught:
        nbaccel.get(refuse.remote())
    assert caught.value.cause.request == "GET /"
