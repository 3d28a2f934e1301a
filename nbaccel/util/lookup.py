"""Named actors of the cluster, and this node's address."""

from typing import Any

from nbaccel import engine
from nbaccel.proc import address_towards, host_address


def list_named_actors(all_namespaces: bool = False) -> list[Any]:
    """The names of the living named actors of this namespace, or of all as dicts of "name" and "namespace".

    >>> list_named_actors()
    """
    return engine.current().list_named_actors(all_namespaces)


def get_node_ip_address(address: str | None = None) -> str:
    """This node's address, as nodes() and the resource `node:<address>` name it.

    Before init(), or with `address`: the one at which other machines, or that host, reach this one; 127.0.0.1 without a
    network. Nothing is sent to the host.
    """
    started = engine.started()
    if address is None and started is not None:
        node_id = started.context().node_id
        for row in started.nodes():
            if row["NodeID"] == node_id:
                return str(row["NodeManagerAddress"])
    return address_towards(address) if address else host_address()
