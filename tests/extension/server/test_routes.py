"""Every address: who may use it, what it answers, and what it says when the head cannot."""

from __future__ import annotations

import asyncio
import json
import warnings
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from nbaccel_lab import api, app
from tornado.httpclient import HTTPClientError

from tests.extension.fake_head import SNAPSHOT, FakeHead, until
from tests.extension.server.conftest import Fetch, Nothing, ReadOnly, answer_of

ORDERS = {name for name, handler in api.HANDLERS.items() if "post" in vars(handler)}
LOOKS = set(api.HANDLERS) - ORDERS
PAGES = [("nbaccel/",), ("nbaccel", "metrics"), ("nbaccel", "static", "page.js"), ("nbaccel", "static", "cockpit.js")]


async def _code(fetching: Any) -> int:
    try:
        return int((await fetching).code)
    except HTTPClientError as error:
        return int(error.code)


async def _codes(jp_fetch: Fetch, **given: Any) -> dict[str, int]:
    """The status of each address of the API."""
    codes = {}
    for name in api.HANDLERS:
        body = {"method": "POST", "body": "{}"} if name in ORDERS else {}
        codes[name] = await _code(jp_fetch("nbaccel", "api", "v1", name, **body, **given))
    return codes


async def test_without_a_login_no_address_answers(jp_fetch: Fetch, jp_ws_fetch: Fetch) -> None:
    nobody = {"headers": {"Authorization": ""}}
    assert {"cancel", "delete_run", "note_run", "recycle", "retry", "shutdown", "start"} == ORDERS
    assert set((await _codes(jp_fetch, headers={"Authorization": ""})).values()) == {403}
    for parts in PAGES:
        assert await _code(jp_fetch(*parts, follow_redirects=False, headers={"Authorization": ""})) in (302, 403)
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("nbaccel", "api", "v1", "watch", **nobody)
    assert refused.value.code == 403


@pytest.mark.parametrize("jp_server_config", [{"authorizer_class": Nothing}], indirect=True)
async def test_without_permission_no_address_answers(jp_fetch: Fetch, jp_ws_fetch: Fetch) -> None:
    assert set((await _codes(jp_fetch)).values()) == {403}
    assert {await _code(jp_fetch(*parts)) for parts in PAGES} == {403}
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("nbaccel", "api", "v1", "watch")
    assert refused.value.code == 403


@pytest.mark.parametrize("jp_server_config", [{"authorizer_class": ReadOnly}], indirect=True)
async def test_who_may_only_look_cannot_cancel(
    jp_fetch: Fetch, jp_ws_fetch: Fetch, head: FakeHead, get: Fetch, post: Fetch
) -> None:
    assert (await get("tasks", runtime=head.session))[0] == 200
    codes = await _codes(jp_fetch)
    assert {name for name, code in codes.items() if code == 403} == ORDERS
    assert await post("cancel", runtime=head.session) == (
        403,
        {"message": "Your login on this Jupyter server may not change anything of nbaccel.", "reason": None},
    )
    assert (await get("version"))[1]["may_execute"] is False
    tab = await jp_ws_fetch("nbaccel", "api", "v1", "watch")
    assert json.loads(await tab.read_message())["may_execute"] is False
    tab.close()
    assert [asked["ask"] for asked in head.asked] == ["tasks"]


async def test_a_tab_of_a_program_may_have_the_servers_token_in_its_address(
    jp_ws_fetch: Fetch, jp_auth_header: dict[str, str]
) -> None:
    token = jp_auth_header["Authorization"].partition(" ")[2]
    tab = await jp_ws_fetch("nbaccel", "api", "v1", "watch", params={"token": token}, headers={"Authorization": ""})
    assert json.loads(await tab.read_message())["type"] == "hello"
    tab.close()


@pytest.mark.parametrize("jp_base_url", ["/a%40b/", "/user/ana.b%40c/"])  # the second one as JupyterHub gives them
async def test_a_login_by_cookie_needs_the_xsrf_token_to_change_something(
    jp_fetch: Fetch, jp_serverapp: Any, head: FakeHead
) -> None:
    page = await jp_fetch("nbaccel/")
    cookies = SimpleCookie()
    for line in page.headers.get_list("Set-Cookie"):
        cookies.load(line)
    login = "; ".join(f"{name}={morsel.value}" for name, morsel in cookies.items())
    xsrf = page.body.decode().partition('data-xsrf="')[2].partition('"')[0]
    assert "_xsrf" in cookies and len(cookies) == 2 and xsrf

    async def cancel(**headers: str) -> tuple[int, Any]:
        by_cookie = {"Authorization": "", "Cookie": login, **headers}
        body = json.dumps({"runtime": head.session, "task_id": "a1"})
        return await answer_of(jp_fetch("nbaccel", "api", "v1", "cancel", method="POST", body=body, headers=by_cookie))

    assert (await cancel())[0] == 403 and not head.asked
    assert (await cancel(**{"X-XSRFToken": "2|00000000|0000|0"}))[0] == 403 and not head.asked
    assert await cancel(**{"X-XSRFToken": xsrf}) == (200, {"done": "cancel"})


def test_every_address_says_who_may_reach_it(jp_configurable_serverapp: Any) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        server = jp_configurable_serverapp()
    assert "nbaccel_lab" in server.extension_manager.extension_apps
    assert not [str(each.message) for each in said if "nbaccel" in str(each.message)]


async def test_the_list_has_runtimes_without_their_secrets_and_ignored_files(head: FakeHead, get: Fetch) -> None:
    (head.file.parent / "nbaccel-bad.json").write_text("{")
    (head.file.parent / "nbaccel-bad.json").chmod(0o600)
    code, listed = await get("runtimes")
    assert code == 200
    [runtime] = listed["runtimes"]
    assert runtime["id"] == head.session and runtime["title"] == "notebook b.ipynb" and runtime["state"] == "found"
    assert listed["ignored"] == [{"file": "nbaccel-bad.json", "reason": "It is not JSON."}]
    assert head.record["token"] not in json.dumps(listed) and head.record["socket"] not in json.dumps(listed)


async def test_each_look_asks_the_head_and_gives_its_answer(head: FakeHead, get: Fetch) -> None:
    id = head.session
    assert (await get("tasks", runtime=id, state="failed", text="tr"))[1] == {
        "rows": [{"task_id": "a1", "name": "train"}], "total": 7,
    }  # fmt: skip
    assert (await get("why", runtime=id, task="a1"))[1]["explanations"][0]["sentence"] == "It waits."
    assert (await get("logs", runtime=id, task="a1", tail="5"))[1] == {"text": "hello\n"}
    assert (await get("timeline", runtime=id, start="1.5"))[1] == {"runs": {"seq": 3}}
    assert (await get("runs", runtime=id))[1] == {"runs": SNAPSHOT["published"]}
    assert head.asked == [
        {"ask": "tasks", "filter": {"states": ["failed"], "text": "tr", "cell": "", "limit": 200}},
        {"ask": "explain", "task_id": "a1"},
        {"ask": "logs", "task_id": "a1", "tail": 5},
        {"ask": "runs", "since": 0, "start": 1.5, "end": None},
        {"ask": "snapshot"},
    ]
    await until(lambda: head.open == 0, "the last connection's end")


async def test_of_a_long_log_the_end_is_given(head: FakeHead, get: Fetch) -> None:
    head.answers["logs"] = {"kind": "logs", "text": "beginning" + "x" * (api.MOST_LOG_CHARACTERS - 3) + "end"}
    text = (await get("logs", runtime=head.session, task="a1"))[1]["text"]
    assert len(text) == api.MOST_LOG_CHARACTERS == 65_536 and text.startswith("x") and text.endswith("xend")


async def test_each_order_reaches_the_head(head: FakeHead, post: Fetch) -> None:
    id = head.session
    assert await post("cancel", runtime=id, task_id="a1", force=True) == (200, {"done": "cancel"})
    assert await post("cancel", runtime=id, actor_id="b2") == (200, {"done": "cancel"})
    assert await post("cancel", runtime=id, run_id="r1") == (200, {"done": "cancel"})
    assert (await post("cancel", runtime=id, run_id="r1", before=1))[0] == 200
    assert (await post("cancel", runtime=id, run_id="r1", before=0, trial="t3"))[0] == 200
    assert await post("retry", runtime=id, task_id="a1") == (200, {"done": "retry"})
    assert await post("recycle", runtime=id) == (200, {"done": "recycle", "workers": 2})
    assert await post("shutdown", runtime=id) == (200, {"done": "shutdown"})
    assert head.asked == [
        {"ask": "cancel", "task_id": "a1", "force": True},
        {"ask": "kill", "actor_id": "b2"},
        {"ask": "ask_publisher", "id": "r1", "what": "stop"},
        {"ask": "ask_publisher", "id": "r1", "what": "stop 1"},
        {"ask": "ask_publisher", "id": "r1", "what": "stop-trial 0 t3"},
        {"ask": "retry", "task_id": "a1"},
        {"ask": "recycle"},
        {"ask": "stop"},
    ]


async def test_a_request_that_makes_no_sense_is_answered_with_a_sentence(
    head: FakeHead, get: Fetch, post: Fetch, jp_fetch: Fetch
) -> None:
    id = head.session
    for asked, code in [
        (get("tasks"), 400),
        (get("tasks", runtime=id, limit="many"), 400),
        (get("timeline", runtime=id, start="noon"), 400),
        (get("timeline", runtime=id, start="nan"), 400),
        (get("timeline", runtime=id, end="-inf"), 400),
        (get("tasks", runtime="../../etc/passwd"), 404),
        (get("logs", runtime=head.record["socket"]), 404),
        (post("cancel", runtime=id), 400),
        (post("retry", runtime=id), 400),
        (post("retry", runtime=id, task_id=7), 400),
        (post("cancel", runtime=id, task_id="a1", actor_id="b2"), 400),
        (post("cancel", runtime=id, task_id=["a1"]), 400),
        (post("cancel", runtime=[id], task_id="a1"), 400),
        (post("cancel", runtime=id, run_id="r1", before="now"), 400),
        (post("start", kernelspec=7), 400),
        (post("delete_run", run=""), 400),
        (get("stored", run=[str(number) for number in range(21)]), 400),
        (answer_of(jp_fetch("nbaccel", "api", "v1", "cancel", method="POST", body="[]")), 400),
    ]:
        given, answer = await asked
        assert given == code and answer["message"].endswith("."), answer
    assert not head.asked


async def test_a_head_that_refuses_is_quoted(head: FakeHead, post: Fetch) -> None:
    head.answers["cancel"] = {"kind": "error", "message": "There is no task <img src=x> at 100%s."}
    code, answer = await post("cancel", runtime=head.session, task_id="a1")
    assert (code, answer["message"]) == (409, "There is no task <img src=x> at 100%s.")


async def test_a_head_that_hangs_or_dies_under_a_request_is_unavailable(
    head: FakeHead, get: Fetch, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    head.answers["logs"] = "end"
    code, answer = await get("logs", runtime=head.session)
    assert code == 503 and "has ended" in answer["message"]
    head.answers["logs"] = b"\xff not JSON"
    code, answer = await get("logs", runtime=head.session)
    assert code == 503 and "something else than a line of JSON" in answer["message"]
    monkeypatch.setattr(watching.connections, "_timeout_s", 0.05)
    head.silent.add("logs")
    code, answer = await get("logs", runtime=head.session)
    assert code == 503 and "has not answered within 0.05 s" in answer["message"]
    head.close()
    code, answer = await get("tasks", runtime=head.session)
    assert code == 503 and "does not answer at its socket" in answer["message"]
    await until(lambda: len(watching.connections) == 0, "no connection to be kept")


async def test_a_head_of_another_version_is_listed_with_a_sentence(head: FakeHead, get: Fetch) -> None:
    head.record["protocol"] = 2
    head.write_file()
    [runtime] = (await get("runtimes"))[1]["runtimes"]
    assert runtime["state"] == "other_version" and "Update nbaccel-lab" in runtime["reason"]
    assert await get("tasks", runtime=head.session) == (503, {"message": runtime["reason"], "reason": None})
    assert head.connections == 0
    head.record["protocol"], head.protocol = 1, 3  # a file that does not tell the truth
    head.write_file()
    code, answer = await get("tasks", runtime=head.session)
    assert code == 503 and "speaks version 3" in answer["message"]


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A storage folder with two runs, as their drivers left it."""
    folder = tmp_path / "stored"
    for name, started, loss in (("first", 1.0, 0.5), ("second", 2.0, 0.25)):
        (folder / name).mkdir(parents=True)
        lines: list[dict[str, Any]] = [{"v": 1, "run": name, "config": {"lr": loss}, "started": started}]
        lines += [{"report": at, "time": started + at, "metrics": {"loss": loss + at}} for at in range(2)]
        lines += [{"end": "finished", "time": started + 9}]
        (folder / name / "run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    monkeypatch.setenv("NBACCEL_STORAGE", str(folder))
    return folder


async def test_stored_runs_are_listed_compared_and_deleted_while_no_head_runs(
    storage: Path, runtime_folder: Path, get: Fetch, post: Fetch
) -> None:
    code, answer = await get("stored")
    assert (code, answer["total"]) == (200, 2)
    assert [(run["name"], run["state"], run["curves"]) for run in answer["runs"]] == [
        ("second", "finished", []), ("first", "finished", []),
    ]  # fmt: skip
    compared = (await get("stored", kernelspec="python3", run=["first", "second"]))[1]["runs"]
    assert [(run["config"], run["curves"][0]["points"][1]) for run in compared] == [
        ({"lr": 0.5}, [1, 1.0, 1.5]), ({"lr": 0.25}, [1, 1.0, 1.25]),
    ]  # fmt: skip
    assert await get("stored", trials="first") == (200, {"runs": [], "total": 0})
    assert await post("note_run", run="first", text="--yes, é") == (200, {"done": "note_run"})
    assert [run["note"] for run in (await get("stored"))[1]["runs"]] == ["", "--yes, é"]
    for given in ({"run": "first"}, {"run": "first", "text": "x" * 4001}, {"run": 3, "text": "x"}):
        assert (await post("note_run", **given))[0] == 400
    for run, text in (("none", "x"), ("first", "\0"), ("first", "\ud800")):
        code, answer = await post("note_run", run=run, text=text)
        assert code == 409 and answer["message"].startswith("The note was not saved: ")
    assert await post("delete_run", run="first") == (200, {"done": "delete_run"})
    assert sorted(path.name for path in storage.iterdir()) == ["second"]
    for name in ("first", "../x", "-h"):
        code, answer = await post("delete_run", run=name)
        assert code == 409 and answer["message"].startswith("The run was not deleted: There is no run")
    assert await get("stored", kernelspec="no-such") == (
        409,
        {"message": "There is no such kernelspec.", "reason": None},
    )


async def test_the_page_and_its_files_come_from_this_server_alone(jp_fetch: Fetch, jp_base_url: str) -> None:
    page = await jp_fetch("nbaccel/")
    text = page.body.decode()
    assert f'src="{jp_base_url}nbaccel/static/page.js"' in text and f'data-base="{jp_base_url}"' in text
    assert "http" not in text.replace("http-equiv", "")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self' blob:" in policy and "connect-src 'self'" in policy
    for name in ("page.js", "page.css", "cockpit.js", "runs.js", "past.js", "stored.js"):
        file = await jp_fetch("nbaccel", "static", name)
        assert file.headers["X-Content-Type-Options"] == "nosniff" and file.body
    assert await _code(jp_fetch("nbaccel", "static", "passwd.js")) == 404


async def test_prometheus_reads_devices_runtimes_and_tasks(head: FakeHead, jp_fetch: Fetch, watching: Any) -> None:
    head.record["title"] = 'a "b" \\ c'
    head.write_file()
    other = await FakeHead(head.file.parent, "cd34", protocol=9).listen()
    try:
        metrics = await jp_fetch("nbaccel", "metrics", request_timeout=60)
    finally:
        other.close()
        other.remove()
    lines = metrics.body.decode().splitlines()
    assert metrics.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert r'nbaccel_runtime_up{runtime="ab12",title="a \"b\" \\ c"} 1' in lines
    assert 'nbaccel_runtime_up{runtime="cd34",title="notebook b.ipynb"} 0' in lines
    assert 'nbaccel_tasks{runtime="ab12",state="RUNNING"} 2' in lines
    assert 'nbaccel_device_held_ratio{runtime="ab12",resource="GPU",device="0"} 0.75' in lines
    assert not watching.sampler.runs


async def test_prometheus_reads_what_is_served(jp_fetch: Fetch, head: FakeHead) -> None:
    record = {
        "name": "sd", "statuses": {"200": 7, "500": 1}, "under_way": 2, "p95_s": 0.25,
        "deployments": [
            {"name": "Model", "wanted": 3, "more": 1, "replicas": [{"state": "RUNNING"}, {"state": "STARTING"}]},
        ],
    }  # fmt: skip
    served = {**SNAPSHOT, "published": [{"kind": "application", "id": "served-1", "record": record}]}
    head.answers["snapshot"] = {"kind": "snapshot", "snapshot": served}
    lines = (await jp_fetch("nbaccel", "metrics", request_timeout=60)).body.decode().splitlines()
    of = 'runtime="ab12",application="sd"'
    assert f'nbaccel_serve_requests_total{{{of},status="500"}} 1' in lines
    assert "# TYPE nbaccel_serve_requests_total counter" in lines
    assert f'nbaccel_serve_replicas{{{of},deployment="Model"}} 2' in lines
    assert f"nbaccel_serve_requests_under_way{{{of}}} 2" in lines
    assert f"nbaccel_serve_p95_seconds{{{of}}} 0.25" in lines
    assert not any(line.startswith("nbaccel_serve_p50") for line in lines)


async def test_devices_are_read_by_a_sampler_that_ends_with_the_answer(get: Fetch, watching: Any) -> None:
    both = await asyncio.gather(get("devices"), get("devices"))
    for code, answer in both:
        assert code == 200 and answer["machine"]["host"]["cpus"] > 0
        assert answer["machine"]["devices"] or answer["machine"]["reason"]
    assert not watching.sampler.runs and watching.rests


def test_the_extension_has_no_address_that_is_not_tested_here() -> None:
    assert {"version", "runtimes", "devices", "tasks", "why", "logs", "timeline", "runs", "stored"} == LOOKS
    assert app.API == "nbaccel/api/v1"
