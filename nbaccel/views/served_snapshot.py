"""The snapshot of an application of `nbaccel.serve`, and its words: card, `%accel_status`, `nbaccel top` share them.

The driver that serves it publishes it as a record of kind "application" (`views/record_book.py`). It has no token.
Times are Unix seconds.
"""

from __future__ import annotations

import msgspec

from nbaccel.views import tables, wording
from nbaccel.views.snapshot import Snapshot

KIND = "application"
SIGNS = {"serving": "●", "deploying": "◌", "unhealthy": "⚠", "failed": "✕", "ending": "●", "ended": "–"}
_UNDER_WAY = ("serving", "deploying", "unhealthy", "ending")
MOST_REPLICAS = 8  # that a line names


class ReplicaRow(msgspec.Struct, omit_defaults=True):
    """A replica. `blocked` is the stack of a loop that does not turn."""

    id: str  # of its actor
    state: str
    pid: int | None = None
    devices: dict[str, list[str]] = {}
    since: float = 0.0
    under_way: int = 0
    fallback: str = ""
    blocked: str = ""


class LastError(msgspec.Struct, omit_defaults=True):
    """What user code raised last."""

    time: float
    type: str
    message: str
    traceback: str = ""


class DeploymentRow(msgspec.Struct, omit_defaults=True):
    """A deployment with its replicas."""

    name: str
    wanted: int
    replicas: list[ReplicaRow] = []
    more: int = 0  # replicas that have no row
    most_each: int = 0  # requests that a replica takes at once
    share: str = ""  # of a device, that each replica asks for
    batch: float = 0.0  # the mean size of its batches; 0: it has none
    batch_limit: int = 0
    message: str = ""  # what it waits for, or why it failed
    error: LastError | None = None


class ServedSnapshot(msgspec.Struct, omit_defaults=True):
    """One application at one moment."""

    id: str  # by which it is asked to stop
    name: str
    state: str = "serving"
    url: str = ""  # "": no HTTP
    route: str = ""  # under the login of a JupyterHub, if the driver runs below one
    socket: str = ""  # of the door's HTTP, for processes of the same user
    prefix: str = ""
    asks_token: bool = False
    why: str = ""
    started_at: float = 0.0
    ended_at: float | None = None
    deployments: list[DeploymentRow] = []
    requests: int = 0
    statuses: dict[str, int] = {}
    per_s: float = 0.0
    p50_s: float | None = None
    p95_s: float | None = None
    under_way: int = 0
    queued: int = 0
    failed: int = 0
    stops: int = 0  # how often it was asked to stop

    @property
    def is_under_way(self) -> bool:
        return self.state in _UNDER_WAY


def of_snapshot(snapshot: Snapshot) -> list[ServedSnapshot]:
    """The published applications, those that serve first, then by name. One that cannot be read is left out."""
    found = []
    for row in snapshot.published:
        if row.kind == KIND:
            try:
                found.append(msgspec.convert(row.record, ServedSnapshot))
            except msgspec.ValidationError:  # of a later version
                continue
    return sorted(found, key=lambda each: (not each.is_under_way, each.name, each.id))


def table(snapshot: Snapshot) -> tables.Table:
    """A row for each application."""
    rows = [
        (
            wording.plain(each.name),
            f"{SIGNS.get(each.state, '◌')} {each.state}",
            wording.plain(each.route or each.url),
            replica_words(each),
            request_words(each),
        )
        for each in of_snapshot(snapshot)
    ]
    return tables.Table("Serving", ("Application", "State", "Address", "Replicas", "Requests"), rows)


def lines(snapshot: Snapshot) -> list[str]:
    """A line for each application."""
    return [one_line(each) for each in of_snapshot(snapshot)]


# ---- words


def one_line(served: ServedSnapshot) -> str:
    """The whole application in one line, for terminals."""
    sign = SIGNS.get(served.state, "◌")
    waits = next((each.message for each in served.deployments if each.message), served.why)
    return wording.sentence(
        [
            f"{sign} {wording.plain(served.name)} {served.state}",
            wording.plain(served.route or served.url),
            replica_words(served),
            request_words(served),
            wording.plain(waits).partition("\n")[0],
        ]
    )


def replica_words(served: ServedSnapshot) -> str:
    """ "3 of 4 replicas": those that serve, of those that are wanted."""
    serving = sum(serving_of(each) for each in served.deployments)
    wanted = sum(each.wanted for each in served.deployments)
    if served.state == "ended":
        return ""
    return (
        wording.count(serving, "replica") if serving == wanted else f"{serving} of {wording.count(wanted, 'replica')}"
    )


def serving_of(deployment: DeploymentRow) -> int:
    return sum(row.state == "RUNNING" for row in deployment.replicas) + deployment.more


def request_words(served: ServedSnapshot) -> str:
    """ "41 requests/s · p50 ≤ 48 ms · p95 ≤ 93 ms · queue 3 · 2 failed"; "" before the first."""
    if not served.requests:
        return ""
    if served.state == "ended":
        return wording.sentence([wording.count(served.requests, "request"), _failed(served)])
    times = [("p50", served.p50_s), ("p95", served.p95_s)]
    return wording.sentence(
        [
            f"{served.per_s:.3g} requests/s",
            *(f"{name} ≤ {1000 * time_s:.3g} ms" for name, time_s in times if time_s is not None),
            f"queue {served.queued}" if served.queued else "",
            _failed(served),
        ]
    )


def _failed(served: ServedSnapshot) -> str:
    return f"{served.failed} failed" if served.failed else ""


def deployment_words(deployment: DeploymentRow) -> str:
    """ "2 replicas · GPU 0, GPU 0 · max 2 each · batch 3.6 of 8"."""
    serving = serving_of(deployment)
    number = wording.count(serving, "replica")
    if serving != deployment.wanted:
        number = f"{serving} of {wording.count(deployment.wanted, 'replica')}"
    places = [place(row) for row in deployment.replicas if row.state == "RUNNING"][:MOST_REPLICAS]
    left = serving - len(places)
    where = ", ".join([*places, *([f"and {left} more"] if left > 0 and places else [])])
    return wording.sentence(
        [
            number,
            f"{deployment.share} on {where}" if deployment.share and places else where,
            f"max {deployment.most_each} each" if deployment.most_each else "",
            f"batch {deployment.batch:.2g} of {deployment.batch_limit}" if deployment.batch else "",
        ]
    )


def place(row: ReplicaRow) -> str:
    """ "GPU 0", "CPU", "CPU (cpu, blocked)"."""
    devices = [f"{wording.plain(name)} {','.join(ids)}" for name, ids in row.devices.items() if ids]
    marks = [wording.plain(row.fallback), "blocked" if row.blocked else ""]
    said = ", ".join(mark for mark in marks if mark)
    return (" ".join(devices) or "CPU") + (f" ({said})" if said else "")


own_tokens: dict[str, str] = {}  # of the applications that this process serves, by id: for the clipboard alone


def curl_words(served: ServedSnapshot, token: str = "…") -> str:
    """A line for a terminal; what is shown has no token."""
    if not served.url or not served.is_under_way:
        return ""
    header = f" -H 'Authorization: Bearer {token}'" if served.asks_token else ""
    return f"curl -s {wording.plain(served.url)}{header}"


def error_words(error: LastError) -> str:
    words = wording.plain(error.message.partition("\n")[0])[:200]
    return f"last error {wording.moment(error.time)} {wording.plain(error.type)}: {words}"
