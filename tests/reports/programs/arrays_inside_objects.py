"""A fetched figure, estimator or frame could not be changed: "assignment destination is read-only"."""

# needs: numpy, pandas, scipy, sklearn
# %%
import ctypes
from dataclasses import dataclass

import numpy
import pandas
import scipy.sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.neural_network import MLPClassifier

import nbaccel as ray

ray.init(num_cpus=2)
DATA = numpy.random.default_rng(0).normal(size=(200, 3))
LABELS = (DATA[:, 0] > 0).astype(int)
ROWS = 200_000


# %%
@dataclass
class Batch:
    values: numpy.ndarray


class Figure:
    def __init__(self) -> None:
        self.path = numpy.zeros((4, 2))


@ray.remote
def made() -> list:
    network = MLPClassifier(hidden_layer_sizes=(300, 300)).partial_fit(DATA, LABELS, classes=[0, 1])
    frame = pandas.DataFrame({"a": numpy.zeros(ROWS), "b": numpy.zeros(ROWS)})
    sparse = scipy.sparse.csr_matrix(numpy.eye(300))
    return [MiniBatchKMeans(2).partial_fit(DATA), network, frame, sparse, Batch(numpy.zeros(ROWS)), Figure()]


ref = made.remote()
means, network, frame, sparse, batch, figure = ray.get(ref)

# %%
means.partial_fit(DATA)
network.partial_fit(DATA, LABELS)
frame.loc[3, "a"] = 5.0
sparse.data[:] = 2
batch.values[0] = 1
figure.path[0] = 1
_, _, other_frame, _, other_batch, _ = ray.get(ref)
assert other_frame["a"].sum() == other_batch.values.sum() == 0, "each get has memory of its own"


# %%
@ray.remote
def changed(frame: pandas.DataFrame, batch: Batch, arrays: dict, array: numpy.ndarray) -> tuple:
    frame.loc[3, "a"] = batch.values[3] = arrays["one"][0] = 7.0
    try:
        array[0] = 1
    except ValueError as error:
        return frame["a"].sum(), batch.values.sum(), arrays["one"].sum(), str(error)


stored = ray.put(other_frame)
for _ in range(2):  # the second task finds what was sent, and not what the first has written
    found = ray.get(changed.remote(stored, Batch(numpy.zeros(ROWS)), {"one": numpy.zeros(3)}, numpy.zeros(ROWS)))
    assert found == (7, 7, 7, "assignment destination is read-only"), found


# %%
@ray.remote
def kept(array: numpy.ndarray) -> pandas.DataFrame:
    """A frame around the array itself, which is read-only here."""
    return pandas.DataFrame(array, copy=False)


around = ray.get(kept.remote(numpy.zeros((ROWS, 2))))
around.loc[0, 0] = 1.0

# %%
array = ray.get(ray.put(numpy.zeros(ROWS)))
assert not array.flags.writeable


@ray.remote
def writes(array: numpy.ndarray) -> None:
    array[0] = 1


try:
    ray.get(writes.remote(array))
except ValueError as error:
    assert "array = array.copy()" in str(error), error


# %% native code that writes nevertheless, as torch.from_numpy(array).add_(1) does, ends no process and reaches no other
@ray.remote
def written_by_native_code(array: numpy.ndarray) -> float:
    ctypes.memset(array.ctypes.data, 255, 8)
    return array[1]


ref = ray.put(numpy.zeros(ROWS))
assert ray.get(written_by_native_code.remote(ref)) == 0
array = ray.get(ref)
assert array[0] == 0
ctypes.memset(array.ctypes.data, 255, 8)
del array
assert ray.get(ref)[0] == 0
