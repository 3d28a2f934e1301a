"""Counter, Gauge and Histogram for drivers, tasks and actors, readable as Prometheus text.

    task ── inc ──► what its process has not sent ── at once, or with others ──► collector actor ──► prometheus_text()

The collector is a named actor without a CPU, started by the first process that records something. A record is sent at
once, since a worker may end right after its task; only more than BURST of them in SEND_EVERY_S are sent together.
"""

import bisect
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import nbaccel
from nbaccel import engine
from nbaccel.handles.internal_work import NAMESPACE, internal_actor

__all__ = ["Counter", "Gauge", "Histogram", "Metric", "flush", "prometheus_text"]

SEND_EVERY_S = 0.2
BURST = 200
_COLLECTOR = "metrics"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_:]")  # of Prometheus

Tags = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class MetricSeries:
    """A metric's description, and its values for each set of tags.

    The value of a counter is its sum, of a gauge the last value, of a histogram the count of each bucket and the sum.
    """

    kind: str
    description: str
    boundaries: tuple[float, ...] = ()
    values: dict[Tags, Any] = field(default_factory=dict)

    def add(self, tags: Tags, change: Any) -> None:
        """Add a change of this process, or one that another process sent."""
        before = self.values.get(tags)
        if self.kind == "gauge" or before is None:
            self.values[tags] = change
        elif self.kind == "counter":
            self.values[tags] = before + change
        else:
            self.values[tags] = [old + new for old, new in zip(before, change, strict=True)]


class MetricsCollector:
    """The actor that holds the cluster's totals."""

    def __init__(self) -> None:
        self._all: dict[str, MetricSeries] = {}

    def add(self, changes: dict[str, MetricSeries]) -> None:
        _merge(self._all, changes)

    def read(self) -> dict[str, MetricSeries]:
        return self._all


def _merge(into: dict[str, MetricSeries], changes: Mapping[str, MetricSeries]) -> None:
    for name, series in changes.items():
        mine = into.setdefault(name, MetricSeries(series.kind, series.description, series.boundaries))
        if mine.kind == series.kind and mine.boundaries == series.boundaries:
            for tags, change in series.values.items():
                mine.add(tags, change)


def _after(seconds: float, action: Callable[[], Any]) -> None:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()


class Outbox:
    """Records of this process that are not sent. `now` is its clock; `after` calls a function some seconds later."""

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        after: Callable[[float, Callable[[], Any]], None] = _after,
    ) -> None:
        self._now, self._after = now, after
        self._lock = threading.Lock()
        self._sending = threading.RLock()  # while records are neither here nor on their way
        self._changes: dict[str, MetricSeries] = {}
        self._window_began = now() - SEND_EVERY_S
        self._sent_in_window = 0
        self._due = False  # a sending is agreed upon
        self._last: Any = None  # the ref of the collector's answer to the last message
        self._collector: tuple[Any, Any] = None, None  # the engine it belongs to, its handle

    def record(self, metric: "Metric", tags: Tags, change: Any) -> None:
        with self._lock:
            new = MetricSeries(metric.kind, metric.info["description"], metric.boundaries)
            self._changes.setdefault(metric.info["name"], new).add(tags, change)
            wait_s = self._seconds_to_wait()
            if wait_s > 0 and not self._due:
                self._due = True
                self._after(wait_s, self.send)
        if wait_s <= 0:
            self.send()

    def _seconds_to_wait(self) -> float:
        left = self._window_began + SEND_EVERY_S - self._now()
        if left <= 0:
            self._window_began, self._sent_in_window = self._now(), 0
        return 0 if self._sent_in_window < BURST else left

    def send(self) -> Any:
        """Send the records. Returns the ref of the collector's answer, or None if nothing was sent.

        Before init() nothing is sent: earlier records are sent with the first record or reading after init().
        """
        with self._sending:
            with self._lock:
                self._due = False
                if not self._changes or not nbaccel.is_initialized():
                    return None
                changes, self._changes = self._changes, {}
                self._sent_in_window += 1
            ref = self._last = self.collector().add.remote(changes)
            return ref

    def wait(self) -> None:
        """Wait until everything that was sent is counted. The collector handles the records of one process in order."""
        started, _ = self._collector
        if self._last is not None and started is engine.started():
            nbaccel.get(self._last)
        self._last = None

    def collector(self) -> Any:
        started = engine.current()
        if self._collector[0] is not started:
            # Detached: the worker that happens to be the first to record something may end before the others.
            options = {"name": _COLLECTOR, "namespace": NAMESPACE, "get_if_exists": True, "lifetime": "detached"}
            self._collector = started, internal_actor(MetricsCollector, num_cpus=0, **options).remote()
        return self._collector[1]

    def unsent(self) -> dict[str, MetricSeries]:
        return self._changes


_outbox = Outbox()


def flush() -> None:
    """Send the records of this process and wait until they are counted."""
    _outbox.send()
    _outbox.wait()


class Metric:
    """The base of Counter, Gauge and Histogram: a name, a description, tag keys and default tags."""

    kind = ""

    def __init__(
        self,
        name: str,
        description: str = "",
        tag_keys: Iterable[str] | None = None,
        boundaries: Iterable[float] = (),
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"A metric's name is a string, but this is {name!r}.")
        if not name:
            raise ValueError("An empty string is not a metric name.")
        if not isinstance(tag_keys or (), tuple) or not all(isinstance(key, str) for key in tag_keys or ()):
            raise TypeError(f"tag_keys of {name} must be a tuple of strings, but is {tag_keys!r}.")
        self._name = name
        self._description = description
        self._tag_keys = tuple(tag_keys or ())
        self._default_tags: dict[str, str] = {}
        self.boundaries = tuple(boundaries)

    @property
    def info(self) -> dict[str, Any]:
        """Name, description, tag keys and default tags; a histogram's boundaries."""
        facts = {
            "name": self._name,
            "description": self._description,
            "tag_keys": self._tag_keys,
            "default_tags": dict(self._default_tags),
        }
        return facts | ({"boundaries": list(self.boundaries)} if self.boundaries else {})

    def set_default_tags(self, default_tags: Mapping[str, str]) -> "Metric":
        """Set the tags of records that do not give their own."""
        self._check(default_tags)
        self._default_tags = dict(default_tags)
        return self

    def _check(self, tags: Mapping[str, str]) -> None:
        for key, value in tags.items():
            if key not in self._tag_keys:
                raise ValueError(
                    f"Unrecognized tag key {key!r}: metric {self._name} has the tag keys {self._tag_keys}."
                )
            if not isinstance(value, str):
                raise TypeError(f"Tag values are strings, but {key} of metric {self._name} is {value!r}.")

    def _record(self, change: Any, tags: Mapping[str, str] | None) -> None:
        self._check(tags or {})
        final = {**self._default_tags, **(tags or {})}
        missing = [key for key in self._tag_keys if key not in final]
        if missing:
            raise ValueError(f"Missing value for tag key(s): {', '.join(missing)} of metric {self._name}.")
        _outbox.record(self, tuple(sorted(final.items())), change)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self._name, self._description, *([self.boundaries] if self.boundaries else []), self._tag_keys)
        return _with_default_tags, (type(self), arguments, self._default_tags)


def _with_default_tags(kind: type[Metric], arguments: tuple[Any, ...], tags: Mapping[str, str]) -> Metric:
    return kind(*arguments).set_default_tags(tags)


def _number(value: Any, metric: Metric) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"Metric {metric.info['name']} takes numbers, but got {value!r}.")
    return value


class Counter(Metric):
    """A number that only grows.

    >>> Counter("rows_read", tag_keys=("table",)).inc(10, tags={"table": "users"})
    """

    kind = "counter"

    def __init__(self, name: str, description: str = "", tag_keys: Iterable[str] | None = None) -> None:
        super().__init__(name, description, tag_keys)

    def inc(self, value: float = 1.0, tags: Mapping[str, str] | None = None) -> None:
        """Adds `value`."""
        if _number(value, self) <= 0:
            raise ValueError(f"Counter {self._name} only grows: value must be >0, but is {value}.")
        self._record(value, tags)


class Gauge(Metric):
    """A number that is set; the last value counts, from whichever process.

    >>> Gauge("rows_waiting").set(3)
    """

    kind = "gauge"

    def __init__(self, name: str, description: str = "", tag_keys: Iterable[str] | None = None) -> None:
        super().__init__(name, description, tag_keys)

    def set(self, value: float | None, tags: Mapping[str, str] | None = None) -> None:
        """Sets the value; None is ignored."""
        if value is not None:
            self._record(_number(value, self), tags)


class Histogram(Metric):
    """How many observations fell below each boundary, and their sum.

    >>> Histogram("load_seconds", boundaries=[0.1, 1, 10]).observe(0.4)
    """

    kind = "histogram"

    def __init__(
        self,
        name: str,
        description: str = "",
        boundaries: Iterable[float] | None = None,
        tag_keys: Iterable[str] | None = None,
    ) -> None:
        bounds = sorted(boundaries or ())
        if not bounds or bounds[0] <= 0:
            raise ValueError(
                f"Histogram {name} needs boundaries greater than 0, such as [0.1, 1, 10], but got {bounds}."
            )
        super().__init__(name, description, tag_keys, bounds)

    def observe(self, value: float, tags: Mapping[str, str] | None = None) -> None:
        """Adds an observation."""
        counts: list[float] = [0] * (len(self.boundaries) + 1)
        counts[bisect.bisect_left(self.boundaries, _number(value, self))] = 1
        self._record([*counts, value], tags)


# --- reading -----------------------------------------------------------------------------------------------------


def prometheus_text() -> str:
    """All metrics of the cluster in Prometheus' text format.

    >>> Counter("rows_seen", tag_keys=("table",)).inc(10, tags={"table": "users"})
    >>> 'rows_seen{table="users"} 10' in prometheus_text()
    True
    """
    flush()
    series: dict[str, MetricSeries] = {}
    if nbaccel.is_initialized():
        _merge(series, nbaccel.get(_outbox.collector().read.remote()))
    _merge(series, _outbox.unsent())
    return "".join(line + "\n" for name in sorted(series) for line in _lines(name, series[name]))


def _lines(given: str, series: MetricSeries) -> Iterator[str]:
    name = _NOT_IN_NAMES.sub("_", given)
    name = f"_{name}" if name[0].isdigit() else name
    description = series.description.replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {name} {description}".rstrip()
    yield f"# TYPE {name} {series.kind}"
    for tags, value in sorted(series.values.items()):
        if series.kind == "histogram":
            yield from _histogram_lines(name, tags, series.boundaries, value)
        else:
            yield f"{name}{_labels(tags)} {value:.17g}"


def _histogram_lines(name: str, tags: Tags, boundaries: tuple[float, ...], value: list[float]) -> Iterator[str]:
    *counts, total = value
    below = 0
    for boundary, count in zip((*boundaries, "+Inf"), counts, strict=True):
        below += int(count)
        yield f"{name}_bucket{_labels((*tags, ('le', str(boundary))))} {below}"
    yield f"{name}_sum{_labels(tags)} {total:.17g}"
    yield f"{name}_count{_labels(tags)} {below}"


def _labels(tags: Tags) -> str:
    pairs = [f'{key}="{_escaped(value)}"' for key, value in tags]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
