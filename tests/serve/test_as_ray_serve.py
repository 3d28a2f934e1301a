"""The same programs on Ray Serve and here give the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbaccel import serve
from tests.census import Place
from tests.serve.longer_programs_of_ray import LONGER_PROGRAMS
from tests.serve.more_programs_of_ray import MORE_PROGRAMS
from tests.serve.programs_of_ray import PROGRAMS, asking

SHORT = [*PROGRAMS, *MORE_PROGRAMS]
PROGRAM = """
import json, os, sys
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import nbaccel
from ray import serve
from tests.serve.test_as_ray_serve import LONGER_PROGRAMS, SHORT, run
nbaccel.init(engine="ray", num_cpus=12, log_to_driver=False)  # starts Ray again if the machine is too busy for it
serve.start(http_options={"port": PORT})
found = run(CHOSEN, serve, "http://127.0.0.1:PORT")
serve.shutdown()
nbaccel.shutdown()
print("FOUND" + json.dumps(found))
"""


def run(programs: list[Any], serve: Any, url: str) -> dict[str, Any]:
    """The next program's application takes the place of the one before, since on Ray an end costs three seconds. What
    has a name of its own ends: on Ray each replica holds a CPU.
    """
    found: dict[str, Any] = {}
    for program in programs:
        try:
            found[program.__name__] = program(serve, asking(url))
        except Exception as error:
            found[program.__name__] = f"raised {error!r}"[:500]
        for name in set(serve.status().applications) - {"default", "model"}:
            serve.delete(name)
    return found


def here(programs: list[Any]) -> dict[str, Any]:
    serve.start()
    return run(programs, serve, serve.status().url)


@pytest.mark.extra("fastapi")
def test_the_programs_run_here(door: Any) -> None:
    found = here(SHORT)
    assert found["handles"] == [6, 3, 5, 9, 12, 12]
    assert found["errors_of_calls"] == ["KeyError", "TypeError", "TypeError", "RayServeException", "RayServeException"]
    assert found["wrong_uses"] == [
        "TypeError", "RuntimeError", "ValueError", "ValueError", "TypeError", "ValueError", "ValueError",
        "RayServeException",
    ]  # fmt: skip


@pytest.mark.extra("fastapi")
def test_the_longer_programs_run_here(door: Any) -> None:
    found = here(LONGER_PROGRAMS)
    assert found["a_graph"] == [(200, "hi|hi!"), ["Graph", "Joined", "Model", "Second", "clean"]]
    assert found["several_applications"][:4] == [(200, "a"), (200, "b"), (200, "hidden"), 404]
    assert found["models_of_a_handle"][1] == ["a", "b", "c", "b"]


@pytest.mark.ray
@pytest.mark.real
@pytest.mark.timeout(900)
@pytest.mark.parametrize("chosen", ["SHORT", "LONGER_PROGRAMS"])
def test_the_programs_give_what_they_give_on_ray_serve(door: Any, place: Place, chosen: str) -> None:
    pytest.importorskip("grpc_reflection", reason="pip install 'ray[serve]'")
    from tests.ports import free_port

    program = place.start(PROGRAM.replace("PORT", str(free_port())).replace("CHOSEN", chosen))
    out, errors = program.communicate(timeout=800)  # each of its runs takes five seconds
    line = next((line for line in out.splitlines() if line.startswith("FOUND")), None)
    assert line is not None, errors[-5000:]
    rays, ours = json.loads(line.removeprefix("FOUND")), json.loads(json.dumps(here(globals()[chosen])))
    assert {name: (rays[name], ours[name]) for name in rays if rays[name] != ours[name]} == {}
