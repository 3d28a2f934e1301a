"""The datasets of a trainer, and the part of each that a rank reads. Names as in Ray Train 2.60, without Ray Data.

```
  TorchTrainer(datasets={"train": x})  ──►  get_dataset_shard("train")
    x has a length   the rows are cut into equal, contiguous parts; a remainder smaller than the group is left out
    x has none       each rank takes every n-th item, n being the number of ranks
    x is a function  each worker calls it, and the value is divided as above
```
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

TRAIN_DATASET_KEY = "train"


class DataConfig:
    """Which datasets are divided among the ranks; each rank gets all rows of the others.

    datasets_to_split  "all", or a list of names

    The other options are for Ray Data and change nothing. Raises TypeError, as Ray, for other `datasets_to_split`.

    >>> config = DataConfig(datasets_to_split=["train"])   # each rank gets all rows of the others
    """

    def __init__(
        self,
        datasets_to_split: Literal["all"] | list[str] = "all",
        execution_options: Any = None,
        enable_shard_locality: bool = True,
    ) -> None:
        if datasets_to_split != "all" and not isinstance(datasets_to_split, list):
            raise TypeError(
                f"DataConfig(datasets_to_split={datasets_to_split!r}) must be 'all' or a list of names of datasets."
            )
        self.datasets_to_split = datasets_to_split

    def splits(self, name: str) -> bool:
        """Whether the dataset of this name is divided."""
        return self.datasets_to_split == "all" or name in self.datasets_to_split


def check(datasets: Any) -> dict[str, Any]:
    """The trainer's `datasets=`. Raises ValueError for objects that are no datasets or that cannot travel."""
    if not isinstance(datasets, Mapping) or not all(isinstance(name, str) for name in datasets):
        raise ValueError(f"datasets must be a dict of names and datasets, not {type(datasets).__name__}.")
    for name, given in datasets.items():
        if type(given).__module__.startswith("ray.data"):
            raise NotImplementedError(
                f"datasets[{name!r}] is a dataset of Ray Data. Use ray.train for it, or give a list, an array, a table "
                "or a torch dataset here (dataset.to_pandas() makes a table)."
            )
        if isinstance(given, Iterator):
            raise ValueError(
                f"datasets[{name!r}] is a {type(given).__name__}, which can be read once and cannot be sent to "
                "workers. Give a list, or a function that returns the iterator: every worker calls it."
            )
        if not (callable(given) or hasattr(given, "__getitem__") or hasattr(given, "__iter__")):
            raise ValueError(f"datasets[{name!r}] is a {type(given).__name__}, which has neither items nor rows.")
    return dict(datasets)


@dataclass(slots=True)
class Datasets:
    """The datasets of a run, on their way to a worker."""

    by_name: dict[str, Any]
    config: DataConfig

    def shard(self, name: str | None, rank: int, size: int) -> Shard:
        """The part of a rank. Raises KeyError for an unknown name, ValueError if there are fewer rows than ranks."""
        chosen = self._chosen(name)
        found = self.by_name[chosen]
        data = _made_by(found) if _makes_data(found) else found
        if not self.config.splits(chosen):
            rank, size = 0, 1
        rows = _rows_of(data)
        if rows is None:
            return Shard(_Streamed(data, rank, size))
        if rows.count < size:
            raise ValueError(f"The dataset {chosen} has {rows.count} rows for {size} ranks: each needs at least one.")
        each = rows.count // size
        return Shard(_Part(rows, range(rank * each, (rank + 1) * each)))

    def _chosen(self, name: str | None) -> str:
        known = ", ".join(self.by_name) or "none was given to the trainer"
        if name is None and len(self.by_name) == 1:
            return next(iter(self.by_name))
        if name is None and self.by_name:
            raise ValueError(f"get_dataset_shard() needs the name of a dataset, one of: {known}.")
        if name not in self.by_name:
            raise KeyError(f"There is no dataset {name!r}; there are: {known}. Give it to the trainer: datasets=....")
        return name


def _makes_data(given: Any) -> bool:
    return callable(given) and not hasattr(given, "__getitem__") and not hasattr(given, "__iter__")


def _made_by(make: Callable[[], Any]) -> Any:
    """What the function returns; if that can be read once only, each pass calls the function."""
    made = make()
    return _Anew(make) if isinstance(made, Iterator) else made


@dataclass(frozen=True, slots=True)
class _Anew:
    make: Callable[[], Iterator[Any]]

    def __iter__(self) -> Iterator[Any]:
        return self.make()


# ---- rows of each kind of data


class NumberedRows(Protocol):
    """Data whose rows are chosen by number.

    count  how many rows there are
    """

    count: int

    def row(self, number: int) -> Any: ...

    def batch(self, numbers: Sequence[int]) -> Any:
        """A dict of columns, an array, or a list of items."""


def _rows_of(data: Any) -> NumberedRows | None:
    """None for data without a length."""
    if hasattr(data, "to_arrow") and not hasattr(data, "iloc"):  # polars
        data = data.to_arrow()
    if hasattr(data, "iloc"):
        return _Frame(data)
    if hasattr(data, "column_names") and hasattr(data, "take") and hasattr(data, "to_pylist"):
        return _Table(data)
    if isinstance(data, Mapping):
        return _Columns(data)
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        return None
    return _Array(data) if hasattr(data, "shape") and hasattr(data, "dtype") else _Items(data)


class _Frame:
    """A DataFrame or Series of pandas."""

    def __init__(self, data: Any) -> None:
        self.count = len(data)
        self._data = data

    def row(self, number: int) -> Any:
        found = self._data.iloc[number]
        return found.to_dict() if hasattr(found, "to_dict") else found

    def batch(self, numbers: Sequence[int]) -> Any:
        part = self._data.iloc[list(numbers)]
        return {str(name): part[name].to_numpy() for name in part.columns} if hasattr(part, "columns") else part.values


class _Table:
    """A table of Arrow."""

    def __init__(self, data: Any) -> None:
        self.count = data.num_rows
        self._data = data

    def row(self, number: int) -> Any:
        return self._data.slice(number, 1).to_pylist()[0]

    def batch(self, numbers: Sequence[int]) -> Any:
        part = self._data.take(list(numbers))
        return {name: part[name].to_numpy() for name in part.column_names}


class _Columns:
    """A dict of columns of one length."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        lengths = {name: len(column) for name, column in data.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"The columns of a dataset must have one length, not {lengths}.")
        self.count = next(iter(lengths.values()), 0)
        self._rows = {name: _rows_of(column) for name, column in data.items()}

    def row(self, number: int) -> Any:
        return {name: rows.row(number) for name, rows in self._rows.items() if rows is not None}

    def batch(self, numbers: Sequence[int]) -> Any:
        return {name: rows.batch(numbers) for name, rows in self._rows.items() if rows is not None}


class _Array:
    """An array of numpy or a tensor of torch; rows lie along the first axis."""

    def __init__(self, data: Any) -> None:
        self.count = len(data)
        self._data = data

    def row(self, number: int) -> Any:
        return self._data[number]

    def batch(self, numbers: Sequence[int]) -> Any:
        return self._data[list(numbers)]


class _Items(_Array):
    """A list, or a dataset of torch or Hugging Face: items by number. Items that are dicts become columns."""

    def batch(self, numbers: Sequence[int]) -> Any:
        return _joined([self._data[number] for number in numbers])


def _joined(items: list[Any]) -> Any:
    if items and all(isinstance(item, dict) and item.keys() == items[0].keys() for item in items):
        return {name: [item[name] for item in items] for name in items[0]}
    return items


# ---- the part of a rank


@dataclass(slots=True)
class _Part:
    rows: NumberedRows
    numbers: range

    def items(self) -> Iterator[Any]:
        return map(self.rows.row, self.numbers)

    def batches(self, size: int, order: random.Random | None) -> Iterator[Any]:
        numbers = list(self.numbers)
        if order is not None:
            order.shuffle(numbers)
        for start in range(0, len(numbers), size):
            yield self.rows.batch(numbers[start : start + size]), len(numbers[start : start + size])


@dataclass(slots=True)
class _Streamed:
    data: Iterable[Any]
    rank: int
    size: int

    def items(self) -> Iterator[Any]:
        return itertools.islice(iter(self.data), self.rank, None, self.size)

    def batches(self, size: int, order: random.Random | None) -> Iterator[Any]:
        if order is not None:
            raise ValueError("A dataset without a length cannot be shuffled here: let it yield its items shuffled.")
        items = self.items()
        while part := list(itertools.islice(items, size)):
            yield _joined(part), len(part)


class Shard:
    """This rank's part of a dataset; it can be read any number of times.

    >>> for row in shard: ...
    >>> for batch in shard.iter_batches(batch_size=32): ...            # columns of a table as a dict of arrays
    >>> for batch in shard.iter_torch_batches(batch_size=32): ...      # tensors on this worker's device
    """

    def __init__(self, part: _Part | _Streamed) -> None:
        self._part = part
        self._passes = 0

    def __len__(self) -> int:
        """The number of rows. Raises TypeError for a dataset without a length."""
        if isinstance(self._part, _Streamed):
            raise TypeError("This dataset has no length.")
        return len(self._part.numbers)

    def __bool__(self) -> bool:
        return True  # also without a length

    def __iter__(self) -> Iterator[Any]:
        return self._part.items()

    def iter_rows(self) -> Iterator[Any]:
        return iter(self)

    def iter_batches(
        self,
        batch_size: int = 256,
        *,
        shuffle: bool = False,
        seed: int | None = None,
        drop_last: bool = False,
        prefetch_batches: int = 1,
        local_shuffle_buffer_size: int | None = None,
        local_shuffle_seed: int | None = None,
    ) -> Iterator[Any]:
        """Give the rows in batches: a dict of columns for tables and dicts, an array for arrays, otherwise a list.

        shuffle, seed     shuffle this rank's rows, differently in each pass. `local_shuffle_buffer_size` and
                          `local_shuffle_seed` are Ray's names for this; all rows of the rank are shuffled
        drop_last         drop the last batch if it is smaller
        prefetch_batches  accepted without effect: the rows are in this process

        Raises ValueError for a batch size below 1, and for `shuffle` of a dataset without a length.
        """
        if batch_size < 1:
            raise ValueError(f"iter_batches(batch_size={batch_size!r}) must be at least 1.")
        order = None
        if shuffle or local_shuffle_buffer_size is not None:
            first = seed if seed is not None else local_shuffle_seed
            order = random.Random(None if first is None else first + self._passes)
        self._passes += 1
        return self._batches(batch_size, order, drop_last)

    def _batches(self, batch_size: int, order: random.Random | None, drop_last: bool) -> Iterator[Any]:
        for batch, length in self._part.batches(batch_size, order):
            if length == batch_size or not drop_last:
                yield batch

    def iter_torch_batches(
        self,
        batch_size: int = 256,
        *,
        device: Any = "auto",
        dtypes: Any = None,
        collate_fn: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> Iterator[Any]:
        """Give the rows as tensors. The other options are those of `iter_batches`.

        device      a torch device; "auto": this worker's, `get_device()`
        dtypes      one dtype for all, or a dict by column
        collate_fn  converts a batch of `iter_batches`, instead of the usual conversion
        """
        from nbaccel.train.torch.train_loop_utils import as_tensors, on_device

        for batch in self.iter_batches(batch_size, **options):
            made = collate_fn(batch) if collate_fn is not None else as_tensors(batch, dtypes)
            yield on_device(made, device)
