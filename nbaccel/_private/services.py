"""This node's address, by Ray's private path."""

from nbaccel.util.lookup import get_node_ip_address

__all__ = ["get_node_ip_address"]
