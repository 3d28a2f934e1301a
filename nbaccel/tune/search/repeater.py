"""Repeater, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.search.searcher import Repeater

__all__ = ["Repeater"]
