"""How many replicas a deployment wants, from what is under way: a pure decision over time, which is an argument."""

from __future__ import annotations

import math

from nbaccel.serve.records import AutoscalingConfig


class Scaler:
    """Grows when the demand has lasted for `upscale_delay_s`, shrinks after `downscale_delay_s`."""

    def __init__(self, config: AutoscalingConfig, replicas: int) -> None:
        self.config = config
        self.replicas = replicas  # that are wanted now
        self._more_since: float | None = None
        self._less_since: float | None = None
        self._most = 0  # the largest wish since it has been less

    def wish(self, demand: float) -> int:
        """For so many requests, under way and queued."""
        wanted = math.ceil(demand / self.config.target_ongoing_requests)
        return max(1, self.config.min_replicas, min(self.config.max_replicas, wanted))

    def look(self, demand: float, now: float) -> int:
        """The number that is wanted from now on; the caller sets `replicas` if it can be had."""
        wish = self.wish(demand)
        if wish > self.replicas:
            self._less_since = None
            self._more_since = now if self._more_since is None else self._more_since
            return wish if now - self._more_since >= self.config.upscale_delay_s else self.replicas
        self._more_since = None
        if wish == self.replicas:
            self._less_since = None
            return self.replicas
        if self._less_since is None:
            self._less_since, self._most = now, 0
        self._most = max(self._most, wish)
        if now - self._less_since < self.config.downscale_delay_s:
            return self.replicas
        self._less_since = None
        return self._most
