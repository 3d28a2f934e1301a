"""Dask's graphs run as nbaccel tasks: a task for each node of the graph, whose value goes from worker to worker.

>>> from nbaccel.util.dask import enable_dask_on_ray
>>> with enable_dask_on_ray():
...     frame.groupby("key").value.sum().compute()
>>> with dask.annotate(ray_remote_args={"num_gpus": 1}):  # options for what is written here
...     scores = dask.delayed(score)(model, batch)
"""

try:
    import dask as _dask  # noqa: F401
except ImportError as error:
    raise ImportError("nbaccel.util.dask needs dask, which is not installed: pip install dask.") from error

from nbaccel.util.dask.scheduler import (
    RayDaskCallback,
    disable_dask_on_ray,
    enable_dask_on_ray,
    ray_dask_get,
    ray_dask_get_sync,
)

__all__ = ["RayDaskCallback", "disable_dask_on_ray", "enable_dask_on_ray", "ray_dask_get", "ray_dask_get_sync"]
