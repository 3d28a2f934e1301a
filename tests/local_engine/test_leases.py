"""Leases on devices: who gets how much beside whom, dead holders, hostile directories."""

import fcntl
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from nbaccel.local_engine import leases as leases_module
from nbaccel.local_engine.leases import Leases, default_directory

GPU = "GPU-4f2c1a6e-0000-1111-2222-333344445555"


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "leases"


@pytest.fixture
def first(directory):
    return Leases(directory, "notebook a.ipynb")


@pytest.fixture
def second(directory):
    return Leases(directory, "notebook b.ipynb")


def record_file(directory):
    return directory / f"{GPU}.lease"


def holder_in_another_process(directory, amount=10_000):
    """A process that took a lease and waits; its stdin's end ends it."""
    code = (
        "import sys; from nbaccel.local_engine.leases import Leases\n"
        f"leases = Leases({str(directory)!r}, 'notebook other.ipynb'); leases.take({GPU!r}, {amount})\n"
        "print('taken', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"taken\n"
    return process


def end(process):
    process.kill()
    process.communicate()


def test_a_device_that_is_held_names_its_holder(first, second):
    assert first.take(GPU, 10_000) is None
    held = second.take(GPU, 1)
    assert str(held) == f"notebook a.ipynb, pid {os.getpid()}"
    assert (held.amount, second.held_by_others(GPU)) == (10_000, [held])
    assert first.held_by_others(GPU) == []


def test_fractions_of_two_heads_share_a_device_until_it_is_full(first, second):
    assert first.take(GPU, 4_000) is None
    assert second.take(GPU, 6_000) is None
    assert first.take(GPU, 1).title == "notebook b.ipynb"
    second.release(GPU, 1_000)
    assert first.take(GPU, 1_000) is None
    assert [holder.amount for holder in second.held_by_others(GPU)] == [5_000]


def test_a_refusal_names_the_one_who_holds_most(directory, first, second):
    first.take(GPU, 3_000)
    second.take(GPU, 6_000)
    assert Leases(directory, "c").take(GPU, 5_000).title == "notebook b.ipynb"


def test_a_lease_given_back_leaves_no_file(directory, first, second):
    first.take(GPU, 2_500)
    first.take(GPU, 2_500)
    first.release(GPU, 2_500)
    assert [holder.amount for holder in second.held_by_others(GPU)] == [2_500]
    first.release_all()
    assert list(directory.iterdir()) == []
    assert second.take(GPU, 10_000) is None


def test_asking_who_holds_a_device_makes_no_file(directory, first):
    assert first.held_by_others(GPU) == []
    assert list(directory.iterdir()) == []


def test_more_than_a_device_and_less_than_nothing_are_refused(first):
    first.take(GPU, 6_000)
    with pytest.raises(ValueError, match="11000"):
        first.take(GPU, 5_000)
    with pytest.raises(ValueError, match="only 6000"):
        first.release(GPU, 7_000)


def test_a_lease_lives_as_long_as_its_process(directory, first):
    process = holder_in_another_process(directory)
    try:
        assert first.take(GPU, 1).pid == process.pid
    finally:
        end(process)
    assert first.held_by_others(GPU) == []
    assert first.take(GPU, 10_000) is None


def test_a_dead_holder_that_nobody_has_reaped_yet_holds_nothing(directory, first):
    process = holder_in_another_process(directory)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert first.take(GPU, 10_000) is None
    finally:
        end(process)


@pytest.mark.parametrize(("field", "value"), [("started", 1), ("boot_id", "another boot"), ("pid", 2**22 + 1)])
def test_a_record_of_an_earlier_process_of_the_same_pid_is_dropped(directory, first, second, field, value):
    first.take(GPU, 10_000)
    record = json.loads(record_file(directory).read_text())
    record["holders"][0][field] = value
    record_file(directory).write_text(json.dumps(record))
    assert second.take(GPU, 10_000) is None
    assert len(json.loads(record_file(directory).read_text())["holders"]) == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"[1, 2]", b'{"holders": 3}', b'{"holders": [{"pid": 1}]}', b"[" * 50_000, b"\0" * 100_000,
     b'{"holders": [{"pid": -1, "started": 1, "boot_id": "", "token": "", "title": "", "amount": 5, "since": 1}]}'],
)  # fmt: skip
def test_a_malformed_record_counts_as_empty_and_is_written_anew(directory, first, second, content):
    record_file(directory).write_bytes(content)
    assert first.take(GPU, 10_000) is None
    assert second.take(GPU, 10_000).title == "notebook a.ipynb"


@pytest.mark.parametrize(
    "number", ["Infinity", "-Infinity", "NaN", "1e400", "1e99", "-1", "10" * 40, "true", "[]", '"1"']
)
@pytest.mark.parametrize("field", ["pid", "started", "amount", "since", "owner_pid"])
def test_no_number_in_a_record_stops_a_head(directory, first, second, field, number):
    holder = {
        "pid": "1",
        "started": "5",
        "boot_id": '"b"',
        "token": '"t"',
        "title": '"t"',
        "amount": "10",
        "since": "1",
    }
    fields = ", ".join(f'"{name}": {value}' for name, value in {**holder, field: number}.items())
    record_file(directory).write_text(f'{{"holders": [{{{fields}}}]}}\n')
    assert first.held_by_others(GPU) == []
    assert first.take(GPU, 10_000) is None
    assert second.take(GPU, 10_000).title == "notebook a.ipynb"
    first.release(GPU, 10_000)
    assert second.take(GPU, 10_000) is None


def test_rubbish_behind_the_record_is_ignored(directory, first, second):
    first.take(GPU, 5_000)
    with record_file(directory).open("ab") as file:
        file.write(b'": 1}]}')
    assert [holder.amount for holder in second.held_by_others(GPU)] == [5_000]


def test_a_title_cannot_carry_terminal_escapes(directory, second):
    Leases(directory, "note\x1b[31mbook\n").take(GPU, 10_000)
    assert second.take(GPU, 1).title == "note[31mbook"


def test_a_link_in_the_place_of_a_record_is_not_followed(directory, first, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    record_file(directory).symlink_to(victim)
    assert first.take(GPU, 10_000) is None
    assert victim.read_text() == "precious"
    assert "another head on this machine may give out the same device" in first.problem


def test_a_second_name_of_a_file_in_the_place_of_a_record_is_not_written(directory, first, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    record_file(directory).hardlink_to(victim)
    assert first.take(GPU, 10_000) is None
    assert (victim.read_text(), "not a plain file" in first.problem) == ("precious", True)


def test_a_pipe_in_the_place_of_a_record_does_not_hang_the_head(directory, first):
    os.mkfifo(record_file(directory))
    assert first.take(GPU, 10_000) is None
    assert first.problem


def test_a_directory_that_cannot_be_made_is_a_problem_told_in_words_and_no_crash(tmp_path):
    (tmp_path / "file").write_text("")
    leases = Leases(tmp_path / "file" / "leases", "a")
    assert leases.take(GPU, 10_000) is None
    leases.release_all()
    assert "NBACCEL_LEASE_DIR" in leases.problem


def test_a_record_that_stays_locked_is_busy_and_nothing_waits_for_ever(directory, first, second):
    first.take(GPU, 4_000)
    with record_file(directory).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert str(second.take(GPU, 1_000)) == "a process that keeps its lease record locked"
        assert second.held_by_others(GPU) == []
        first.release(GPU, 4_000)
    assert second.take(GPU, 10_000).title == "notebook a.ipynb"
    first.held_by_others(GPU)
    assert second.take(GPU, 10_000) is None


def test_everyone_may_use_the_directory_and_nobody_anothers_file_in_a_wrong_way(directory, first):
    before = os.umask(0o077)
    try:
        first.take(GPU, 10_000)
        other = Leases(directory.parent / "other", "b")
    finally:
        os.umask(before)
    assert stat.S_IMODE(other.directory.stat().st_mode) == 0o1777
    assert stat.S_IMODE(record_file(directory).stat().st_mode) == 0o666


@pytest.fixture
def directory_for_all():
    """Not under tmp_path, whose parents only their owner may enter."""
    with tempfile.TemporaryDirectory() as parent:
        os.chmod(parent, 0o755)
        yield Path(parent) / "leases"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_two_users_share_a_device(directory_for_all):
    ours = Leases(directory_for_all, "notebook a.ipynb")
    ours.take(GPU, 4_000)
    if (pid := os.fork()) == 0:
        try:
            os.setuid(65534)
            theirs = Leases(directory_for_all, "b")
            answers = theirs.take(GPU, 5_000), theirs.take(GPU, 5_000).title
            theirs.release_all()
            os._exit(0 if (*answers, theirs.problem) == (None, "notebook a.ipynb", None) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert ours.take(GPU, 6_000) is None


def test_a_uuid_that_is_no_file_name_is_stored_under_its_hash(directory, first, second):
    uuid = "../../etc/MIG-GPU/1/2"
    assert first.take(uuid, 10_000) is None
    assert [path.parent for path in directory.iterdir()] == [directory]
    assert second.take(uuid, 1).title == "notebook a.ipynb"


def test_many_processes_never_hold_more_than_the_device(directory):
    code = (
        "from nbaccel.local_engine.leases import Leases\n"
        f"leases = Leases({str(directory)!r}, 'x'); import time\n"
        "most = 0\n"
        f"for _ in range(300):\n"
        f"    if leases.take({GPU!r}, 4_000) is None:\n"
        f"        most = max(most, 4_000 + sum(other.amount for other in leases.held_by_others({GPU!r})))\n"
        f"        leases.release({GPU!r}, 4_000)\n"
        "print(most, leases.problem)"
    )
    workers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [worker.communicate()[0].split(maxsplit=1) for worker in workers]
    assert all(int(most) <= 8_000 and problem.strip() == "None" for most, problem in answers)
    assert list(directory.iterdir()) == []


def test_the_directory_can_be_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("NBACCEL_LEASE_DIR", str(tmp_path / "mine"))
    assert default_directory() == tmp_path / "mine"
    monkeypatch.delenv("NBACCEL_LEASE_DIR")
    assert default_directory().name == "nbaccel-leases"
    assert leases_module.LOCK_PATIENCE_S <= 0.1
