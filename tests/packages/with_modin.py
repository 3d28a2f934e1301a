"""Frames of modin's, in partitions that its engine for Ray computes."""

import os
import warnings

warnings.simplefilter("ignore")
os.environ |= {"MODIN_ENGINE": "ray", "MODIN_NPARTITIONS": "2", "PYTHONWARNINGS": "ignore"}

import modin.pandas as modin  # noqa: E402  reads the environment
import pandas  # noqa: E402
import ray  # noqa: E402

ray.init(num_cpus=2, preload=["pandas"])
plain = pandas.DataFrame({"key": [1, 2] * 200, "value": range(400)})
frame = modin.DataFrame(plain)
assert ray.__name__ == "nbaccel"
assert frame.groupby("key").value.sum().to_dict() == plain.groupby("key").value.sum().to_dict()
assert frame.value.mean() == plain.value.mean()
assert frame.sort_values("value", ascending=False).head(2).value.tolist() == [399, 398]
assert frame.merge(frame, on="value").shape == plain.merge(plain, on="value").shape
print("modin agrees with pandas")
