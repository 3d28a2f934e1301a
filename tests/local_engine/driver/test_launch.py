"""How a head's process begins: what it is given, and what nobody else gets to see."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import numpy
import pytest

import nbaccel
from nbaccel import proc
from nbaccel.handles.options import init_options
from nbaccel.local_engine.driver import launch
from nbaccel.local_engine.head import boot
from tests.census import Place
from tests.local_engine import misbehaving, programs
from tests.rig import wait_until


def test_the_token_is_on_no_command_line(own_head: Place) -> None:
    config = launch.configure(init_options(), shared=False)
    process = launch.start(config, [])
    try:
        command = Path(f"/proc/{process.pid}/cmdline")
        wait_until(command.read_bytes, "the program's begin")
        line = command.read_bytes()
        assert b"nbaccel" in line
        assert config.token.encode() not in line
    finally:
        launch.discard(process, config)


def test_a_head_that_ends_before_it_reads_is_no_error_of_its_start(own_head: Place) -> None:
    config = launch.configure(init_options(), shared=False)
    config.options = {"resources": {"x" * 200_000: 1}}  # more than a pipe takes at once
    process = launch.start(config, [])
    launch.discard(process, config)


def test_the_size_of_an_arena_is_sealed() -> None:
    arena = boot.make_arena(8192)
    try:
        for size in (0, 4096, 16384):
            with pytest.raises(PermissionError):
                os.ftruncate(arena, size)
        with pytest.raises(PermissionError):
            fcntl.fcntl(arena, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        assert os.pwrite(arena, b"x", 8191) == 1
    finally:
        os.close(arena)


def test_a_task_cannot_take_the_arena_from_under_the_others(cluster: Place) -> None:
    ref = nbaccel.put(numpy.ones(1_000_000, dtype=numpy.uint8))
    with pytest.raises(PermissionError):
        nbaccel.get(misbehaving.shorten_the_arena.remote())
    assert int(nbaccel.get(ref).sum()) == 1_000_000


def test_a_start_that_fails_leaves_no_process_no_file_and_no_descriptor(place: Place) -> None:
    done = place.run(programs.FAILED_STARTS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["RuntimeError", "TypeError", "ValueError", "the same descriptors", "5"]
    assert place.left() == {}


def test_the_process_of_a_head_ends_with_a_driver_that_never_configures_it(place: Place) -> None:
    done = place.run(programs.KILLED_BEFORE_ITS_OPTIONS)
    pid = int(done.stdout)
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or proc.stat(pid).has_ended, "the end of the head's process")


def test_a_head_that_cannot_be_imported_says_why(place: Place) -> None:
    """Its log is in a directory that it does not know yet."""
    done = place.run(programs.BROKEN_HEAD)
    assert "No module named 'msgspec'" in done.stdout, done


def test_a_program_whose_tasks_ask_for_no_device_loads_no_vendor(place: Place) -> None:
    done = place.run(programs.NO_DEVICE)
    assert (done.stdout, done.stderr) == ("1\n[]\n", "")


def test_the_head_starts_before_its_driver_has_imported_what_it_needs(place: Place) -> None:
    done = place.run(programs.EARLY_HEAD)
    assert (done.stdout, done.stderr) == ("[]\nTrue\n", "")
