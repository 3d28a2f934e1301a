"""ConcurrencyLimiter, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.search.searcher import ConcurrencyLimiter

__all__ = ["ConcurrencyLimiter"]
