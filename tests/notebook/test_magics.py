"""The magics in a shell of this process, on the debug engine: what they show, and what they say of a mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import nbaccel
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.notebook import views
from nbaccel.views import wording
from tests.notebook.levels import Reading
from tests.notebook.shells import shell_with

Run = Callable[[str], str]


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    with shell_with(engine="debug", num_cpus=2, num_gpus=1) as shell:
        yield shell


@pytest.fixture
def run(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a cell; gives all that it shows, without colours."""

    def run(code: str) -> str:
        shell.run_cell(code, store_history=True)
        said = capsys.readouterr()
        return re.sub(r"\x1b\[[\d;]*m", "", said.out + said.err)

    return run


def test_an_error_of_a_cell_is_said_to_be_in_accel(run: Run) -> None:
    said = run("%%accel\n1 / 0")
    assert re.search(r"^in accel, .*from cell \[1\] line 1$", said, re.M)
    assert "run_body" not in said


def test_under_a_magic_no_line_is_named_that_nobody_has_written(run: Run) -> None:
    assert "run_cell_magic" not in run("%%accel\n1 / 0")
    assert "run_line_magic" not in run("%time nbaccel.get(nbaccel.remote(lambda: 1 / 0).remote())")


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [("x = = 1", "x = = 1", "invalid syntax"), ("x = 1\nreturn x", "return x", "'return' outside function")],
)
def test_a_body_that_is_no_python_is_shown_as_any_cell_that_is_none(run: Run, body: str, line: str, said: str) -> None:
    shown = run(f"%%accel\n{body}")
    assert "Cell In[1], line" in shown and f"SyntaxError: {said}" in shown and line in shown
    assert "cell_magics" not in shown and "run_code" not in shown


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("num_gpus=-1", "The quantity of resource num_gpus cannot be negative, but got -1."),
        ("num_gpus=1.5", "GPU resource quantities >1 must be whole numbers."),
        ("--block --noblock", "--block and --noblock exclude each other"),
        ("-o class", "'-o class': it must be a Python name."),
    ],
)
def test_what_no_task_can_ask_is_one_line(run: Run, line: str, said: str) -> None:
    (shown,) = run(f"%%accel {line}\n1").splitlines()
    assert shown.startswith(f"UsageError: {said}")


def test_a_value_that_cannot_be_sent_is_named_without_a_traceback(run: Run) -> None:
    run("import threading\nlock = threading.Lock()")
    (shown,) = run("%%accel\nlock").splitlines()
    assert shown.startswith("UsageError: 'lock' cannot be sent along: cannot pickle '_thread.lock' object.")


def test_what_cannot_be_sent_back_is_named_and_the_rest_comes_back(run: Run) -> None:
    (shown,) = run("%%accel -o out\nimport threading\nlk = threading.Lock()\nloss = 0.5").splitlines()
    assert shown == ("These values cannot be sent and did not come back: 'lk' (cannot pickle '_thread.lock' object).")
    assert run("out.loss") == "Out[2]: 0.5\n"


def test_a_cell_magic_below_something_else_and_a_magic_in_a_task_are_explained(run: Run) -> None:
    said = run("# a comment\n%%accel\n1")
    assert "%%accel must be the first line of its cell: nothing may stand above it, not even a comment." in said
    assert "Did you mean" not in said


def test_a_name_that_both_the_option_and_the_cell_give_is_told(run: Run) -> None:
    said = "-o out binds 'out' to all that the cell left; the 'out' that the cell assigns is out.out.\n"
    assert run("%%accel -o out\nout = 1") == said
    assert run("out.out") == "Out[2]: 1\n"
    assert run("%%accel -o out\nother = 1") == ""


GROUPS = """
from nbaccel.util.placement_group import placement_group
held, late = placement_group([{"GPU": 1}], name="held"), placement_group([{"GPU": 1}], name="late")
"""


def test_why_takes_a_placement_group(run: Run) -> None:
    run(GROUPS)
    why = "placement group late waits: bundle 0 asks for 1 GPU"
    assert why in run("%accel_why late")
    assert why in run("%accel_why {late}")
    assert why in run("%accel_why")
    assert "'late' is of type PlacementGroup, which is not a task" in run("%accel_cancel late")


def test_why_says_how_many_more_wait_than_it_lists(run: Run) -> None:
    run("held = [nbaccel.remote(num_gpus=1000)(lambda: 1).remote() for _ in range(70)]")
    assert "These are 50 of 70 tasks that wait." in run("%accel_why")


def test_what_was_typed_is_not_what_is_suggested(run: Run) -> None:
    run("steps = 3\nref = nbaccel.remote(lambda: 1).remote()")
    assert run("%accel_why steps").startswith("UsageError: 'steps' is of type int, which is not a task")
    assert "Did you mean 'ref'?" in run("%accel_why reff")
    assert "Did you mean" not in run("%accel_why step")


@pytest.mark.parametrize(
    ("each", "said"),
    [
        ("paht", "there is no variable 'paht' in this notebook. Did you mean 'path'?"),
        ("xyzzy", "there is no variable 'xyzzy' in this notebook."),
        ("path+", "is not a Python expression: invalid syntax. Example: --each=items"),
        ("len(path)", "a value of type int has no items. Example: --each=range(4)"),
    ],
)
def test_what_cannot_be_gone_through_is_one_line(run: Run, each: str, said: str) -> None:
    run("path = ['a', 'b']")
    refused = run(f"%%accel --each={each}\nitem")
    assert refused.startswith(f"UsageError: '--each={each}'")
    assert refused.endswith(f"{said}\n")
    assert refused.count("\n") == 1


def test_an_expression_may_bind_names_of_its_own_and_its_errors_are_the_users(run: Run) -> None:
    run("path = ['a', 'b']\ndef fails():\n    yield 1\n    nowhere")
    run("%%accel -o out --each=[(k,p)for(k,p)in[(1,path)]]\nlength = len(item)")
    assert run("[each.length for each in out]").strip().endswith("[2]")
    said = run("%%accel --each=fails()\nitem")
    assert "NameError" in said and "line 4, in fails" in said


def test_a_state_that_there_is_not_is_named_with_those_that_there_are(run: Run) -> None:
    said = run("%accel_tasks state=runing")
    assert said.startswith("UsageError: There is no state 'runing'. Did you mean 'running'? The states are: running, ")
    assert "There is no state 'RUNING'" in run("%accel_tasks state=RUNING")
    with pytest.raises(ValueError, match="There is no state 'done'"):
        views.tasks(state="done")


@pytest.mark.parametrize("limit", ["0", "-1"])
def test_a_limit_below_one_row_is_refused_in_one_line(run: Run, limit: str) -> None:
    said = f"UsageError: 'limit={limit}': at least one row is needed. Example: limit=20\n"
    assert run(f"%accel_tasks limit={limit}") == said


def test_no_task_in_a_state_is_something_else_than_no_task(run: Run) -> None:
    assert run("%accel_tasks state=failed").startswith("No task yet. ")
    run("ref = nbaccel.remote(lambda: 1).remote()\nassert nbaccel.get(ref) == 1")
    assert run("%accel_tasks state=failed,running").startswith("No task is failed or running.\nas of ")
    assert run("%accel_tasks state=RUNNING").startswith("No task is RUNNING.\n")
    assert run("%accel_tasks cell=77 state=finished").startswith("No task of cell 77 is finished.\n")
    assert "finished" in run("%accel_tasks state=finished")
    assert "finished" in str(views.tasks(state="finished"))


def test_failures_are_not_hidden_behind_the_newest_tasks_and_what_is_left_out_is_counted(run: Run) -> None:
    """Thirty tasks of as many functions, one of which failed first."""
    body = "    def f(fails): 1 / (not fails)\n    f.__name__ = f.__qualname__ = name\n    return nbaccel.remote(f)"
    run(f"import nbaccel\ndef made(name):\n{body}")
    run("refs = [made('bad').remote(True), *(made(f'f{n}').remote(False) for n in range(30))]")
    run("r = nbaccel.wait(refs, num_returns=31)")
    said = run("%accel_tasks limit=5")
    assert "bad" in said and "ZeroDivisionError" in said and "f29" in said and "f1 " not in said
    assert "5 of 31 tasks. %accel_tasks limit=31 shows all." in said
    assert "of 31 tasks" not in run("%accel_tasks limit=31")
    run("bads = [made(f'bad{n}').remote(True) for n in range(9)]\nr = nbaccel.wait(bads, num_returns=9)")
    said = run("%accel_tasks limit=5")
    assert "5 of 40 tasks. %accel_tasks state=failed shows the failed ones." in said


def test_many_tasks_of_one_function_are_one_row_unless_a_state_is_asked_for(run: Run) -> None:
    run("import nbaccel\n@nbaccel.remote\ndef score(n): 1 / (n % 2)\nrefs = [score.remote(n) for n in range(20)]")
    run("r = nbaccel.wait(refs, num_returns=20)")
    said = run("%accel_tasks")
    assert "score × 20" in said and "10 of 20 · 10 failed" in said and said.count("score") == 1
    assert run("%accel_tasks state=failed").count("score") == 10


def test_a_probe_takes_memory_and_time(run: Run) -> None:
    assert re.match(r"(Now|Busy|Never here): ", run("%accel_probe gpu_memory=10GB"))
    run(GROUPS)
    assert "Busy: Not within 0.01 s." in run("%accel_probe num_gpus=1 timeout_s=0.01")
    assert "resources=TPU" in run("%accel_probe resources=TPU")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "The task has not ended within 0.01 s; it is cancelled."),
        (" --each=range(2)", "2 of 2 tasks have not ended within 0.01 s; they are cancelled."),
    ],
)
def test_a_cell_that_takes_too_long_is_one_line_that_says_it_is_cancelled(run: Run, options: str, said: str) -> None:
    run(GROUPS)
    shown = run(f"%%accel num_gpus=1 timeout=0.01{options}\n1")
    assert [line for line in shown.splitlines() if line and "task/s" not in line and "s/task" not in line] == [
        f"GetTimeoutError: {said}"
    ]
    assert all("cancelled" in row.why for row in nbaccel.snapshot().tasks)


def test_a_timeout_in_the_cells_own_code_is_that_codes_error(run: Run) -> None:
    said = run("%%accel timeout=60\nfrom nbaccel.exceptions import GetTimeoutError\nraise GetTimeoutError('mine')")
    assert "GetTimeoutError: mine" in said
    assert "cancelled" not in said


def test_under_a_magic_of_ipythons_the_users_line_is_shown_and_none_of_ipythons(run: Run) -> None:
    run(GROUPS + "ref = nbaccel.remote(num_gpus=1)(lambda: 1).remote()")
    said = run("def outer():\n    nbaccel.get(ref, timeout=0.01)\n%time outer()")
    assert "line 2, in outer\n    nbaccel.get(ref, timeout=0.01)" in said
    assert "interactiveshell.py" not in said
    assert "execution.py" not in said


def _html(shell: InteractiveShell, name: str) -> str | None:
    """What the notebook shows of a variable beside its text, without the style."""
    assert shell.display_formatter is not None
    made = shell.display_formatter.formatters["text/html"](shell.user_ns[name])
    return None if made is None else re.sub("<style>.*</style>", "", made, flags=re.S)


def _card(text: str) -> str:
    return f'<div class="nbaccel"><p>{text}</p></div>'


def _row(shell: InteractiveShell, name: str) -> list[str]:
    """The cells of the one row that the notebook shows of a variable."""
    return Reading(_html(shell, name) or "").rows[1]


def test_a_placement_group_shows_its_state_and_why_it_waits(shell: InteractiveShell, run: Run) -> None:
    run(GROUPS.replace('"held"', '"<b>"'))
    assert _row(shell, "held") == ["<b>", "● created", "PACK", "1 bundle: 1 GPU"]
    assert "The GPU is busy" in (_html(shell, "late") or "")
    assert run("late").startswith("Out[2]: PlacementGroup(")
    run("nbaccel.util.remove_placement_group(late)")
    assert _row(shell, "late") == ["late", "– removed", "PACK", "1 bundle: 1 GPU"]
    shell.user_ns["nobodys"] = PlacementGroup(nbaccel.PlacementGroupID.from_random())
    assert _html(shell, "nobodys") is None


def test_a_ref_without_a_task_in_the_snapshot_says_whether_its_value_is_there(
    shell: InteractiveShell, run: Run
) -> None:
    run(GROUPS + "put, ready, nil = nbaccel.put(1), late.ready(), nbaccel.ObjectRef.nil()")
    assert _html(shell, "put") == _card("value · ready")
    assert _html(shell, "ready") == _card("value · not ready")
    assert _html(shell, "nil") is None
    run("nbaccel.shutdown()\nnbaccel.init(engine='debug')")
    assert _html(shell, "put") is None


def test_a_finished_tasks_ref_shows_the_task(shell: InteractiveShell, run: Run) -> None:
    run("@nbaccel.remote\ndef train():\n    return 1\nref = train.remote()\nvalue = nbaccel.get(ref)")
    assert _row(shell, "ref")[1] == "✓ finished"
    run("%accel_actors")
    run("refs = [ref, train.remote()]\nvalue = nbaccel.get(refs)")
    assert Reading(_html(shell, "refs") or "").words.startswith("2 refs · 2 finished as of ")
    assert _html(shell, "value") is None


def _tab(shell: InteractiveShell, line: str) -> set[str]:
    with provisionalcompleter():
        return {each.text for each in shell.Completer.completions(line, len(line))}


def test_tab_offers_the_tasks_of_the_last_snapshot_and_asks_nobody(shell: InteractiveShell, run: Run) -> None:
    run(GROUPS + "done = nbaccel.remote(lambda: 1).remote()\nvalue = nbaccel.get(done)")
    run("waits = nbaccel.remote(num_gpus=1)(lambda: 1).remote()\nsteps = 3")
    run("%accel_tasks")
    shown = views.last_seen()
    assert shown is not None
    ids = {name: wording.short_id(shell.user_ns[name].task_id().hex()) for name in ("done", "waits")}
    assert _tab(shell, "%accel_why ") == {"done", "waits", "held", "late", *ids.values()}
    assert _tab(shell, "%accel_cancel ") == {"--all", "done", "waits", "cell=", "--force", "--everyone", ids["waits"]}
    assert _tab(shell, f"%accel_logs {ids['done'][:-1]}") == set(ids.values())
    assert views.last_seen() is shown
    run("nbaccel.shutdown()")
    assert not _tab(shell, "%accel_why ") & set(ids.values())


def test_a_view_of_nothing_starts_no_cluster(run: Run) -> None:
    run("nbaccel.shutdown()")
    for magic in ("%accel_logs", "%accel_recycle"):
        assert run(magic).startswith("nbaccel is not running here.")
    assert not nbaccel.is_initialized()


def test_a_magic_of_one_line_that_is_written_over_a_cell_says_so(run: Run) -> None:
    assert "%accel_status is a magic of one line: write it with one %." in run("%%accel_status\n1")


def test_a_reloaded_extension_knows_what_it_started(run: Run) -> None:
    run("nbaccel.shutdown()\n%accel_init engine=debug num_cpus=2 num_gpus=1")
    run("%unload_ext nbaccel\n%load_ext nbaccel")
    assert "UsageError" not in run("%accel_init engine=debug num_cpus=2 num_gpus=1")
    assert "num_gpus was 1 and is now 3" in run("%accel_init engine=debug num_cpus=2 num_gpus=3")


def test_what_cancelling_does_not_end_is_said(shell: InteractiveShell, run: Run) -> None:
    run("done = nbaccel.remote(lambda: 1).remote()\nvalue = nbaccel.get(done)")
    run("class Counter:\n    pass\ncounter = nbaccel.remote(Counter).remote()")
    assert "'counter' is an actor, which %accel_cancel does not end: nbaccel.kill(counter) does" in run(
        "%accel_cancel counter"
    )
    short = wording.short_id(shell.user_ns["done"].task_id().hex())
    assert run("%accel_cancel done") == f"0 tasks told to end. {short} had already ended.\n"


def test_a_log_is_of_one_task_and_a_timeline_names_the_cell_that_has_none(run: Run) -> None:
    run("done = nbaccel.remote(lambda: 1).remote()\nvalue = nbaccel.get(done)")
    assert "One task at a time: 'more' is too much. Example: %accel_logs done tail=100" in run("%accel_logs done more")
    assert run("%accel_timeline cell=99") == "No task of cell 99 has run.\n"


def test_a_stack_is_of_one_task_and_of_what_waits_it_is_the_reason(run: Run) -> None:
    run("waits = nbaccel.remote(num_gpus=1, name='late')(lambda: 1).options(num_cpus=9).remote()")
    assert run("%accel_stack waits") == run("%accel_stack late") == f"{run('print(nbaccel.explain(waits))')}"
    assert "UsageError: Nothing is called 'nobody'" in run("%accel_stack nobody")
    assert "UsageError: Whose? Name a task" in run("%accel_stack") and "Whose?" in run("%accel_stack waits late")
    assert "worker, pid 1:\n  None of its own code runs there now." in run("%accel_stack 1")


def test_runs_of_a_storage_folder_are_listed_without_a_cluster(run: Run, tmp_path: Path) -> None:
    run("nbaccel.shutdown()")
    (tmp_path / "mnist").mkdir()
    lines = '{"v": 1, "run": "mnist", "started": 5.0}\n{"end": "failed", "error": "no room", "time": 9.0}\n'
    (tmp_path / "mnist" / "run.jsonl").write_text(lines)
    assert "✕ failed" in (shown := run(f"%accel_runs path={tmp_path}")) and "no room" in shown
    assert "There is no run." in run(f"%accel_runs path={tmp_path} state=finished")
    assert "UsageError" in run(f"%accel_runs path={tmp_path}/none") and not nbaccel.is_initialized()


def test_an_id_may_be_written_as_in_the_cockpit(shell: InteractiveShell, run: Run) -> None:
    run("waits = nbaccel.remote(num_gpus=1, name='late')(lambda: 1).options(num_cpus=9).remote()")
    short = wording.short_id(shell.user_ns["waits"].task_id().hex())
    assert "late" in run(f"%accel_why #{short}  # as the line of a retry names it")


def test_what_a_ref_shows_of_itself_is_a_snapshot_for_tab(shell: InteractiveShell, run: Run) -> None:
    run("ref = nbaccel.remote(lambda: 1).remote()\nref")
    assert wording.short_id(shell.user_ns["ref"].task_id().hex()) in _tab(shell, "%accel_why ")


@pytest.mark.parametrize(
    "magic", ["%accel_init", "%accel_tasks", "%accel_why", "%accel_config", "%%accel", "%%accel_time"]
)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_a_magic_is_its_manual_and_does_nothing_else(run: Run, magic: str, flag: str) -> None:
    said = run(f"{magic} {flag}\n1 / 0" if magic.startswith("%%") else f"{magic} {flag}")
    assert magic in said and "Error" not in said
    assert f"{magic} --help shows this." in said


def test_help_of_a_cell_magic_needs_no_body(run: Run) -> None:
    assert "one task for each item of this variable" in run("%%accel --help")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("%accel_int num_gpus=2", "%accel_init"),
        ("%accel_stauts", "%accel_status"),
        ("%acel_why", "%accel_why"),
        ("x = 1\n%accel_task", "%accel_tasks"),
        ("%%accl\n1", "%%accel"),
    ],
)
def test_a_mistyped_magic_gets_a_suggestion(run: Run, typed: str, meant: str) -> None:
    said = run(typed)
    assert "not found" in said and f"Did you mean {meant}?" in said


def test_a_magic_that_is_nothing_like_ours_gets_none(run: Run) -> None:
    assert "Did you mean" not in run("%autoreload_ 2")
    assert "Did you mean" not in run("%accel_tasks state=gone")  # has its own words


def test_a_quantity_that_no_machine_has_is_refused_though_a_cluster_runs(run: Run) -> None:
    assert "UsageError: The quantity of resource num_gpus cannot be negative, but got -1." in run(
        "%accel_init num_gpus=-1"
    )
    assert nbaccel.is_initialized()


def test_a_cells_tensors_come_and_go_as_its_own(run: Run) -> None:
    pytest.importorskip("torch")
    run("import torch\nbase = torch.zeros(60_000)\nview = base[1:]")
    run("%%accel -o out\nview += 1\nmade = [base, view]")
    assert run("out.made[1] += 1; int(base.sum()), int(out.made[0].sum())").strip().endswith("(0, 119998)")
