"""What workers print: all of it, once, as lines with their owner, whatever they print and however they end."""

from __future__ import annotations

import re

from tests.census import Place
from tests.local_engine import programs

PROGRAM = """
import os, subprocess, sys
import nbaccel
nbaccel.init(num_cpus=1)
@nbaccel.remote(max_retries=0)
def f():
    {body}
@nbaccel.remote
def g():
    print("next")
try:
    nbaccel.get(f.remote())
except nbaccel.exceptions.WorkerCrashedError:
    pass
{after}
"""

PRINTS = [
    ("print('one'); print('two')", ["one", "two"]),
    ("print('same'); print('same'); print('same')", ["same", "same", "same"]),
    ("print('no newline', end='')", ["no newline"]),
    ("print('a', end=' '); print('b')", ["a b"]),
    ("print(); print('after an empty line')", ["", "after an empty line"]),
    ("os.system('echo from a shell')", ["from a shell"]),
    ("subprocess.run(['printf', 'half'])", ["half"]),
    ("os.write(1, b'raw ' + bytes([255, 254]) + b'\\n')", ["raw \ufffd\ufffd"]),
    ("print('\\x1e\\x1d{}\\x1d'); print('whole')", ["\x1e\x1d{}\x1d", "whole"]),
    ("os.write(1, b'\\x1e\\x1dhalf a marker')", ["\x1e\x1dhalf a marker"]),
    ("os.write(1, b'\\x1e\\x1d{\"name\": \"' + bytes([198]) + b'\"}\\x1d\\n')", ['\x1e\x1d{"name": "\ufffd"}\x1d']),
    ("print('\\x1e\\x1d{\"a\":' + '[' * 4000 + '\\x1d')", ['\x1e\x1d{"a":' + "[" * 4000 + "\x1d"]),
    ("print('ünï\\U0001f600')", ["ünï😀"]),
    ("print('\\r10 %', end='\\r', flush=True); print('20 %')", ["20 %"]),
    ("print('before'); os._exit(1)", ["before"]),
    ("print('before', end=''); os.kill(os.getpid(), 9)", ["before"]),
]
ALL_PRINTS = """
import os, subprocess, sys
import nbaccel
nbaccel.init(num_cpus=1)
def work(code):
    import os, subprocess, sys
    exec(code)
for number, (code, _) in enumerate({prints!r}):
    try:
        work.__name__ = work.__qualname__ = f"f{{number}}"
        nbaccel.get(nbaccel.remote(max_retries=0)(work).remote(code))
    except nbaccel.exceptions.WorkerCrashedError:
        pass
"""


def lines(text: str) -> list[str]:
    """What was shown, without the pids."""
    return re.sub(r"pid=\d+", "pid=N", text).split("\n")[:-1]


def test_every_print_is_shown_once_as_lines(place: Place) -> None:
    done = place.run(ALL_PRINTS.format(prints=PRINTS))
    assert done.returncode == 0, done.stderr
    shown: dict[str, list[str]] = {}
    for line in lines(done.stdout):
        owner, text = re.fullmatch(r"\((f\d+) pid=N\) (.*)", line).groups()  # type: ignore[union-attr]
        shown.setdefault(owner, []).append(text)
    assert [shown.get(f"f{number}") for number in range(len(PRINTS))] == [wanted for _code, wanted in PRINTS]


def test_a_line_longer_than_any_buffer_arrives_in_parts_but_whole(place: Place) -> None:
    done = place.run(PROGRAM.format(body="print('x' * 100_000)", after=""))
    parts = [line.removeprefix("(f pid=N) ") for line in lines(done.stdout)]
    assert "".join(parts) == "x" * 100_000


def test_stderr_goes_to_stderr(place: Place) -> None:
    done = place.run(PROGRAM.format(body="print('out'); print('err', file=sys.stderr)", after=""))
    assert lines(done.stdout) == ["(f pid=N) out"]
    assert "(f pid=N) err" in lines(done.stderr)


def test_an_open_line_belongs_to_the_task_that_began_it(place: Place) -> None:
    done = place.run(PROGRAM.format(body="os.write(1, b'open')", after="nbaccel.get(g.remote())"))
    assert lines(done.stdout) == ["(f pid=N) open", "(g pid=N) next"]


def test_actors_are_named_by_their_class_or_their_repr(place: Place) -> None:
    done = place.run(programs.TALKING_ACTORS)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == ["(Plain pid=N) hello", "(named 7 pid=N) hello"]


def test_a_flood_of_lines_is_shown_to_the_last(place: Place) -> None:
    done = place.run(programs.FLOOD)
    assert done.returncode == 0, done.stderr
    seen = re.findall(r"\(flood pid=\d+\) (\d) (\d+) x+\n", done.stdout)
    for task in "01":
        assert [int(number) for who, number in seen if who == task] == list(range(50_000))


def test_a_driver_that_reads_slowly_holds_only_the_flood_back(place: Place) -> None:
    done = place.run(programs.SLOW_READER)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["works: 7", "all there: True", "head small: True"]


def test_nothing_is_shown_when_log_to_driver_is_off_but_files_have_it(place: Place) -> None:
    done = place.run(programs.QUIET)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['quiet words']"]


def test_output_that_came_before_shutdown_is_shown(place: Place) -> None:
    body = "[print('line', i) for i in range(1000)]"
    done = place.run(PROGRAM.format(body=body, after="f.remote(); nbaccel.get(g.remote()); nbaccel.shutdown()"))
    assert len([line for line in lines(done.stdout) if line.startswith("(f pid=N) line ")]) in (1000, 2000)


def test_workers_have_no_terminal_to_read_from(place: Place) -> None:
    done = place.run(PROGRAM.format(body="print(repr(sys.stdin.read()))", after=""))
    assert lines(done.stdout) == ["(f pid=N) ''"]


def test_a_worker_may_close_its_own_streams(place: Place) -> None:
    done = place.run(PROGRAM.format(body="print('first'); sys.stdout.close()", after="nbaccel.get(g.remote())"))
    assert lines(done.stdout)[0] == "(f pid=N) first"
