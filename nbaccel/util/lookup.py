"""What there is in the cluster by name: named actors, and this node's address."""

import socket
from typing import Any

from nbaccel import engine


def list_named_actors(all_namespaces: bool = False) -> list[Any]:
    """The names of the living named actors of this namespace; of all, as dicts of "name" and "namespace"."""
    return engine.current().list_named_actors(all_namespaces)


def get_node_ip_address(address: str | None = None) -> str:
    """The address under which other machines reach this one; 127.0.0.1 without a network.

    `address` is a host whose side of the network is meant; nothing is sent to it.
    """
    host, _, port = (address or "192.0.2.1:80").partition(":")  # a documentation address: routed, never reached
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, int(port or 80)))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
