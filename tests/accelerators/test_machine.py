"""The real machine behind the seam."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbaccel.accelerators import RealMachine
from nbaccel.accelerators.machine import natural_order
from tests.accelerators.machines import MadeMachine
from tests.rig import DEADLINE_S


def test_paths_are_named_as_the_machine_names_them(machine: MadeMachine) -> None:
    for number in (10, 2, 1):
        machine.file(f"/dev/card{number}", number)
    assert machine.list_path("/dev/card*") == ["/dev/card1", "/dev/card2", "/dev/card10"]
    assert machine.read("/dev/card10") == "10"
    machine.link("/sys/link", "/dev/card2")
    assert machine.resolve("/sys/link") == "/dev/card2"


def test_the_default_root_is_this_computer() -> None:
    machine = RealMachine()
    assert "/proc/self" in machine.list_path("/proc/sel[f]")
    assert machine.read("/proc/self/comm")
    assert machine.resolve("/proc/self/..") == "/proc"


def test_what_cannot_be_read_is_none(machine: MadeMachine) -> None:
    machine.folder("/dev/folder")
    assert (machine.read("/nothing"), machine.read("/dev/folder")) == (None, None)
    assert not machine.exists("/nothing")
    assert not machine.may_open("/nothing")


def test_bytes_that_are_no_text_are_read_all_the_same(machine: MadeMachine) -> None:
    machine.file("/sys/odd")
    (machine.tree / "sys/odd").write_bytes(b"\xff\xfe")
    assert machine.read("/sys/odd") == "\ufffd\ufffd"


def test_programs_are_found_on_the_machines_own_path(machine: MadeMachine) -> None:
    machine.tool("tool", "echo out; echo err >&2; exit 7")
    answer = machine.run(["tool"], DEADLINE_S)
    assert (answer.stdout, answer.stderr, answer.returncode) == ("out\n", "err\n", 7)
    assert answer.complaint() == "err (exit status 7)"
    machine.variables["PATH"] = ""
    assert (
        machine.run(["tool"], DEADLINE_S).complaint() == "tool cannot be run: no such program on PATH (it did not end)"
    )


def test_a_program_that_is_no_program_is_told(machine: MadeMachine) -> None:
    machine.tool("broken", "")
    (machine.bin / "broken").write_text("\x00\x01")
    assert "cannot be run" in machine.run(["broken"], DEADLINE_S).stderr


def test_numbers_in_names_are_ordered_as_numbers() -> None:
    names = ["card10", "card2-eDP", "card2", "a", "10", "9"]
    assert sorted(names, key=natural_order) == ["9", "10", "a", "card2", "card2-eDP", "card10"]


@pytest.fixture
def metadata() -> Iterator[str]:
    """A metadata server that asks for its header, like the cloud's."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/type" and self.headers["Metadata-Flavor"] == "Google"
            self.send_response(200 if known else 403)
            self.end_headers()
            self.wfile.write(b"v4-8\n")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_metadata_server_is_asked_with_its_header_and_a_refusal_is_none(metadata: str, tmp_path: Path) -> None:
    machine = RealMachine(str(tmp_path), {})
    assert machine.fetch(f"{metadata}/type", {"Metadata-Flavor": "Google"}, DEADLINE_S) == "v4-8"
    assert machine.fetch(f"{metadata}/type", {}, DEADLINE_S) is None
    assert machine.fetch("http://127.0.0.1:9/type", {}, DEADLINE_S) is None
