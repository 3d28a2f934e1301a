"""How much memory may be taken for later, read from files as Linux writes them, and whose turn it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbaccel.local_engine.head.objects.page_keeper import MachineMemory

KIB_OF_A_MACHINE = "MemTotal:       10000 kB\nMemFree:          500 kB\nMemAvailable:    {} kB\n"
CALM = "some avg10=0.20 avg60=9.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


def machine(root: Path, **files: str) -> MachineMemory:
    names = {
        "meminfo": "proc/meminfo",
        "pressure": "proc/pressure/memory",
        "most": "sys/fs/cgroup/memory.max",
        "now": "sys/fs/cgroup/memory.current",
        "stat": "sys/fs/cgroup/memory.stat",
    }
    for name, text in files.items():
        path = root / names[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return MachineMemory(root)


def test_a_tenth_of_the_machines_memory_is_left_to_others(tmp_path: Path) -> None:
    assert machine(tmp_path, meminfo=KIB_OF_A_MACHINE.format(4000), pressure=CALM).room_bytes() == 3000 * 1024


def test_a_machine_with_less_than_a_tenth_has_none_to_give(tmp_path: Path) -> None:
    assert machine(tmp_path, meminfo=KIB_OF_A_MACHINE.format(900)).room_bytes() < 0


def test_processes_that_wait_for_memory_are_a_sign_that_it_is_short(tmp_path: Path) -> None:
    pressed = CALM.replace("avg10=0.20", "avg10=12.00")
    assert machine(tmp_path, meminfo=KIB_OF_A_MACHINE.format(9000), pressure=pressed).room_bytes() == 0


def test_a_container_may_have_less_than_its_machine(tmp_path: Path) -> None:
    memory = machine(
        tmp_path, meminfo=KIB_OF_A_MACHINE.format(9000), most="1000000\n", now="700000\n", stat="inactive_file 100000\n"
    )
    assert memory.room_bytes() == 300_000


def test_a_container_without_a_limit_has_what_its_machine_has(tmp_path: Path) -> None:
    memory = machine(tmp_path, meminfo=KIB_OF_A_MACHINE.format(4000), most="max\n", now="700000\n")
    assert memory.room_bytes() == 3000 * 1024


def test_a_system_that_says_nothing_has_none_to_give(tmp_path: Path) -> None:
    assert machine(tmp_path).room_bytes() == 0


def test_one_head_at_a_time_has_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    first, second = MachineMemory(), MachineMemory()
    assert first.take_turn() and first.take_turn() and not second.take_turn()
    first.end_turn()
    assert second.take_turn() and not first.take_turn()
    second.end_turn()
    assert list(tmp_path.iterdir()) == []


def test_where_no_directory_is_nobody_has_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "is" / "not there"))
    assert not MachineMemory().take_turn()
