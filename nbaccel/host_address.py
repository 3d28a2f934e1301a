"""The address under which other machines reach this one."""

import functools
import socket

LOOPBACK = "127.0.0.1"
_SOMEWHERE = "192.0.2.1:80"  # an address for documentation: it is routed, but no host has it


@functools.cache
def host_address() -> str:
    """This machine's address, determined at the first call; 127.0.0.1 without a network."""
    return address_towards(_SOMEWHERE)


def address_towards(address: str) -> str:
    """This machine's address as the given host sees it. Nothing is sent to the host."""
    host, _, port = address.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, int(port or 80)))
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK
