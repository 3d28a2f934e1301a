"""Torch's tensors: equal, writable and nobody else's where they arrive, and never copied more than they must be."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import nbaccel
from nbaccel.local_engine.wire import codec, tensors
from tests.census import Place
from tests.heads import inside, rows
from tests.local_engine import holding_tensors
from tests.rig import wait_until

torch = pytest.importorskip("torch")
MIB = 1 << 20
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TYPES = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "complex64", "bool", *INTEGERS]


def payload(value: Any) -> bytes:
    dumped = codec.dump(value, [])
    return dumped if isinstance(dumped, bytes) else dumped.joined()


def there_and_back(value: Any) -> Any:
    return codec.load(payload(value))


def address(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


# ---- without a process


@pytest.mark.parametrize(
    "dtype",
    TYPES,
)
def test_every_type_comes_back_bit_for_bit(dtype: str) -> None:
    tensor = torch.arange(256).to(getattr(torch, dtype))
    back = there_and_back(tensor)
    assert back.dtype == tensor.dtype
    assert torch.equal(back.view(torch.uint8), tensor.view(torch.uint8))


def test_shape_strides_gradient_and_class_are_kept() -> None:
    matrix = torch.arange(600.0).view(20, 30)
    views = [matrix.t()[::3], matrix[5:], matrix[:, 4], matrix.expand(3, 20, 30), matrix[0, 0], torch.empty(0, 3)]
    for view in [*views, torch.ones(5, dtype=torch.complex64).conj()]:
        back = there_and_back(view)
        assert (back.shape, back.stride()) == (view.shape, view.stride())
        assert torch.equal(back, view)
    assert there_and_back(torch.ones(3, requires_grad=True)).requires_grad
    parameter = there_and_back(torch.nn.Parameter(torch.ones(3), requires_grad=False))
    assert type(parameter) is torch.nn.Parameter and not parameter.requires_grad
    named = torch.ones(3)
    named.label = "of the user's"
    assert there_and_back(named).label == "of the user's"


class Subclass(torch.Tensor):
    pass


@pytest.mark.filterwarnings("ignore:torch.quantize:UserWarning", "ignore:TypedStorage:UserWarning")  # raised in torch
def test_subclasses_storages_sparse_and_quantised_tensors_go_torchs_own_way() -> None:
    sub = there_and_back(torch.arange(10.0).as_subclass(Subclass))
    assert type(sub) is Subclass and sub.sum() == 45
    assert there_and_back(torch.arange(10).untyped_storage()).nbytes() == 80
    sparse = torch.eye(50).to_sparse()
    assert torch.equal(there_and_back(sparse).to_dense(), sparse.to_dense())
    quantised = torch.quantize_per_tensor(torch.rand(100), 0.1, 0, torch.qint8)
    assert torch.equal(there_and_back(quantised).dequantize(), quantised.dequantize())
    assert there_and_back(torch.empty(3, device="meta")).device.type == "meta"


def test_a_model_and_its_tied_weights_come_back() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    model[1].weight = model[0].weight
    back = there_and_back({"model": model, "state": model.state_dict()})
    assert back["model"][0].weight is back["model"][1].weight
    assert address(back["state"]["0.weight"]) == address(back["model"][0].weight)
    sample = torch.rand(2, 8)
    assert torch.equal(back["model"](sample), model(sample))


def test_views_of_one_storage_still_share_it() -> None:
    base = torch.arange(1000)
    first, second, words = there_and_back([base[10:600], base[500:900], base[500:510].view(torch.int32)])
    second.zero_()
    assert first[:490].tolist() == list(range(10, 500))
    assert not first[490:].any()
    assert not words.any()
    assert len({address(first), address(second), address(words)}) == 1


def test_a_small_view_of_a_large_storage_sends_its_part_only() -> None:
    base = torch.arange(MIB)
    assert len(payload(base[1000:1100])) < 4096
    both = [base[1000:1100], base[2000:2100]]
    assert len(payload(both)) < 16_384
    assert [view.tolist() for view in there_and_back(both)] == [view.tolist() for view in both]
    assert len(payload([base[10:20], base.untyped_storage()])) > 8 * MIB
    back, storage = there_and_back([base[10:20], base.untyped_storage()])
    assert back.tolist() == list(range(10, 20))
    assert back.untyped_storage().data_ptr() == storage.data_ptr()


def test_a_tensors_memory_is_handed_to_the_store_as_it_is() -> None:
    tensor = torch.zeros(MIB)
    pieces = codec.dump({"deep": [tensor]}, []).pieces()
    at = [numpy.frombuffer(piece, dtype="u1").ctypes.data for piece in pieces if len(piece) == 4 * MIB]
    assert at == [tensor.data_ptr()]


def test_each_reading_has_memory_of_its_own() -> None:
    sent = payload(torch.zeros(10))
    first, second = codec.load(sent), codec.load(sent)
    first += 1
    assert second.sum() == 0


def test_arrays_beside_a_tensor_are_writable_too() -> None:
    array, tensor = there_and_back([numpy.zeros(5), torch.zeros(5)])
    tensor += 1
    array += 1
    assert tensor.sum() == array.sum() == 5


# ---- in the store


@pytest.fixture(scope="module")
def head() -> Iterator[Place]:
    """Its workers have torch imported: otherwise each would spend seconds on that."""
    with inside(Place()) as place:
        nbaccel.init(num_cpus=2, num_gpus=2, object_store_memory=64 << 20, preload=["torch"])
        yield place


def test_two_gets_do_not_see_each_others_writes(cluster: Place) -> None:
    ref = nbaccel.put(torch.zeros(MIB))
    first, second = nbaccel.get([ref, ref])
    first += 1
    assert (second.sum(), nbaccel.get(ref).sum()) == (0, 0)
    assert first.sum() == MIB


def test_two_tasks_do_not_see_each_others_writes(cluster: Place) -> None:
    tensor = torch.zeros(MIB)
    ref = nbaccel.put(tensor)
    answers = nbaccel.get([holding_tensors.add_one.remote(argument) for argument in (ref, ref, tensor, ref, tensor)])
    assert [before for before, _after in answers] == [0] * 5
    assert all(int(after.sum()) == MIB for _before, after in answers)
    assert tensor.sum() == 0


@pytest.mark.parametrize("size", [10, MIB], ids=["inline", "in the store"])
def test_a_retried_task_finds_its_arguments_unspoiled(cluster: Place, tmp_path: Path, size: int) -> None:
    mark = str(tmp_path / "tried")
    task = holding_tensors.spoil_and_die_once.options(max_retries=1)
    assert nbaccel.get(task.remote(torch.ones(size), mark)) == size
    assert Path(mark).exists()


def test_a_range_is_not_used_again_while_a_tensor_lies_in_it(cluster: Place) -> None:
    views = [nbaccel.get(nbaccel.put(torch.full((MIB // 2,), float(number))))[::2] for number in range(8)]
    views[3] += 100  # a page that was written and pages that were not
    gc.collect()
    others = [nbaccel.put(torch.full((MIB // 2,), 50.0 + number)) for number in range(8)]
    assert [set(view.tolist()) for view in views] == [{103.0} if n == 3 else {float(n)} for n in range(8)]
    del views
    assert [float(nbaccel.get(other)[0]) for other in others] == [50.0 + number for number in range(8)]
    del others
    wait_until(lambda: not rows("objects"), "the ranges to come free")


def test_a_tensor_that_an_actor_keeps_holds_its_range(cluster: Place) -> None:
    trainer = holding_tensors.Trainer.remote()
    assert nbaccel.get(trainer.keep.remote(nbaccel.put(torch.ones(MIB)))) == MIB
    for _ in range(6):
        nbaccel.put(torch.zeros(4 * MIB, dtype=torch.uint8))
    assert nbaccel.get(trainer.kept_sum.remote()) == MIB


def test_an_actors_state_is_what_it_was_when_it_was_put(cluster: Place) -> None:
    trainer = holding_tensors.Trainer.remote()
    (ref,) = nbaccel.get(trainer.put.remote())
    nbaccel.get(trainer.step.remote())
    state = nbaccel.get(ref)
    assert [int(weight.sum()) for weight in state.values()] == [0, 0]
    state["a"] += 1


@pytest.mark.parametrize("size", [10, MIB // 2], ids=["small", "large"])
def test_a_captured_tensor_is_the_tasks_own(cluster: Place, size: int) -> None:
    captured = torch.zeros(size)
    views = [captured[1:], captured]

    @nbaccel.remote
    def use() -> tuple[bool, Any]:
        captured.add_(1)
        return views[1] is captured and views[0].data_ptr() == captured.data_ptr() + 4, captured

    same, back = nbaccel.get(use.remote())
    assert same
    assert back.sum() == size
    assert captured.sum() == 0


def test_what_a_task_returns_is_writable_here(cluster: Place) -> None:
    base = torch.arange(100_000)
    first, second = nbaccel.get(holding_tensors.same.remote([base[:60_000], base[50_000:]]))
    second.zero_()
    assert (first[50_000:] == 0).all()
    assert first[49_999] == 49_999


# ---- on a device


class StandIn:
    """Says that storages lie on a device which are in the host's memory, and counts what is copied."""

    kinds = itertools.count()

    def __init__(self) -> None:
        self.name = f"made{next(self.kinds)}:1"  # of a kind of its own: the user is told once of each kind
        self.on_device: dict[int, Any] = {}
        self.copies: list[int] = []

    def send(self, tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        self.on_device[storage._cdata] = storage
        return tensor

    def of(self, storage: Any) -> str:
        return self.name if storage._cdata in self.on_device else ""

    def copied(self, storage: Any, start: int, end: int) -> Any:
        self.copies.append(end - start)
        return torch.empty(0, dtype=torch.uint8).set_(storage)[start:end].clone()

    def placed(self, storage: Any, device: str) -> Any:
        self.on_device[storage._cdata] = storage
        return storage


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(tensors, "installed", stand_in)
    return stand_in


def test_a_devices_tensor_is_copied_to_the_host_once_and_the_user_is_told(
    cluster: Place, device: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    base = device.send(torch.arange(MIB))
    ref = nbaccel.put({"whole": base, "view": base[5:10]})
    assert device.copies == [8 * MIB]
    back = nbaccel.get(ref)
    assert torch.equal(back["whole"], base)
    assert address(back["view"]) == address(back["whole"])
    assert not device.of(back["whole"].untyped_storage())  # this process was given no device
    said = capfd.readouterr().err
    words = f"A tensor on {device.name} travels through the memory of the host: it is copied there once."
    assert said.count(words) == 1


def test_a_devices_tensor_as_an_argument_is_copied_once(cluster: Place, device: StandIn) -> None:
    base = device.send(torch.ones(MIB))
    assert nbaccel.get(holding_tensors.add_one.remote(base))[0] == MIB
    assert device.copies == [4 * MIB]
    assert nbaccel.get(holding_tensors.add_one.remote(device.send(torch.ones(10))))[0] == 10
    assert device.copies == [4 * MIB, 40]


def test_a_devices_tensor_comes_to_the_device_of_the_task_that_gets_it(cluster: Place, device: StandIn) -> None:
    def where(tensor: Any) -> tuple[bool, float]:
        return bool(tensors.installed.of(tensor.untyped_storage())), float(tensor.sum())

    @nbaccel.remote
    def look(refs: Any) -> tuple[bool, float]:
        tensors.installed = Anywhere()
        return where(nbaccel.get(refs[0]))

    class Anywhere(StandIn):
        pass

    ref = nbaccel.put(device.send(torch.ones(MIB)))
    assert nbaccel.get(look.options(num_gpus=1).remote([ref])) == (True, MIB)
    assert nbaccel.get(look.remote([ref])) == (False, MIB)


# ---- many of them


def test_values_held_cost_no_descriptors(cluster: Place) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    held = nbaccel.get([nbaccel.put(torch.full((30_000,), float(number))) for number in range(100)])
    arrays = nbaccel.get([nbaccel.put(numpy.zeros(120_000, dtype="u1")) for _ in range(100)])
    assert len(list(Path("/proc/self/fd").iterdir())) < before + 50
    assert [float(tensor[0]) for tensor in held] == [float(number) for number in range(100)]
    del arrays
