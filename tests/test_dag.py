"""Graphs of calls that are bound first and executed later."""

import pytest

import nbaccel
from nbaccel.dag import InputNode, MultiOutputNode


@pytest.fixture(scope="module", autouse=True)
def engine():
    nbaccel.init(num_cpus=2)
    yield
    nbaccel.shutdown()


@nbaccel.remote
def add(x, y=1):
    return x + y


@nbaccel.remote
def total(parts):
    return sum(nbaccel.get(parts["refs"]))


@nbaccel.remote(num_cpus=0)
class Counter:
    def __init__(self, start):
        self.n = start

    def add(self, by=1):
        self.n += by
        return self.n


def test_calls_run_when_the_graph_is_executed():
    graph = add.bind(add.bind(1), y=10)
    assert nbaccel.get(graph.execute()) == 12
    assert nbaccel.get(add.options(num_cpus=0).bind(1).execute()) == 2


def test_a_graph_has_an_input():
    with InputNode() as number:
        graph = add.bind(number, number)
    assert [nbaccel.get(graph.execute(n)) for n in (1, 2)] == [2, 4]


def test_several_inputs_are_chosen_by_place_and_by_name():
    with InputNode() as given:
        graph = add.bind(given[0], given.other)
    assert nbaccel.get(graph.execute(1, other=5)) == 6
    with InputNode() as point:
        graph = add.bind(point["x"], point.y)
    assert nbaccel.get(graph.execute({"x": 1, "y": 2})) == 3


def test_a_step_that_two_others_use_runs_once():
    counter = Counter.remote(0)
    step = counter.add.options(name="step").bind()
    assert nbaccel.get(add.bind(step, step).execute()) == 2
    assert nbaccel.get(counter.add.remote()) == 2


def test_actors_of_a_graph_are_made_by_each_execution():
    with InputNode() as start:
        counter = Counter.bind(start)
        first = counter.add.bind()
        graph = MultiOutputNode([first, counter.add.options(name="again").bind(first)])
    for _ in range(2):
        assert nbaccel.get(graph.execute(10)) == [11, 22]
    handle = Counter.options(num_cpus=0).bind(4).execute()
    assert nbaccel.get(handle.add.remote()) == 5


def test_steps_inside_of_containers_are_refs_there():
    assert nbaccel.get(total.bind({"refs": [add.bind(1), add.bind(2)]}).execute()) == 5


def test_an_input_that_is_not_there_is_told_in_words():
    with InputNode() as given:
        whole, place, word = add.bind(given), add.bind(given[1]), add.bind(given.word)
    with pytest.raises(ValueError, match=r"takes one input, but execute\(\) got 2 arguments"):
        whole.execute(1, 2)
    with pytest.raises(ValueError, match=r"uses input\[1\], but execute.. got 1"):
        place.execute(1)
    with pytest.raises(ValueError, match=r"uses input.word, but execute.. got the keywords \[\'other\'\]"):
        word.execute(other=1)
    with pytest.raises(NotImplementedError, match="Compiled graphs"):
        whole.experimental_compile()
