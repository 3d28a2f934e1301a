"""Greets new drivers and news connections: decides who is served, and tells each about the head."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable

from nbaccel import __version__
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.connections import Handler
from nbaccel.local_engine.head.devices.node_devices import Nodes
from nbaccel.local_engine.head.jobs import Jobs
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import Job


class Handshake:
    """Answers the Hello of connections that are admitted, once the devices of this machine are known."""

    def __init__(
        self,
        config: Config,
        arena_fd: int,
        nodes: Nodes,
        jobs: Jobs,
        *,
        news_came: Callable[[Peer, Job], None],
        why_stopping: Callable[[], str],
    ) -> None:
        self._config = config
        self._arena_fd = arena_fd
        self._nodes = nodes
        self._jobs = jobs
        self._news_came = news_came
        self._why_stopping = why_stopping
        self._waiting_for_node: list[Peer] = []

    def handlers(self) -> dict[type, Handler]:
        """The first messages of a connection, with their handlers."""
        return {wire.Hello: self._hello}

    def _hello(self, peer: Peer, hello: wire.Hello) -> None:
        """Handle the Hello of a connection that was admitted."""
        peer.hello = hello
        if hello.role == "news":
            peer.role = "news"
            self._news_came(peer, self._jobs.by_number[hello.job])
            return
        peer.role = "driver"
        if self._nodes.detection is None:
            self._waiting_for_node.append(peer)
        else:
            self._welcome(peer)

    def objection(self, hello: wire.Hello) -> str:
        """Why this driver or news connection cannot be served, "" if it can."""
        if self._why_stopping():
            return self._why_stopping()
        if hello.version != wire.VERSION:
            return (
                f"This head runs nbaccel {__version__} with another protocol; install the same version on both sides."
            )
        if hello.role not in ("driver", "news"):
            return f"This head does not know the role {hello.role!r}."
        if hello.role == "news" and hello.job not in self._jobs.by_number:
            return f"There is no job {hello.job}."
        ours = "{}.{}".format(*sys.version_info)
        if hello.role == "driver" and hello.python != ours:
            return (
                f"This driver runs Python {hello.python}, but the head runs Python {ours}: functions cannot be "
                "exchanged between "
                f"the two. Start a head with this Python: {hello.prefix}/bin/python -m nbaccel start --head."
            )
        python = f"{hello.prefix}/bin/python"
        if hello.role == "driver" and hello.prefix != sys.prefix and not os.access(python, os.X_OK):
            return f"The workers of this driver would run {python}, which cannot be executed here."
        return ""

    def welcome_waiting(self) -> None:
        """Greet the waiting connections, because the node is known now."""
        waiting, self._waiting_for_node = self._waiting_for_node, []
        for peer in waiting:
            if not peer.closed:
                self._welcome(peer)

    def _welcome(self, peer: Peer) -> None:
        assert peer.hello is not None
        job = self._jobs.begin(peer, peer.hello) if peer.role == "driver" else None
        config = self._config
        welcome = wire.Welcome(
            peer.client_id,
            job.number if job else 0,
            os.getpid(),
            config.session,
            self._nodes.node_id,
            config.directory,
            job.namespace if job else "",
        )
        try:  # the arena's descriptor goes with the first bytes; an empty socket takes them whole
            socket.send_fds(peer.sock, [wire.frame([welcome])], [self._arena_fd])
        except OSError:
            pass  # the driver has gone; reading will show it
