"""What a value is turned into, without a process: what is copied, what may be written, what comes back."""

from __future__ import annotations

import array
import subprocess
import sys
import threading
from typing import Any

import numpy
import pytest

from nbaccel.handles import unpicklable
from nbaccel.local_engine.wire import codec
from nbaccel.util.serialization import deregister_serializer, register_serializer

LARGE = 1 << 20


def pieces(value: Any) -> list[Any]:
    dumped = codec.dump(value, [])
    return [dumped] if isinstance(dumped, bytes) else dumped.pieces()


def payload(value: Any) -> bytes:
    return b"".join(pieces(value))


def there_and_back(value: Any) -> Any:
    return codec.load(payload(value))


@pytest.mark.parametrize(
    "value",
    [
        b"y" * LARGE,
        bytearray(b"y" * LARGE),
        "y" * LARGE,
        "ü" * LARGE,
        "\ud800" + "y" * LARGE,
        [b"y" * LARGE, {"text": "y" * LARGE, "same": (bytearray(LARGE), None)}],
        2 ** (8 * LARGE),
        "",
        b"",
        "x" * 65_535,
        "x" * 65_536,
        "ü" * 65_535,
    ],
    ids=lambda value: f"{type(value).__name__} of {sys.getsizeof(value)}",
)
def test_bytes_and_text_of_any_size_come_back_equal(value: Any) -> None:
    back = there_and_back(value)
    assert type(back) is type(value)
    assert back == value


@pytest.mark.parametrize("place", ["alone", "in a list", "in an object"])
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_large_bytes_are_handed_to_the_store_as_they_are(kind: Any, place: str) -> None:
    value = kind(b"y" * LARGE)
    held = {"alone": value, "in a list": [value], "in an object": numpy.array([value, None], dtype=object)}[place]
    assert any(piece is value for piece in pieces(held))


def test_text_is_handed_to_the_store_where_python_keeps_it() -> None:
    text = "".join(["y"] * LARGE)
    at = [numpy.frombuffer(piece, dtype="u1").ctypes.data for piece in pieces(text) if len(piece) == LARGE]
    kept = numpy.frombuffer(codec.dump(text, []).pieces()[2], dtype="u1")
    assert at == [kept.ctypes.data]


def test_a_memoryview_comes_back_as_a_read_only_view_of_the_same_items() -> None:
    numbers = array.array("d", range(50_000))
    value = memoryview(numbers)
    back = codec.load(payload(value))
    assert isinstance(back, memoryview)
    assert back.readonly
    assert (back.format, back.shape) == ("d", (50_000,))
    assert back == value
    matrix = memoryview(numpy.arange(12, dtype="i4").reshape(3, 4))
    assert there_and_back(matrix).tolist() == matrix.tolist()
    assert there_and_back(matrix[::2]).tolist() == matrix[::2].tolist()
    assert there_and_back(memoryview(b"")) == b""
    records = memoryview(numpy.zeros(3, dtype=[("a", "i4"), ("b", "f8")]))
    assert there_and_back(records).nbytes == records.nbytes


def test_a_memoryview_is_not_copied_on_its_way() -> None:
    data = bytearray(LARGE)
    (view,) = [piece for piece in pieces(memoryview(data)) if len(piece) == LARGE]
    assert numpy.shares_memory(numpy.frombuffer(view, dtype="u1"), numpy.frombuffer(data, dtype="u1"))


def test_what_a_user_registered_for_a_class_comes_before_our_own() -> None:
    register_serializer(memoryview, serializer=bytes, deserializer=bytes)
    try:
        assert there_and_back(memoryview(b"own")) == b"own"
        assert type(there_and_back(memoryview(b"own"))) is bytes
    finally:
        deregister_serializer(memoryview)
    assert type(there_and_back(memoryview(b"own"))) is memoryview


def test_an_array_is_read_only_and_those_inside_other_objects_or_captured_by_code_are_the_readers_own() -> None:
    array = numpy.zeros(10)
    assert not there_and_back(array).flags.writeable
    sent = codec.dump({"weights": [array]}, [])
    assert not isinstance(sent, bytes)
    one, two = (codec.load(sent.joined())["weights"][0] for _ in range(2))
    one += 1
    assert two.sum() == array.sum() == 0
    array.flags.writeable = False  # as one that came from the store
    assert there_and_back([array])[0].flags.writeable
    array.flags.writeable = True

    def captured() -> Any:
        return array

    first, second = (codec.load_code(codec.code_bytes(captured))() for _ in range(2))
    first[:] = 1
    assert second.sum() == array.sum() == 0


def test_the_code_of_a_function_names_the_file_that_it_is_from() -> None:
    """Tracebacks find lines by it. Cloudpickle 3.1.3 sends code without it."""
    place = f"<cell of {LARGE}>"
    names: dict[str, Any] = {}
    exec(compile("def outer():\n    return [lambda: 1, outer]\n", place, "exec"), names)
    outer = there_and_back(names["outer"])
    inner, again = outer()
    assert [each.__code__.co_filename for each in (outer, inner, again)] == [place] * 3
    assert payload(names["outer"]) == payload(names["outer"])


def test_no_library_is_loaded_for_a_value_that_is_not_its_own() -> None:
    program = (
        "import sys\n"
        "from nbaccel.local_engine.wire import codec\n"
        "codec.load(codec.dump([{1}, bytes(100_000), memoryview(b'x'), 2 + 1j], []).joined())\n"
        "print(*[name for name in ('torch', 'pandas', 'pyarrow', 'polars', 'numpy') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


class Slotted:
    __slots__ = ("empty", "names")

    def __init__(self) -> None:
        self.names = {"lk": threading.Lock()}


def test_what_cannot_be_pickled_in_a_slot_is_named() -> None:
    assert unpicklable.find(Slotted(), "it", codec.can_pickle) == "it.names['lk'] (_thread.lock)"


@pytest.mark.parametrize("args", [(1,), ("a", b"b", 1.5, None, True, 2j), tuple(range(1000))], ids=len)
def test_a_call_with_small_plain_arguments_is_written_as_any_call(args: tuple[Any, ...]) -> None:
    written = codec.dump_call(args)
    assert written is not None and codec.load(written) == ([*args], {}) == there_and_back(([*args], {}))


class Subclass(int):
    """No plain value: it has a reducer of its own kind."""


@pytest.mark.parametrize("argument", [[1], (), {}, Subclass(1), int, "y" * LARGE, b"y" * LARGE], ids=type)
def test_other_arguments_are_left_to_what_writes_all_calls(argument: Any) -> None:
    assert codec.dump_call((1, argument)) is None
