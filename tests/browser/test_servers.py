"""The servers of the browser tests run side by side."""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from pathlib import Path

import pytest

pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")

from tests.browser.servers import Server

PORT_OF_MCP = 3001  # where jupyter_server_mcp listens, whichever server has it


def test_a_server_lives_though_another_one_has_the_port_of_mcp(tmp_path: Path) -> None:
    with closing(socket.socket()) as other:
        with suppress(OSError):  # another server has it indeed
            other.bind(("127.0.0.1", PORT_OF_MCP))
            other.listen()
        server = Server(tmp_path / "server")
        try:
            assert "MCP" not in server.file("server.log").read_text()
            assert "runs" in server.told()
        finally:
            server.close()
