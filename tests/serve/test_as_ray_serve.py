"""The same programs on Ray Serve and here give the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbaccel import serve
from tests.census import Place
from tests.serve.more_programs_of_ray import MORE_PROGRAMS
from tests.serve.programs_of_ray import PROGRAMS, asking

PROGRAM = """
import json, os, sys
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import nbaccel
from ray import serve
from tests.serve.more_programs_of_ray import MORE_PROGRAMS
from tests.serve.programs_of_ray import PROGRAMS, asking
nbaccel.init(engine="ray", num_cpus=12, log_to_driver=False)  # starts Ray again if the machine is too busy for it
serve.start(http_options={"port": PORT})
found = {}
for program in [*PROGRAMS, *MORE_PROGRAMS]:
    try:
        found[program.__name__] = program(serve, asking("http://127.0.0.1:PORT"))
    except Exception as error:
        found[program.__name__] = f"raised {error!r}"[:500]
serve.shutdown()
nbaccel.shutdown()
print("FOUND" + json.dumps(found))
"""


def here(door: Any) -> dict[str, Any]:
    """The next program's application takes the place of the one before, as on Ray, where an end costs three seconds."""
    serve.start()
    return {program.__name__: program(serve, asking(serve.status().url)) for program in [*PROGRAMS, *MORE_PROGRAMS]}


@pytest.mark.extra("fastapi")
def test_the_programs_run_here(door: Any) -> None:
    found = here(door)
    assert found["handles"] == [6, 3, 5, 9, 12, 12]
    assert found["errors_of_calls"] == ["KeyError", "TypeError", "TypeError", "RayServeException", "RayServeException"]
    assert found["wrong_uses"] == [
        "TypeError", "RuntimeError", "ValueError", "ValueError", "TypeError", "ValueError", "ValueError",
        "RayServeException",
    ]  # fmt: skip


@pytest.mark.ray
@pytest.mark.real
@pytest.mark.timeout(600)
def test_the_programs_give_what_they_give_on_ray_serve(door: Any, place: Place) -> None:
    pytest.importorskip("grpc_reflection", reason="pip install 'ray[serve]'")
    from tests.ports import free_port

    program = place.start(PROGRAM.replace("PORT", str(free_port())))
    out, errors = program.communicate(timeout=500)  # each of its runs takes five seconds
    line = next((line for line in out.splitlines() if line.startswith("FOUND")), None)
    assert line is not None, errors[-5000:]
    rays, ours = json.loads(line.removeprefix("FOUND")), json.loads(json.dumps(here(door)))
    assert {name: (rays[name], ours[name]) for name in rays if rays[name] != ours[name]} == {}
