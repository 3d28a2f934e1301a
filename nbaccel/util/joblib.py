"""A backend for joblib: scikit-learn and others run their parallel parts as nbaccel tasks.

>>> from nbaccel.util.joblib import register_nbaccel
>>> register_nbaccel()
>>> with joblib.parallel_config(backend="nbaccel"):
...     search.fit(X, y)
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

try:
    from joblib.parallel import AutoBatchingMixin, ParallelBackendBase, register_parallel_backend
except ImportError as error:
    raise ImportError("nbaccel.util.joblib needs joblib, which is not installed: pip install joblib.") from error

import nbaccel
from nbaccel import engine
from nbaccel.exceptions import RayTaskError


def _run(batch: Callable[[], Any]) -> Any:
    return batch()


class NbaccelBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """Runs each batch of calls as one task, with the options `remote_options`, for instance `{"num_gpus": 0.5}`."""

    supports_retrieve_callback = True
    supports_return_generator = True
    default_n_jobs = -1

    def __init__(self, *args: Any, remote_options: dict[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._remote_options = remote_options or {}
        self._run: Any = None
        self._callbacks: ThreadPoolExecutor | None = None
        self._refs: dict[Future[Any], Any] = {}

    def configure(self, n_jobs: int = 1, parallel: Any = None, **kwargs: Any) -> int:
        """Called by joblib before the first batch; returns how many run at once."""
        self.parallel = parallel
        self._run = nbaccel.remote(_run).options(**self._remote_options)
        # joblib submits the next batch in its callback: never in the engine's own thread, which has to go on reading.
        self._callbacks = ThreadPoolExecutor(1, thread_name_prefix="nbaccel-joblib")
        return self.effective_n_jobs(n_jobs)

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """joblib's count, where -1 is all the CPUs of the cluster, -2 all but one."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None or n_jobs > 0:
            return n_jobs or 1
        engine.current()
        return max(1, int(nbaccel.cluster_resources().get("CPU", 1)) + 1 + n_jobs)

    def submit(self, func: Callable[[], Any], callback: Callable[[Future[Any]], object] | None = None) -> Future[Any]:
        """Runs a batch; `callback` gets the future when it is done."""
        ref = self._run.remote(func)
        future: Future[Any] = ref.future()
        self._refs[future] = ref
        future.add_done_callback(lambda done: self._announce(done, callback))
        return future

    def apply_async(self, func: Callable[[], Any], callback: Any = None) -> Future[Any]:
        """The name of `submit` in older joblib."""
        return self.submit(func, callback)

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """The batch's values. Raises what a call raised, as joblib's own backends do: a KeyError and no subclass."""
        try:
            return out.result()
        except RayTaskError as error:
            if error.cause is None:
                raise
            raise error.cause from error  # the latter says where it was

    def terminate(self) -> None:
        """Called by joblib at the end."""
        if self._callbacks is not None:
            self._callbacks.shutdown(wait=False)
            self._callbacks = None
        self.reset_batch_stats()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancels what still runs, as after an error in one batch."""
        for ref in list(self._refs.values()):
            nbaccel.cancel(ref)
        self.terminate()
        if ensure_ready:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)

    def _announce(self, done: Future[Any], callback: Callable[[Future[Any]], object] | None) -> None:
        self._refs.pop(done, None)
        if callback is not None and self._callbacks is not None:
            self._callbacks.submit(callback, done)


def register_nbaccel() -> None:
    """Registers the backend "nbaccel" for `joblib.parallel_config`; also as "ray", for programs written for it."""
    register_parallel_backend("nbaccel", NbaccelBackend)
    register_parallel_backend("ray", NbaccelBackend)


register_ray = register_nbaccel
