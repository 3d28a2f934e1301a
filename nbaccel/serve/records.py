"""What processes of one session send each other about applications and calls; all of it is msgpack."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct


class AutoscalingConfig(Struct, frozen=True):
    """The bounds of a deployment whose number of replicas follows its running and queued requests.

    >>> config = AutoscalingConfig(min_replicas=1, max_replicas=4, target_ongoing_requests=2)
    """

    min_replicas: int = 1
    max_replicas: int = 1
    initial_replicas: int | None = None
    target_ongoing_requests: float = 2.0
    upscale_delay_s: float = 2.0
    downscale_delay_s: float = 60.0


class DeploymentSpec(Struct, frozen=True):
    """One deployment of an application, as its `serve.run` wants it."""

    app: str
    name: str
    code: bytes  # the pickled class or function with its bound values; only replicas unpickle it
    digest: str  # of the code and the bound values
    num_replicas: int = 1
    max_ongoing_requests: int = 5
    max_queued_requests: int = -1
    user_config: bytes = b""  # pickled
    actor_options: bytes = b""  # pickled
    uses_devices: bool = False
    graceful_shutdown_timeout_s: float = 20.0
    health_check_period_s: float = 10.0
    health_check_timeout_s: float = 30.0
    has_health_check: bool = False
    max_constructor_retry_count: int = 20
    retry_on_death: bool = False
    scaling: AutoscalingConfig | None = None

    @property
    def version(self) -> str:
        """Replicas of one version run the same code with the same values on the same resources."""
        return f"{self.digest} {self.actor_options.hex()}"


class AppSpec(Struct, frozen=True):
    """An application, as its `serve.run` wants it."""

    name: str
    ingress: str  # the name of the deployment that its requests go to
    deployments: list[DeploymentSpec]
    route_prefix: str | None = "/"
    tokens: list[str] | None = None  # None: whoever reaches the port may ask
    is_open: bool = False  # the user has said so: from anywhere


class Target(Struct, frozen=True):
    """A replica, as callers know it."""

    tag: str
    path: str  # of its socket
    max_ongoing_requests: int


class Membership(Struct, frozen=True):
    """Who answers for a deployment now. Callers get a new one with each change."""

    targets: list[Target]
    max_queued_requests: int = -1
    retry_on_death: bool = False
    unavailable: str = ""  # why there is nobody, and will be nobody
    scales: bool = False  # the door wants to know how many requests wait at the caller


class HttpCall(Struct, frozen=True, array_like=True, tag=0):
    """A request of HTTP for a replica. The body follows in the frame, and in chunks if `more`."""

    method: str
    path: str
    raw_path: bytes
    query: bytes
    root_path: str
    headers: list[tuple[bytes, bytes]]
    client: tuple[str, int] | None
    server: tuple[str, int | None] | None
    scheme: str
    http_version: str
    request_id: str
    more: bool = False
    websocket: bool = False
    model: str = ""  # of multiplexed models


class HandleCall(Struct, frozen=True, array_like=True, tag=1):
    """A call of a handle. The body is the pickled arguments."""

    method: str
    request_id: str
    stream: bool = False
    more: bool = False
    model: str = ""  # of multiplexed models
    origin: str = ""  # the application whose code calls


class ControlCall(Struct, frozen=True, array_like=True, tag=2):
    """What a controller asks of its replica: "check", "reconfigure", "drain" or "state"."""

    what: str


ReplicaCall = HttpCall | HandleCall | ControlCall


class AnswerHead(Struct, frozen=True, array_like=True):
    """The head of an answer by HTTP. `block` has its headers as they are written, each with its line end."""

    status: int
    block: bytes
    length: int = -1  # the Content-Length among them, if nothing else there is about the connection or the framing

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        parted = [line.partition(b": ") for line in self.block.split(b"\r\n") if line]
        return [(name, value) for name, _, value in parted]


def answer_head(status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A packed head. Raises ValueError for a header that would begin another one."""
    length, is_plain = -1, 200 <= status < 600 and status not in (204, 304)
    if not 100 <= status < 600:
        raise ValueError(f"An answer's status is {status}: there is no such one.")
    parts: list[bytes] = []
    for given, value in headers:
        name = given.lower()
        if b"\n" in value or b"\r" in value or b"\0" in value or not name or name.translate(None, _TOKEN):
            raise ValueError(f"An answer's header is damaged: {given!r}: {value!r}.")
        if name == b"content-length":
            if length >= 0:
                raise ValueError("An answer has two Content-Length headers.")
            length = int(value)
        is_plain = is_plain and name not in (b"connection", b"transfer-encoding")
        parts.append(b"%b: %b\r\n" % (name, value))
    return encode(AnswerHead(status, b"".join(parts), length if is_plain else -1))


_TOKEN = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"


class ErrorWords(Struct, frozen=True, array_like=True):
    """Words about an exception, for who cannot unpickle it."""

    type: str
    message: str
    traceback: str
    request_id: str = ""


encode = msgspec.msgpack.Encoder().encode
decode_call = msgspec.msgpack.Decoder(ReplicaCall).decode
decode_head = msgspec.msgpack.Decoder(AnswerHead).decode
decode_failure = msgspec.msgpack.Decoder(ErrorWords).decode
decode_membership = msgspec.msgpack.Decoder(Membership).decode
decode_app = msgspec.msgpack.Decoder(AppSpec).decode
