"""The tools of coding assistants look as any reader does, and cancel only where the configuration lets them."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest
from nbaccel_lab import mcp

from tests.extension.fake_head import FakeHead
from tests.extension.server.conftest import Nothing, ReadOnly


async def test_the_tools_look_at_heads_and_cancel_only_if_they_may(head: FakeHead, jp_serverapp: Any) -> None:
    id = head.session
    seen = await mcp.accel_devices()
    assert [each["id"] for each in seen["runtimes"]] == [id] and seen["machine"]["host"]["cpus"]
    assert (await mcp.accel_tasks(id))["total"] == 7
    assert await mcp.accel_why(id, "a1") == ["It waits."]
    assert await mcp.accel_log(id) == "hello\n"
    with pytest.raises(mcp.NotAllowed, match="assistants_may_cancel = True"):
        await mcp.accel_cancel(id, "a1")
    with pytest.raises(mcp.HeadUnavailable, match="no such runtime"):
        await mcp.accel_log("nobody")
    assert [asked["ask"] for asked in head.asked] == ["tasks", "explain", "logs"]
    [extension] = jp_serverapp.extension_manager.extension_apps["nbaccel_lab"]
    extension.assistants_may_cancel = True
    assert await mcp.accel_cancel(id, "a1") == "Cancelled a1."


@pytest.mark.parametrize("jp_server_config", [{"authorizer_class": ReadOnly}], indirect=True)
async def test_the_authorizer_counts_too(head: FakeHead, jp_serverapp: Any) -> None:
    [extension] = jp_serverapp.extension_manager.extension_apps["nbaccel_lab"]
    extension.assistants_may_cancel = True
    assert await mcp.accel_log(head.session) == "hello\n"
    with pytest.raises(mcp.NotAllowed, match="does not let nbaccel-assistant execute nbaccel"):
        await mcp.accel_cancel(head.session, "a1")


@pytest.mark.parametrize("jp_server_config", [{"authorizer_class": Nothing}], indirect=True)
async def test_without_permission_the_tools_see_nothing(head: FakeHead) -> None:
    with pytest.raises(mcp.NotAllowed):
        await mcp.accel_devices()


async def test_jupyter_server_mcp_finds_the_tools_and_calls_them(head: FakeHead, jp_serverapp: Any) -> None:
    server_mcp = pytest.importorskip("jupyter_server_mcp.extension", reason="jupyter_server_mcp is not installed")
    from fastmcp import Client
    from jupyter_server_mcp.mcp_server import MCPServer

    app = server_mcp.MCPExtensionApp()
    found = app._discover_entrypoint_tools()
    assert set(mcp.TOOLS) <= set(found)
    app.mcp_server_instance = MCPServer(parent=app, name="tests")
    app._register_tools(mcp.TOOLS)
    async with Client(app.mcp_server_instance.mcp) as client:
        offered = {tool.name: tool for tool in await client.list_tools()}
        assert "why a task" in offered["accel_why"].description
        said = await client.call_tool("accel_tasks", {"runtime": head.session, "text": "train"})
        assert said.data["total"] == 7
        with pytest.raises(Exception, match="assistants_may_cancel = True"):
            await client.call_tool("accel_cancel", {"runtime": head.session, "task": "a1"})
    assert head.asked[0]["filter"]["text"] == "train"


def test_each_tool_is_found_by_its_name_and_described() -> None:
    for tool in mcp.TOOLS:
        module, _, name = tool.partition(":")
        function = getattr(import_module(module), name)
        assert inspect.iscoroutinefunction(function) and inspect.getdoc(function)
