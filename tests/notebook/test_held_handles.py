"""What still holds the handles that a user has forgotten is named, and lets go of them on request."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

import nbaccel
from nbaccel.notebook import held_handles
from nbaccel.notebook.output import CellOutput
from nbaccel.notebook.settings import NotebookSettings
from nbaccel.views import explanations
from nbaccel.views.sinks import Notice
from tests.notebook.shells import shell_with
from tests.rig import wait_until

WAITS = "Task ping waits for 1 GPU. The GPU is busy: actor A on GPU 0."


@pytest.fixture(scope="module")
def cluster() -> Iterator[InteractiveShell]:
    with shell_with(num_cpus=2, num_gpus=1) as shell:
        _run(shell, "@nbaccel.remote(num_gpus=1)\nclass A:\n    def ping(self):\n        return 'pong'")
        yield shell


@pytest.fixture
def shell(cluster: InteractiveShell) -> Iterator[InteractiveShell]:
    yield cluster
    held_handles.release(cluster)


def _run(shell: InteractiveShell, code: str) -> None:
    shell.run_cell(code, store_history=True)


def _reason(shell: InteractiveShell, sentence: str) -> str:
    return held_handles.added_to(shell, [sentence])[0]


def _gpu_comes_back() -> None:
    wait_until(lambda: gc.collect() >= 0 and nbaccel.available_resources().get("GPU") == 1, "the GPU")


def test_what_a_variable_names_is_not_forgotten(shell: InteractiveShell) -> None:
    _run(shell, "a = A.remote()\na")
    assert held_handles.forgotten(shell) == {}
    assert _reason(shell, WAITS) == WAITS
    assert held_handles.release(shell) == []
    _run(shell, "del a")
    held_handles.release(shell)
    _gpu_comes_back()


@pytest.mark.parametrize("shown", ["a", "[a]", "{'agents': (a,)}", "Pool(a)", "partial(print, a)"])
def test_an_output_that_reaches_an_actor_is_named_and_let_go(shell: InteractiveShell, shown: str) -> None:
    _run(
        shell,
        "from functools import partial\nclass Pool:\n    def __init__(self, a):\n        self.a = a; self.me = self",
    )
    _run(shell, f"a = A.remote()\n{shown}")
    number = max(shell.user_ns["Out"])
    _run(shell, "del a")
    said = _reason(shell, WAITS)
    assert f"An actor A that no variable names is still held by Out[{number}], _: %accel_release" in said
    assert _reason(shell, "Task f waits for 1 GPU. The GPU is busy: task g.").endswith("task g.")
    assert held_handles.release(shell) == [f"Out[{number}]", "_"]
    assert number not in shell.user_ns["Out"]
    _gpu_comes_back()


@pytest.mark.parametrize("display", ["button", "ipywidgets.VBox([button])", "ipywidgets.interactive(lambda x: a, x=1)"])
def test_a_displayed_widget_that_reaches_an_actor_is_named_and_closed(shell: InteractiveShell, display: str) -> None:
    _run(
        shell,
        "import ipywidgets\ndef show():\n    a = A.remote()\n    button = ipywidgets.Button()\n"
        f"    button.on_click(lambda _: nbaccel.get(a.ping.remote()))\n    display({display})\nshow()",
    )
    said = _reason(shell, WAITS)
    assert "An actor A that no variable names is still held by widget " in said, said
    assert all(name.startswith("widget ") for name in held_handles.release(shell))
    assert _reason(shell, WAITS) == WAITS
    _gpu_comes_back()


def test_a_widget_that_a_variable_names_stays(shell: InteractiveShell) -> None:
    _run(shell, "import ipywidgets\nbutton = ipywidgets.Button()\nbutton.on_click(lambda _, a=A.remote(): print(a))")
    assert _reason(shell, WAITS) == WAITS
    assert held_handles.release(shell) == []
    _run(shell, "del button")
    assert len(held_handles.release(shell)) == 1
    _gpu_comes_back()


def test_a_placement_group_that_nothing_names_is_removed_by_its_id(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(
        shell,
        "from nbaccel.util import placement_group\nclass Pool:\n    def __init__(self):\n"
        "        self.me, self.group = self, placement_group([{'GPU': 1}])\npool = Pool()\npool.group.wait(30)",
    )
    id = shell.user_ns["pool"].group.id.hex()
    waits = f"f waits for 1 GPU. The GPU is busy: placement group {id} on GPU 0 (3 s)."
    assert _reason(shell, waits) == waits
    _run(shell, "pool = None")
    assert f"%accel_release {id} removes it" in _reason(shell, waits)
    _run(shell, "%accel_release nonsense")
    assert "No placement group has the id 'nonsense'" in capsys.readouterr().err
    _run(shell, f"%accel_release {id}")
    assert "Removed 1 placement group." in capsys.readouterr().out
    _gpu_comes_back()


def test_a_get_that_times_out_says_what_holds_the_actor(shell: InteractiveShell) -> None:
    _run(shell, "a = A.remote()\na")
    _run(shell, "del a")
    _run(shell, "half_made = object.__new__(nbaccel.ObjectRef)")  # as another thread is just making one
    _run(shell, "@nbaccel.remote(num_gpus=1)\ndef f(): ...\nref = f.remote()")
    with pytest.raises(nbaccel.exceptions.GetTimeoutError, match="still held by Out"):
        nbaccel.get(shell.user_ns["ref"], timeout=2)
    assert "still held by Out" in nbaccel.explain(shell.user_ns["ref"]).sentence
    _run(shell, "del ref, f, half_made")


def test_the_frames_of_the_last_error_are_named_and_let_go(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(shell, "def fails():\n    a = A.remote()\n    nbaccel.get(a.ping.remote())\n    return {}['missing']")
    _run(shell, "kept = 5\nfails()")
    assert "still held by the last error: %accel_release" in _reason(shell, WAITS)
    _run(shell, "%accel_release")
    assert "Let go of what the last error held." in capsys.readouterr().out
    assert shell.user_ns["kept"] == 5
    assert not hasattr(sys, "last_traceback")
    _gpu_comes_back()
    _run(shell, "%accel_release")
    assert "Nothing is held beside your variables." in capsys.readouterr().out


def test_a_function_that_was_sent_with_an_actor_is_named_and_sent_again(shell: InteractiveShell) -> None:
    _run(shell, "a = A.remote()\n@nbaccel.remote\ndef use():\n    return nbaccel.get(a.ping.remote())")
    _run(shell, "said = nbaccel.get(use.remote())")
    assert "use was sent" not in _reason(shell, WAITS)
    _run(shell, "a = None")
    assert "use was sent with a handle that no variable names, and holds it" in _reason(shell, WAITS)
    assert held_handles.release(shell) == ["use"]
    _gpu_comes_back()
    _run(shell, "a = A.remote()\nagain = nbaccel.get(use.remote(), timeout=60)")
    assert shell.user_ns["again"] == "pong"
    _run(shell, "del a, use")
    _gpu_comes_back()


def test_the_note_under_a_cell_says_what_holds_the_actor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        explanations, "name_holders", lambda sentences: [f"{each} Out[7] holds it." for each in sentences]
    )
    sent: list[str] = []
    output = CellOutput(lambda *message: sent.append(str(message)), NotebookSettings())
    output.notice(Notice("waiting", "f waits for 1 GPU. The GPU is busy.", b"", b"task"))
    assert "Out[7] holds it." in sent[-1]
    output.notice(Notice("waiting", "", b"", b"task"))  # it waits no more
    assert "Out[7] holds it." not in sent[-1]
