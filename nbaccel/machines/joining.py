"""Joining a Ray cluster from a terminal: the token of this machine, and whether a cluster would let it in."""

from __future__ import annotations

import email.utils
import http.client
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import click

from nbaccel import ray_preflight

_USUAL_PORTS = {8265: "Ray's dashboard", 10001: "Ray Client (write ray://HOST:10001)", 8000: "Ray Serve"}


@click.command()
@click.option("--generate", is_flag=True, help="Make a token if this machine has none.")
@click.option("--path", "only_path", is_flag=True, help="Print only the path of the file.")
@click.option("--show", is_flag=True, help="Print the token itself: whoever reads it may run code in the cluster.")
def token(generate: bool, only_path: bool, show: bool) -> None:
    """Say which token this machine shows to Ray clusters; the token itself is printed only by --show."""
    file = ray_preflight.usual_file()
    if generate and not file.exists():
        ray_preflight.write_token(file, ray_preflight.make_token())
        click.echo(f"Made a token in {file}.", err=True)
    elif generate:
        click.echo(f"{file} is there already and stays: other machines may have copied it.", err=True)
    if only_path:
        click.echo(str(file))
        return
    if not file.exists():
        raise click.ClickException(
            f"This machine has no token ({file} is missing). Make one: nbaccel token --generate. To join a cluster, "
            "copy its head's: scp head:~/.ray/auth_token ~/.ray/"
        )
    content = ray_preflight.read_token(file)
    if show:
        click.echo(content)
    elif not generate:
        click.echo(f"The token is in {file}, and only you can read it. Ray shows it where token_file= names it.")


def judge_address(address: str, token_file: str | None) -> Iterator[str]:
    """One sentence for each thing that is in order. Raises ConnectionError or ValueError for the first that is not."""
    host, port = _host_and_port(address)
    _listening(address, host, port)
    yield f"{host} answers on port {port}."
    if address.startswith("ray://"):
        yield "This is taken for Ray Client's port, which says its versions and its token only to who joins."
        return
    yield _shown_token(token_file)
    versions = _versions(address, token_file)
    if versions is None:
        raise ConnectionError(
            f"{address} answers, but not as the head of a Ray cluster does. `ray start --head` listens on port 6379 "
            f"unless told otherwise{_usually(port)}."
        )
    here = ray_preflight.versions_here()
    wrong = ray_preflight.mismatch(versions, here)
    if wrong:
        raise ConnectionError(wrong)
    yield "The cluster takes this machine's token, or wants none."
    yield f"The cluster runs {versions}, and this machine can join it."


def judge_reach(address: str) -> Iterator[str]:
    """Whether this machine reaches all nodes of a cluster that `judge_address` has found in order, and the clocks."""
    if not address.startswith("ray://"):  # Ray Client's port is the only one that a client needs
        yield from reach_in_words(_doors(address))


def _doors(address: str) -> list[NodeDoors]:
    return [
        NodeDoors(
            node.node_manager_address,
            {"raylet": node.node_manager_port, "objects": node.object_manager_port},
            node.is_head_node,
            node.runtime_env_agent_port,
        )
        for node in ray_preflight.living_nodes(address) or ()
    ]


def _host_and_port(address: str) -> tuple[str, int]:
    refusal = ValueError(f"{address!r} is no address of a Ray cluster: write HOST:6379 or ray://HOST:10001.")
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        port = parts.port or (10001 if parts.scheme == "ray" else None)
        (parts.hostname or "").encode("idna")  # as the connection will: no strange bytes, no very long part
    except ValueError:  # the port is no number or too large, a bracket is missing, or no host can have this name
        raise refusal from None
    if not parts.hostname or port is None or parts.scheme not in ("", "ray"):
        raise refusal
    return parts.hostname, port


def _listening(address: str, host: str, port: int) -> None:
    try:
        ray_preflight.answers(host, port)
    except OSError as error:
        raise ConnectionError(
            f"Nothing answers at {address} ({error.strerror or error}). Is the head started, and is the port open "
            "between the machines (firewall)?"
        ) from None


def _shown_token(token_file: str | None) -> str:
    """Make Ray show the token, and say which one it is: what is set for Ray goes before the usual file."""
    if token_file is None and os.environ.get("RAY_AUTH_TOKEN"):
        os.environ["RAY_AUTH_MODE"] = "token"
        return "The token of RAY_AUTH_TOKEN is shown."
    file = Path(token_file) if token_file else ray_preflight.usual_file()
    if token_file is None and not file.exists():
        return f"No token is shown: {file} is missing."
    ray_preflight.show_token_of(str(file))
    mode = stat.S_IMODE(file.expanduser().stat().st_mode)
    return f"The token of {file} is shown (mode {mode:04o})."


def _versions(address: str, token_file: str | None) -> ray_preflight.RayVersions | None:
    try:
        refusals = ray_preflight.token_errors()
    except ModuleNotFoundError:
        raise RuntimeError("Ray is not installed here. Type: pip install 'nbaccel[ray]'") from None
    try:
        return ray_preflight.ask_versions(address)
    except refusals:
        raise ConnectionError(
            f"The cluster at {address} asks for a token and {_why_not_taken(token_file)}. Copy the "
            "head's: scp head:~/.ray/auth_token ~/.ray/ (or RAY_AUTH_TOKEN)."
        ) from None


def _why_not_taken(token_file: str | None) -> str:
    """Of the token that `_shown_token` has shown."""
    if token_file is None and os.environ.get("RAY_AUTH_TOKEN"):
        return "the one of RAY_AUTH_TOKEN is not its"
    file = Path(token_file) if token_file else ray_preflight.usual_file()
    return (
        f"the one in {file} is not its" if file.expanduser().exists() else f"this machine has none ({file} is missing)"
    )


def _usually(port: int) -> str:
    return f"; port {port} is usually that of {_USUAL_PORTS[port]}" if port in _USUAL_PORTS else ""


# ---- whether this machine reaches every node of a Ray cluster, and whether the clocks agree; in sentences
#
# A node that cannot reach another one's ports joins and then waits for ever for its objects. Ray's nodes have no
# question about the time; the small HTTP server in which each makes runtime environments dates its answers, as HTTP
# asks for.

_TIMEOUT_S = 3.0
_LARGE_SKEW_S = 5.0  # an answer's date has whole seconds, and its way takes some time
_MOST_AT_ONCE = 32
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class NodeDoors:
    """Where a node listens: what each port is for, and the port. `dated` is the port of an HTTP server, or 0."""

    host: str
    ports: dict[str, int]
    is_head: bool = False
    dated: int = 0


def reach_in_words(nodes: Sequence[NodeDoors] | None, clock: Callable[[], float] = time.time) -> Iterator[str]:
    """The sentences; `nodes` None: the cluster does not tell them."""
    if not nodes:
        yield "The cluster does not tell its nodes, so their ports and the head's clock were not tried."
        return
    yield from _ports_told(nodes)
    head = next((node for node in nodes if node.is_head), None)
    skew = clock_skew(head.host, head.dated, clock) if head is not None and head.dated > 0 else None
    if skew is None:
        yield "The head's clock is not known: no server there tells the time to this machine."
    elif abs(skew) > _LARGE_SKEW_S:
        way = "ahead of" if skew > 0 else "behind"
        yield (
            f"The head's clock is {abs(skew):.0f} s {way} this machine's: times in views are wrong by as much, and "
            "certificates may be refused. Let both follow a time server: timedatectl set-ntp true"
        )
    else:
        yield "The head's clock and this machine's agree."


def _ports_told(nodes: Sequence[NodeDoors]) -> Iterator[str]:
    tried = [(node.host, port, what) for node in nodes for what, port in node.ports.items() if port > 0]
    with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
        closed = [address for address, why in zip(tried, pool.map(_why_closed, tried), strict=True) if why]
    if not closed:
        yield f"Ports of the nodes: {len(tried)} of {len(tried)} are open to this machine."
        return
    named = ", ".join(f"{host}:{port} ({what})" for host, port, what in closed[:_MOST_NAMED])
    more = f" and {len(closed) - _MOST_NAMED} more" if len(closed) > _MOST_NAMED else ""
    yield (
        f"{len(closed)} of {len(tried)} ports are closed to this machine: {named}{more}. Ray chooses them freely, so a "
        "firewall has to let the machines reach each other on every port, or on those that `ray start "
        "--node-manager-port --object-manager-port` names."
    )


def _why_closed(address: tuple[str, int, str]) -> str:
    try:
        ray_preflight.answers(address[0], address[1])
    except OSError as error:
        return error.strerror or str(error) or "closed"
    return ""


def clock_skew(host: str, port: int, clock: Callable[[], float] = time.time) -> float | None:
    """By how many seconds the clock of an HTTP server there is ahead of `clock`; None where it does not say."""
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    try:
        before = clock()
        connection.request("HEAD", "/")
        date = connection.getresponse().getheader("Date")
        middle = (before + clock()) / 2
        there = email.utils.parsedate_to_datetime(date or "").timestamp()
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        return None
    return there + 0.5 - middle  # the date is cut to whole seconds
