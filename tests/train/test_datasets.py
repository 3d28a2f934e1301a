"""The parts of a dataset: rows of each kind, divided among ranks, in batches and as tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nbaccel.train import DataConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.datasets import Datasets, Shard, check


def shard(data: Any, rank: int = 0, size: int = 2, config: DataConfig | None = None) -> Shard:
    return Datasets(check({"train": data}), config or DataConfig()).shard("train", rank, size)


def test_each_rank_gets_an_equal_part_and_no_row_twice() -> None:
    parts = [shard(list(range(11)), rank, 3) for rank in range(3)]
    assert [list(part) for part in parts] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert [len(part) for part in parts] == [3, 3, 3]
    with pytest.raises(ValueError, match="has 2 rows for 3 ranks"):
        shard([1, 2], 0, 3)


def test_a_dataset_that_is_not_to_be_divided_is_there_whole() -> None:
    config = DataConfig(datasets_to_split=["other"])
    assert list(shard([1, 2, 3], 1, 2, config)) == [1, 2, 3]
    with pytest.raises(TypeError, match="'all' or a list"):
        DataConfig(datasets_to_split="train")  # type: ignore[arg-type]


def letters() -> Iterator[str]:
    yield from "abcde"


class Letters:
    def __iter__(self) -> Iterator[str]:
        return letters()


@pytest.mark.parametrize("data", [letters, Letters(), lambda: Letters()])
def test_of_data_without_a_length_each_rank_takes_every_nth_item(data: Any) -> None:
    first, second = (shard(data, rank) for rank in range(2))
    assert (list(first), list(second)) == (["a", "c", "e"], ["b", "d"])
    assert list(first.iter_batches(2, drop_last=True)) == [["a", "c"]]
    with pytest.raises(TypeError, match="no length"):
        len(first)
    with pytest.raises(ValueError, match="yield its items shuffled"):
        list(first.iter_batches(2, shuffle=True))


def test_rows_that_are_dicts_become_columns() -> None:
    rows = [{"x": number, "y": -number} for number in range(6)]
    assert list(shard(rows).iter_batches(2)) == [{"x": [0, 1], "y": [0, -1]}, {"x": [2], "y": [-2]}]
    assert next(shard(rows, 1).iter_rows()) == {"x": 3, "y": -3}


def test_shuffled_passes_differ_and_a_seed_repeats_them() -> None:
    def passes(**options: Any) -> list[list[int]]:
        part = shard(list(range(200)))
        return [[row for batch in part.iter_batches(7, **options) for row in batch] for _ in range(2)]

    first, second = passes(shuffle=True, seed=3)
    assert first != second and sorted(first) == sorted(second) == list(range(100))
    assert passes(local_shuffle_buffer_size=10, local_shuffle_seed=3) == [first, second]
    with pytest.raises(ValueError, match="at least 1"):
        shard([1, 2]).iter_batches(0)


@pytest.mark.extra("pandas")
def test_tables_and_arrays_are_read_by_columns_and_rows() -> None:
    numpy = pytest.importorskip("numpy")
    pandas, arrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    columns = {"x": numpy.arange(4), "y": numpy.arange(4.0)}
    for table in (
        columns,
        pandas.DataFrame(columns, index=list("abcd")),
        arrow.table(columns),
        polars.DataFrame(columns),
    ):
        part = shard(table, 1)
        (batch,) = part.iter_batches(8)
        assert {name: list(column) for name, column in batch.items()} == {"x": [2, 3], "y": [2.0, 3.0]}
        assert list(part) == [{"x": 2, "y": 2.0}, {"x": 3, "y": 3.0}]
    assert [batch.tolist() for batch in shard(numpy.eye(2), 1).iter_batches()] == [[[0.0, 1.0]]]
    with pytest.raises(ValueError, match=r"one length, not \{'x': 1, 'y': 2\}"):
        shard({"x": [1], "y": [1, 2]})


def test_what_cannot_be_a_dataset_is_refused_when_the_trainer_is_made() -> None:
    for given, words in (
        ({"train": iter([1])}, "can be read once"),
        ({"train": 3}, "neither items nor rows"),
        ([1, 2], "a dict of names"),
    ):
        with pytest.raises(ValueError, match=words):
            DataParallelTrainer(print, datasets=given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"dataset_config takes nbaccel\.train\.DataConfig"):
        DataParallelTrainer(print, dataset_config="all")  # type: ignore[arg-type]


def test_names_are_checked() -> None:
    two = Datasets({"train": [1], "valid": [2]}, DataConfig())
    with pytest.raises(KeyError, match="no dataset 'test'; there are: train, valid"):
        two.shard("test", 0, 1)
    with pytest.raises(ValueError, match="one of: train, valid"):
        two.shard(None, 0, 1)
    assert list(Datasets({"train": [1]}, DataConfig()).shard(None, 0, 1)) == [1]
    with pytest.raises(KeyError, match="none was given"):
        Datasets({}, DataConfig()).shard(None, 0, 1)


def test_batches_become_tensors() -> None:
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    from torch.utils.data import TensorDataset

    def tensors(data: Any, **options: Any) -> Any:
        return next(shard(data, size=1).iter_torch_batches(2, device="cpu", **options))

    pairs = TensorDataset(torch.arange(4.0).reshape(2, 2), torch.tensor([0, 1]))
    inputs, labels = tensors(pairs)
    assert inputs.shape == (2, 2) and labels.tolist() == [0, 1]
    frozen = numpy.arange(2)
    frozen.flags.writeable = False
    found = tensors({"x": frozen, "y": [1, 2]}, dtypes={"x": torch.float64})
    assert (found["x"].dtype, found["y"].tolist()) == (torch.float64, [1, 2])
    assert tensors([1, 2], dtypes=torch.float32).tolist() == [1.0, 2.0]
    assert tensors([1, 2], collate_fn=lambda batch: torch.tensor(sum(batch))).item() == 3
    with pytest.raises(TypeError, match="type str have no tensor"):
        tensors(["a", "b"])
