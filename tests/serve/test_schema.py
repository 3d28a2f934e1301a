"""What is served, as a card in text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbaccel import serve
from nbaccel.serve import schema
from nbaccel.serve.schema import (
    ApplicationStatus,
    ApplicationStatusOverview,
    DeploymentStatus,
    DeploymentStatusOverview,
    ServeStatus,
)
from tests.serve.conftest import Answer

Door = Callable[..., Answer]


def row(**facts: Any) -> dict[str, Any]:
    return {"state": "RUNNING", "device_ids": {"GPU": ["0"], "TPU": []}, "blocked": "", "fallback": "", **facts}


def test_a_card_has_the_url_curl_devices_requests_and_the_last_error() -> None:
    model = DeploymentStatusOverview(
        DeploymentStatus.UPDATING,
        "",
        {},
        "waits for half a GPU",
        [row(), row(blocked="stack", device_ids={}), row(state="STARTING")],
        {"time": 0.0, "type": "ValueError", "message": "<b>\nmore"},
        wanted=3,
    )
    counts = {"requests": 41, "per_s": 12.34, "p50_s": 0.048, "p95_s": None, "failed": 2}
    app = ApplicationStatusOverview(
        ApplicationStatus.RUNNING, "", 0.0, {"Model": model}, "/x", counts, queued=3, asks_token=True
    )
    lines = schema.text(ServeStatus({}, {"sd": app}, "http://h:1")).splitlines()
    assert lines[:4] == [
        "sd  RUNNING  http://h:1/x",
        "  curl -s http://h:1/x -H 'Authorization: Bearer …'",
        "  Model  2 replicas of 3  GPU 0 · CPU (blocked)",
        "    waits for half a GPU",
    ]
    assert lines[4].endswith("ValueError: <b>")
    assert lines[5] == "  41 requests  12.3/s  p50 ≤ 48 ms  queue 3  2 failed"
    assert "<b>" not in schema.as_html(ServeStatus({}, {"sd": app}))
    assert schema.text(ServeStatus(), "x") == "nbaccel.serve: nothing is served as x."


def test_a_handle_shows_the_card_of_its_application_and_no_token(door: Door) -> None:
    @serve.deployment
    def hello() -> str:
        return "hello"

    handle = serve.run(hello.bind(), token=True)
    door("/", authorization=f"Bearer {serve.token_of()}")
    shown = handle._repr_html_()
    assert "1 requests" in shown and "curl -s" in shown
    assert str(serve.token_of()) not in shown + str(serve.status()) + repr(handle)
