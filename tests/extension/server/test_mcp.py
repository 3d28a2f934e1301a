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


def test_each_tool_is_found_by_its_name_and_described() -> None:
    for tool in mcp.TOOLS:
        module, _, name = tool.partition(":")
        function = getattr(import_module(module), name)
        assert inspect.iscoroutinefunction(function) and inspect.getdoc(function)
