"""Checks whether anything answers at the address of a Ray cluster, before Ray itself connects.

```
  "host:6379"        a cluster that this machine is a node of (Ray needs its own processes here)
  "ray://host:10001" a cluster elsewhere, through Ray Client
```
`nbaccel.addresses` says what an address means, and where "auto" searches.
"""

from __future__ import annotations

import socket

from nbaccel import addresses as nbaccel_addresses

CONNECT_TIMEOUT_S = 3.0
CLIENT_PORT = 10001


def resolved(address: str | None) -> str | None:
    """The address to give to Ray, None for a Ray of our own. Raises ConnectionError when nothing answers within 3 s."""
    if address is None or nbaccel_addresses.is_own(address):
        return None
    found = _found() if address == "auto" else address
    _check(found)
    return found


def _found() -> str:
    address, _where = nbaccel_addresses.find_ray()
    if address:
        return address
    raise ConnectionError(
        "address='auto': no Ray cluster found. Looked for RAY_ADDRESS in the environment, which is not set, "
        f"and for {nbaccel_addresses.note_of_ray()}, which `ray start` writes. Start one with `ray start --head`, pass "
        "its address ('host:6379' or 'ray://host:10001'), or leave the address out for a Ray of your own."
    )


def host_and_port(address: str) -> tuple[str, int]:
    """Of "host:port" or "ray://host[:port]". Raises ValueError for anything else."""
    plain = address.removeprefix("ray://")
    host, colon, port = plain.rpartition(":")
    if not colon and address.startswith("ray://"):
        return plain, CLIENT_PORT
    if not host or not port.isdigit():
        raise ValueError(
            f"address={address!r} is not an address of a Ray cluster: write 'auto', 'host:6379' or 'ray://host:10001'."
        )
    return host.strip("[]"), int(port)


def _check(address: str) -> None:
    """Whether somebody listens there at all: Ray's own attempts last much longer and say less."""
    host, port = host_and_port(address)
    try:
        socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S).close()
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise ConnectionError(
            f"address={address!r}: nothing answers at {host} port {port} ({why}). {_advice(address, port)}"
        ) from None


def _advice(address: str, port: int) -> str:
    if address.startswith("ray://"):
        return (
            f"Ray Client listens on port {CLIENT_PORT} unless `ray start --head --ray-client-server-port` says "
            "otherwise, and only where Ray was installed with pip install 'ray[client]'."
        )
    advice = "`ray start --head` listens on port 6379 unless told otherwise."
    if port == CLIENT_PORT:
        advice += f" Port {CLIENT_PORT} is Ray Client's: write ray://host:{CLIENT_PORT}."
    return advice


_TOKEN = (
    "A cluster may demand a token (Ray's default since 2.59), and answers InvalidAuthToken to who has none or another: "
    "copy the file ~/.ray/auth_token of its head and pass token_file='~/.ray/auth_token', or set RAY_AUTH_MODE=token "
    "and RAY_AUTH_TOKEN before nbaccel.init()."
)


def _refuses_token(error: BaseException) -> bool:
    """Whether this, or what it came from, says that the token is missing or another."""
    links: list[str] = []
    link: BaseException | None = error
    while link is not None and len(links) < _MOST_LINKS:
        links.append(f"{type(link).__name__} {link}")
        link = link.__cause__ or link.__context__
    return any(word in text for word in _TOKEN_WORDS for text in links)


_TOKEN_WORDS = ("InvalidAuthToken", "AuthenticationError", "Unauthenticated", "UNAUTHENTICATED")
_MOST_LINKS = 10


def why_not_joined(address: str, error: BaseException) -> str:
    """Words for a cluster that answers but could not be joined."""
    host, _ = host_and_port(address)
    text = str(error).strip() or type(error).__name__
    if address.startswith("ray://"):
        return f"address={address!r}: the cluster could not be joined through Ray Client: {text}\n{_TOKEN}"
    if _refuses_token(error):
        return f"address={address!r}: the cluster could not be joined: {text}\n{_TOKEN}"
    return (
        f"address={address!r}: the cluster could not be joined: {text}\n{_TOKEN}\nAn address without ray:// needs "
        f"Ray's own node processes on this machine (`ray start --address={address}`). From a machine outside of the "
        f"cluster use address='ray://{host}:{CLIENT_PORT}'."
    )
