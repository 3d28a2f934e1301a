"""Leases on devices: who gets how much beside whom, dead holders, hostile directories."""

import fcntl
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from nbaccel import leases, proc
from nbaccel import leases as leases_module
from nbaccel.leases import LeaseRecord, Leases, default_directory

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


def record_file(directory, uid=None):
    return directory / f"{GPU}.{os.geteuid() if uid is None else uid}.lease"


def holder_in_another_process(directory, amount=10_000):
    """A process that took a lease and waits; its stdin's end ends it."""
    code = (
        "import sys; from nbaccel.leases import Leases\n"
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


@pytest.mark.parametrize("cut", ["ftruncate", "pwrite"])
def test_who_asks_while_names_are_written_is_told_a_name(directory, first, second, monkeypatch, cut):
    """The writer may be stopped at any moment; who only asks does not wait for it."""
    first.take(GPU, 4_000)
    second.take(GPU, 4_000)
    told = []
    real = getattr(os, cut)

    def slow(*arguments):
        told.append([holder.title for holder in Leases(directory, "c").held_by_others(GPU)])
        real(*arguments)
        told.append([holder.title for holder in Leases(directory, "c").held_by_others(GPU)])

    monkeypatch.setattr(leases.os, cut, slow)
    second.release(GPU, 4_000)
    second.take(GPU, 2_000)
    monkeypatch.undo()
    assert len(told) == 4
    assert all("notebook a.ipynb" in titles for titles in told), told


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


def test_a_title_cannot_carry_terminal_escapes(directory, second):
    Leases(directory, "note\x1b[31mbook\n").take(GPU, 10_000)
    assert second.take(GPU, 1).title == "note[31mbook"


def linked(place, victim):
    place.symlink_to(victim)


def linked_hard(place, victim):
    place.hardlink_to(victim)


def piped(place, victim):
    os.mkfifo(place)


def made_a_directory(place, victim):
    place.mkdir()


@pytest.mark.parametrize("plant", [linked, linked_hard, piped, made_a_directory])
@pytest.mark.parametrize("suffix", [".lease", ".names"])
def test_what_stands_in_the_place_of_a_record_is_not_written(directory, first, second, tmp_path, plant, suffix):
    """A link, a second name of another file, a pipe: the head neither follows nor waits, and leases go on."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    plant(record_file(directory).with_suffix(suffix), victim)
    assert first.take(GPU, 10_000) is None
    assert victim.read_text() == "precious"
    assert first.problem is None
    assert second.take(GPU, 1) is not None


def test_a_link_in_the_place_of_the_directory_is_not_used(tmp_path):
    """Not at the beginning, and not at any later call."""
    victim = tmp_path / "private"
    victim.mkdir(mode=0o700)
    (tmp_path / "leases").symlink_to(victim)
    leases = Leases(tmp_path / "leases", "a")
    assert leases.take(GPU, 10_000) is None
    leases.release_all()
    assert list(victim.iterdir()) == []
    assert "another head on this machine may give out the same device" in leases.problem


@pytest.mark.parametrize(
    ("mode", "usable"), [(0o1777, True), (0o700, True), (0o755, True), (0o777, False), (0o775, False)]
)
def test_a_directory_in_which_others_could_replace_records_is_refused(tmp_path, mode, usable):
    place = tmp_path / "leases"
    place.mkdir()
    place.chmod(mode)
    leases = Leases(place, "a")
    assert leases.take(GPU, 10_000) is None
    assert (leases.problem is None) == usable
    assert bool(list(place.iterdir())) == usable


def test_a_flood_of_files_is_a_problem_told_in_words(directory, first):
    for number in range(5_000):
        os.close(os.open(directory / f"flood-{number}", os.O_CREAT))
    assert first.take(GPU, 10_000) is None
    assert "holds more than 4096 files" in first.problem


def test_a_directory_that_cannot_be_made_is_a_problem_told_in_words_and_no_crash(tmp_path):
    (tmp_path / "file").write_text("")
    leases = Leases(tmp_path / "file" / "leases", "a")
    assert leases.take(GPU, 10_000) is None
    leases.release_all()
    assert "NBACCEL_LEASE_DIR" in leases.problem


def test_a_record_that_stays_locked_is_busy_and_nothing_waits_for_ever(directory, first, second):
    first.take(GPU, 4_000)
    with record_file(directory).with_suffix(".names").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert str(second.take(GPU, 1_000)) == "a process that keeps its lease record locked"
        assert [holder.amount for holder in second.held_by_others(GPU)] == [4_000]  # who only asks needs no lock
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
    assert stat.S_IMODE(os.stat(other.directory).st_mode) == 0o1777
    assert stat.S_IMODE(record_file(directory).stat().st_mode) == 0o644
    assert stat.S_IMODE(record_file(directory).with_suffix(".names").stat().st_mode) == 0o600
    assert b"notebook" not in record_file(directory).read_bytes()


@pytest.fixture
def directory_for_all():
    """Not under tmp_path, whose parents only their owner may enter."""
    with tempfile.TemporaryDirectory() as parent:
        os.chmod(parent, 0o755)
        yield Path(parent) / "leases"


def as_another_user(act):
    """Run it in a child that is user 65534; it returns whether all was as it should be."""
    if (pid := os.fork()) == 0:
        try:
            os.setuid(65534)
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")


@needs_root
def test_two_users_share_a_device(directory_for_all):
    ours = Leases(directory_for_all, "notebook a.ipynb")
    ours.take(GPU, 4_000)

    def share():
        theirs = Leases(directory_for_all, "b")
        answers = theirs.take(GPU, 5_000), theirs.take(GPU, 5_000).title
        theirs.release_all()
        return (*answers, theirs.problem) == (None, "a program of user 0", None)

    as_another_user(share)
    assert ours.take(GPU, 6_000) is None


@needs_root
def test_another_user_cannot_read_what_a_notebook_is_called_nor_hold_its_lock(directory_for_all):
    ours = Leases(directory_for_all, "notebook a.ipynb")
    ours.take(GPU, 4_000)

    def look():
        names = record_file(directory_for_all, 0).with_suffix(".names")
        try:
            names.open("rb")
        except PermissionError:
            lease = record_file(directory_for_all, 0).open("rb")
            fcntl.flock(lease, fcntl.LOCK_EX)
            return b"notebook" not in lease.read() and Leases(directory_for_all).take(GPU, 6_000) is None
        return False

    as_another_user(look)
    assert ours.take(GPU, 6_000) is None


@needs_root
@pytest.mark.parametrize("pid", [1, "ours"])
def test_a_record_counts_only_for_processes_of_its_writer(directory_for_all, pid):
    """So nobody keeps a device by naming a process that lives for ever, or another user's."""
    ours = Leases(directory_for_all, "notebook a.ipynb")
    whom = os.getpid() if pid == "ours" else pid

    def claim():
        holder = LeaseRecord(whom, leases_module._start_of(whom), proc.boot_id(), "t", 10_000, 1.0)
        text = msgspec.json.encode({"holders": [holder]})
        record_file(directory_for_all, 0).write_bytes(text)  # also under another user's name
        record_file(directory_for_all).write_bytes(text)
        return True

    as_another_user(claim)
    assert ours.held_by_others(GPU) == []
    assert ours.take(GPU, 10_000) is None
    assert ours.problem is None


@needs_root
@pytest.mark.parametrize("suffix", [".lease", ".names"])
def test_a_name_that_another_user_has_taken_does_not_switch_leases_off(directory_for_all, suffix):
    ours, second = Leases(directory_for_all, "notebook a.ipynb"), Leases(directory_for_all, "notebook b.ipynb")

    def squat():
        record_file(directory_for_all, 0).with_suffix(suffix).touch()
        return True

    as_another_user(squat)
    assert ours.take(GPU, 10_000) is None
    assert (second.take(GPU, 1).title, ours.problem) == ("notebook a.ipynb", None)


def test_a_uuid_that_is_no_file_name_is_stored_under_its_hash(directory, first, second):
    uuid = "../../etc/MIG-GPU/1/2"
    assert first.take(uuid, 10_000) is None
    assert {path.parent for path in directory.iterdir()} == {directory}
    assert second.take(uuid, 1).title == "notebook a.ipynb"


def test_many_processes_never_hold_more_than_the_device(directory):
    code = (
        "from nbaccel.leases import Leases\n"
        f"leases = Leases({str(directory)!r}, 'x'); import time\n"
        "most = 0\n"
        f"for _ in range(300):\n"
        f"    if leases.take({GPU!r}, 4_000) is None:\n"
        f"        most = max(most, 4_000 + sum(other.amount for other in leases.held_by_others({GPU!r})))\n"
        f"        leases.release({GPU!r}, 4_000)\n"
        "while not leases.keep({}): pass\n"  # another may have kept the lock: its machine is busy
        "print(most, leases.problem)"
    )
    workers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [worker.communicate()[0].split(maxsplit=1) for worker in workers]
    assert all(int(most) <= 8_000 and problem.strip() == "None" for most, problem in answers)
    assert list(directory.iterdir()) == []


def test_the_directory_can_be_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("NBACCEL_LEASE_DIR", str(tmp_path / "mine"))
    assert default_directory() == str(tmp_path / "mine")
    monkeypatch.delenv("NBACCEL_LEASE_DIR")
    assert os.path.basename(default_directory()) == "nbaccel-leases"
    assert leases_module.LOCK_PATIENCE_S <= 0.1
