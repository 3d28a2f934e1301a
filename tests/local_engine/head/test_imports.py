"""What a start does not load: each driver and head would wait for it, and hold it in memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("_hashlib", "_ssl", "asyncio", "bz2", "lzma", "numpy", "pathlib", "rich", "shutil", "tempfile", "urllib")
HEAD = "from nbaccel.local_engine.head import boot, loop"
DRIVER = "from nbaccel import api, starting\nfrom nbaccel.local_engine.driver import engine, launch"
ZYGOTE = "from nbaccel import api, runtime_context\nfrom nbaccel.local_engine.worker import main"
# What only some of them need, and the most modules of ours: a new one takes a third of a millisecond of each start.
LOADED = {
    HEAD: ((*HEAVY, "hashlib", "subprocess", "nbaccel.api", "nbaccel.local_engine.worker.main"), 210),
    DRIVER: ((*HEAVY, "json", "nbaccel.accelerators", "nbaccel.views.tables", "nbaccel.package_environments"), 101),
    ZYGOTE: ((*HEAVY, "subprocess", "nbaccel.accelerators", "nbaccel.views.tables"), 114),
}
FIRST = (
    "from nbaccel import starting\nfrom nbaccel.local_engine.driver import launch"  # before the head's process starts
)


def loaded_by(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, timeout=240
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize("code", LOADED, ids=("head", "driver", "zygote"))
def test_a_process_loads_neither_what_others_need_nor_more_than_it_did(code: str) -> None:
    not_needed, most = LOADED[code]
    loaded = loaded_by(code)
    assert [name for name in not_needed if name in loaded] == []
    ours = sorted(name for name in loaded if name.startswith("nbaccel"))
    assert len(ours) <= most, ours


def test_before_the_heads_process_starts_its_driver_loads_next_to_nothing() -> None:
    loaded = loaded_by(FIRST)
    assert "msgspec" not in loaded
    assert len([name for name in loaded if name.startswith("nbaccel")]) <= 15


def test_records_on_the_way_of_a_start_are_structs() -> None:
    """A dataclass takes a millisecond to make, a struct twenty microseconds."""
    count = (
        "import dataclasses\nmade = []\nmake = dataclasses._process_class\n"
        "def counted(cls, *rest, **given):\n    made.append(cls.__name__)\n    return make(cls, *rest, **given)\n"
        "dataclasses._process_class = counted\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{count}{HEAD}\n{DRIVER}\nprint(*sorted(set(made)))"],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.stdout.split() == ["CodeFacts"], done  # a class of the Ray engine's derives from it
