"""An argument with an open file in it: the error did not name the part, as it does for what raises TypeError."""

# %%
import os
import pickle

import nbaccel as ray

ray.init(num_cpus=1)


@ray.remote
def takes(value):
    return value


# %%
try:
    with open(os.devnull, "w") as file:
        takes.remote([1, {"k": file}])
except pickle.PicklingError as error:
    said = str(error)
assert "argument 0 of takes: it[1]['k'] (_io.TextIOWrapper) cannot be pickled" in said, said
