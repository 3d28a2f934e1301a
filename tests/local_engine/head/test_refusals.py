"""What a head refuses, in words that say what to do; and what it survives: garbage, strangers, full disks."""

from __future__ import annotations

import os
import random
import socket
import struct
from typing import Any

import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.wire.driver_questions import CreateGroup
from nbaccel.views import sessions
from nbaccel.views.observer_lines import ReadNotes
from tests.census import Place
from tests.disks import tiny_disk
from tests.local_engine import misbehaving, programs
from tests.rig import DEADLINE_S, wait_until

NOBODY = 65534


def head_socket() -> socket.socket:
    """A new connection to the module's head."""
    engine: Any = engines.started()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(os.path.join(engine.welcome.directory, "head.sock"))
    sock.settimeout(DEADLINE_S)
    return sock


def notes() -> str:
    engine: Any = engines.started()
    return "\n".join(engine.link.ask(ReadNotes()))


# ---- garbage


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\0" * 64,
        b"\xff" * 64,
        struct.pack("<I", 5) + b"\x91\x92\xc0\xc0\xc0",
        struct.pack(">I", 3) + b"abc",
        struct.pack("<I", 1 << 31),
        b'{"half a line of JSON',
        struct.pack("<I", 5) + b"\x91\x91\xa2\xc6\xc6",
        struct.pack("<I", 60_007) + b"\x91\x93\xa3Bye\xc2" + b"\x91" * 60_000 + b"\xc0",
        '{"token": "t\u00f6ken"}\n'.encode(),
        b'{"a":' + b"[" * 60_000 + b"\n",
        bytes(wire.frame([wire.Hello("driver", "\u6f22", 1, 1, "3", "/usr")])),
        bytes(wire.frame([wire.Submit(b"x" * 24, 1, b"", [], [], b"", b"")])),
        bytes(wire.frame([wire.Done(b"x" * 24, [])])),
        bytes(wire.frame([wire.WorkerHello(b"w" * 28, 1)])),
        bytes(wire.frame([wire.QuestionMessage(1, "stop_head")])),
        pytest.param(random.Random(4096).randbytes(4096), id="noise"),
    ],
)
def test_garbage_on_the_socket_harms_nobody(cluster: Place, garbage: bytes) -> None:
    with head_socket() as sock:
        sock.sendall(garbage)
        sock.shutdown(socket.SHUT_WR)
        while True:
            try:
                if not sock.recv(65536):
                    break
            except ConnectionResetError:
                break
    assert nbaccel.get(misbehaving.echo.remote(7)) == 7


def test_a_question_that_the_head_fails_at_is_answered_all_the_same(cluster: Place) -> None:
    engine: Any = engines.started()
    with pytest.raises(exceptions.RaySystemError, match="could not answer the question 'create_group': ValueError"):
        engine.link.ask(CreateGroup(b"group", [{"CPU": 1}], "PACK", soft_node="no hex"))
    assert nbaccel.get(misbehaving.echo.remote(7)) == 7


def test_a_stranger_without_the_token_is_told_so(cluster: Place) -> None:
    engine: Any = engines.started()
    (record,) = [each for each in sessions.find() if each.session == engine.welcome.session]
    from nbaccel.handles.options import init_options
    from nbaccel.local_engine.driver import engine as driver

    record.token = "0" * 32
    with pytest.raises(ConnectionError, match="The token is wrong: this head belongs to another user or session"):
        driver.join(record, init_options())


def test_an_observer_without_the_token_is_told_so(cluster: Place) -> None:
    with head_socket() as sock:
        sock.sendall(b'{"token": "wrong"}\n')
        with sock.makefile("rb") as said:
            assert b"The token is missing or wrong" in said.read()  # and it ends


def test_many_connections_that_say_nothing_cost_nothing(cluster: Place) -> None:
    idle = [head_socket() for _ in range(100)]
    assert nbaccel.get([misbehaving.echo.remote(i) for i in range(10)]) == list(range(10))
    for sock in idle:
        sock.close()


# ---- other users


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_refused_even_with_the_token(cluster: Place) -> None:
    engine: Any = engines.started()
    (record,) = [each for each in sessions.find() if each.session == engine.welcome.session]
    said = _as_nobody(lambda: _join_words(record))
    assert "No head answers" in said
    assert "belongs to another user: call nbaccel.init() without an address" in said
    os.chmod(engine.welcome.directory, 0o711)  # even where the directory lets them pass
    os.chmod(os.path.join(engine.welcome.directory, "head.sock"), 0o777)
    os.chmod(cluster.root, 0o711)
    os.chmod(cluster.root / "tmp", 0o711)
    said = _as_nobody(lambda: _join_words(record))
    assert f"This head belongs to user {os.getuid()}, and you are user {NOBODY}" in said


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_does_not_find_the_session_file(cluster: Place) -> None:
    os.chmod(cluster.root, 0o711)
    os.chmod(cluster.root / "runtime", 0o755)
    assert _as_nobody(lambda: repr(sessions.find())) == "[]"


def _join_words(record: sessions.SessionRecord) -> str:
    from nbaccel.handles.options import init_options
    from nbaccel.local_engine.driver import engine as driver

    try:
        driver.join(record, init_options())
    except ConnectionError as error:
        return str(error)
    return "joined"


def _as_nobody(work: Any) -> str:
    """Do this in a forked child that is another user; what it returns."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(write, work().encode())
        except BaseException as error:
            os.write(write, repr(error).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


# ---- disks and directories

START = "import nbaccel\nnbaccel.init(num_cpus=1)\n@nbaccel.remote\ndef f(x): return x\nprint(nbaccel.get(f.remote(1)))"


def test_a_read_only_runtime_directory_is_refused_with_what_to_do(place: Place) -> None:
    with tiny_disk(place.root / "locked", "ro,size=64k"):
        done = place.run(START, JUPYTER_RUNTIME_DIR=str(place.root / "locked"))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "locked" in last
    assert "Read-only file system" in last
    assert "Set JUPYTER_RUNTIME_DIR to a directory that you can write" in last
    assert "space" not in last


def test_a_home_that_cannot_be_written_is_not_called_full(place: Place) -> None:
    done = place.run(f"import os; del os.environ['JUPYTER_RUNTIME_DIR']; os.environ['HOME'] = '/proc'\n{START}")
    last = done.stderr.strip().splitlines()[-1]
    assert "/proc/.local/share/jupyter/runtime" in last and "Set JUPYTER_RUNTIME_DIR" in last and "space" not in last


def test_a_full_runtime_directory_is_refused_with_what_to_do(place: Place) -> None:
    with tiny_disk(place.root / "full", "size=4k,nr_inodes=100") as full:
        with open(full / "filler", "wb", buffering=0) as filler:
            filler.write(b"x" * 4096)
        done = place.run(START, JUPYTER_RUNTIME_DIR=str(full))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "No space left on device" in last
    assert "Free some space there" in last


def test_a_full_temporary_directory_costs_log_files_but_no_work(place: Place) -> None:
    with tiny_disk(place.root / "full", "size=4k,nr_inodes=100") as full:
        with open(full / "filler", "wb", buffering=0) as filler:
            filler.write(b"x" * 4096)
        done = place.run(START + "\nprint(f)", TMPDIR=str(full))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1\n")


def test_a_disk_too_full_to_spill_refuses_what_does_not_fit_and_loses_nothing(place: Place) -> None:
    with tiny_disk(place.root / "small", "size=4m,nr_inodes=1000") as small:
        done = place.run(programs.FULL_DISK, TMPDIR=str(small))
    assert done.returncode == 0, done.stderr
    refused, kept, after = done.stdout.splitlines()
    assert refused.startswith("ObjectStoreFullError The object store is full, and moving objects to disk failed:")
    assert "No space left on device" in refused
    assert "Free some disk space" in refused
    assert (kept, after) == ("kept True", "after 1")


def test_a_temporary_directory_with_a_long_path_is_no_obstacle(place: Place) -> None:
    long = place.root / ("d" * 100)
    long.mkdir()
    done = place.run(START, TMPDIR=str(long))
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_without_descriptors_to_spare_workers_are_refused_in_words_and_the_head_lives(place: Place) -> None:
    done = place.run(programs.MANY_ACTORS.format(soft=60, hard=60))
    assert done.returncode == 0, done.stderr
    refused, after = done.stdout.splitlines()
    assert "could not be started: Too many open files (the head may have 60: raise `ulimit -n`)" in refused
    assert after == "after 7"


def test_the_usual_limit_of_descriptors_is_raised_for_the_head_only(place: Place) -> None:
    done = place.run(programs.MANY_ACTORS.format(soft=60, hard=1000))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(60, 1000) 30", "after 7"]


def test_more_of_a_device_than_is_visible_is_refused_with_both_numbers(place: Place) -> None:
    done = place.run("import nbaccel\nnbaccel.init(num_gpus=3)", CUDA_VISIBLE_DEVICES="1,3")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ValueError: ")
    assert "3" in last
    assert "1,3" in last


def test_a_stopped_head_leaves_no_session_even_if_it_was_killed(place: Place) -> None:
    assert place.command("start", "--head", "--num-cpus=1").returncode == 0
    (path,) = (place.root / "runtime").glob("nbaccel-*.json")
    record = sessions._read(path)
    assert record is not None
    os.kill(record.pid, 9)
    wait_until(lambda: not sessions.is_alive(record), "the head's end")
    status = place.command("status")
    assert "no" in status.stdout.lower() + status.stderr.lower()
    wait_until(lambda: not place.left(), "what the killed head left to be cleared away")


def test_an_address_where_nothing_is_says_where_it_looked(place: Place) -> None:
    done = place.run("import nbaccel\nnbaccel.init(address='/nowhere/head.sock')")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ConnectionError: address='/nowhere/head.sock': no nbaccel head found.")
    assert str(place.root / "runtime") in last


def test_a_program_whose_directory_was_deleted_has_its_head(place: Place) -> None:
    done = place.run(programs.START_NOWHERE)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr


def test_a_module_that_cannot_be_preloaded_is_told(place: Place) -> None:
    done = place.run(programs.PRELOADED)
    assert "importing no_such_module failed: ModuleNotFoundError" in done.stdout + done.stderr
