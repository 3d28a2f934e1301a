"""A real head: started by the name of a kernelspec, listed, watched, recycled and ended through the server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.census import Place
from tests.extension.fake_head import until
from tests.extension.server.conftest import Fetch
from tests.extension.server.test_watch import Browser


@pytest.fixture
def at(place: Place, monkeypatch: pytest.MonkeyPatch, jp_environ: None) -> Place:
    """Heads that this process starts belong to the place; their files lie in the server's own runtime directory."""
    for name in ("NBACCEL_TEST_TOKEN", "TMPDIR", "NBACCEL_LEASE_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, place.environ[name])
    return place


async def test_a_head_is_started_watched_and_ended(
    at: Place, jp_ws_fetch: Fetch, get: Fetch, post: Fetch, watching: Any
) -> None:
    code, answer = await post("start", kernelspec="no-such-kernel")
    assert (code, answer["message"]) == (409, "There is no such kernelspec.")
    tab = Browser(await jp_ws_fetch("nbaccel", "api", "v1", "watch"))
    await tab.say(type="watch", runtimes=["*"])
    code, answer = await post("start", kernelspec="python3")
    assert code == 200, answer
    runtime = answer["runtime"]
    assert runtime["shared"] and runtime["title"] == "nbaccel start --head" and Path(f"/proc/{runtime['pid']}").exists()
    snapshot = (await tab.next("snapshot"))["snapshot"]
    assert snapshot["runtime"]["pid"] == runtime["pid"] and snapshot["nodes"][0]["is_head"]
    [listed] = (await get("runtimes"))[1]["runtimes"]
    assert listed["id"] == runtime["id"] and listed["state"] == "connected" and not listed["notebook"]
    id = runtime["id"]
    assert (await get("tasks", runtime=id))[1] == {"rows": [], "total": 0}
    assert (await get("why", runtime=id))[1] == {"explanations": []}
    assert (await get("logs", runtime=id))[0] == 200
    assert (await get("timeline", runtime=id))[1]["runs"]["whole"] is True
    assert await post("recycle", runtime=id) == (200, {"done": "recycle", "workers": 0})
    code, answer = await post("cancel", runtime=id, run_id="no-such-run")
    assert code == 409 and answer["message"]
    assert await post("shutdown", runtime=id) == (200, {"done": "shutdown"})
    assert (await tab.next("gone"))["runtime"] == id
    tab.close()
    await until(lambda: not os.path.exists(f"/proc/{runtime['pid']}"), "the head's end")
    assert (await get("runtimes"))[1] == {"runtimes": [], "ignored": []}
    await until(lambda: watching.rests, "the server to rest")
