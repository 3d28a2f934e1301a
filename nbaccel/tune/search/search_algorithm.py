"""SearchAlgorithm, under the path at which programs import it from Ray Tune: here a search is a Searcher."""

from nbaccel.tune.search.searcher import Searcher as SearchAlgorithm

__all__ = ["SearchAlgorithm"]
