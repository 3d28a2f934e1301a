"""The standard library's `multiprocessing.Pool` over actors, so that its workers may hold devices or be elsewhere."""

from multiprocessing import TimeoutError

from nbaccel.util.multiprocessing.pool import Pool

__all__ = ["Pool", "TimeoutError"]
