"""Tab in a real IPython shell: our keys and values, alone, with Jedi on and off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from nbaccel.notebook import magics


@pytest.fixture(params=[True, False], ids=["jedi", "no jedi"])
def shell(request: pytest.FixtureRequest) -> Iterator[InteractiveShell]:
    shell = InteractiveShell()
    shell.Completer.use_jedi = request.param
    shell.user_ns["num_cats"] = 3
    magics.install(shell)
    magics.install(shell)
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def _tab(shell: InteractiveShell, line: str) -> tuple[list[str], list[str]]:
    """What Tab offers at the end of the line, and the lines that it would make."""
    with provisionalcompleter():
        found = list(shell.Completer.completions(line, len(line)))
    return [each.text for each in found], [line[: each.start] + each.text for each in found]


def test_keys_are_offered_and_nothing_else(shell: InteractiveShell) -> None:
    words, lines = _tab(shell, "%accel_init num_")
    assert words == ["num_cpus=", "num_gpus="]
    assert lines == ["%accel_init num_cpus=", "%accel_init num_gpus="]


def test_values_are_offered_after_the_equals_sign(shell: InteractiveShell) -> None:
    _, lines = _tab(shell, "%accel_init num_gpus=2 engine=")
    assert lines == [f"%accel_init num_gpus=2 engine={name}" for name in ("debug", "local", "ray")]
    _, lines = _tab(shell, "%accel_init engine=lo")
    assert lines == ["%accel_init engine=local"]


def test_the_dashed_form_is_completed_too(shell: InteractiveShell) -> None:
    assert _tab(shell, "%accel_init --num-g")[1] == ["%accel_init --num-gpus"]
    assert _tab(shell, "%accel_init --engine r")[1] == ["%accel_init --engine ray"]


def test_a_probe_completes_what_it_takes(shell: InteractiveShell) -> None:
    assert _tab(shell, "%accel_probe gpu_")[0] == ["gpu_memory="]
    assert _tab(shell, "%accel_probe timeout_s=1")[1] == [
        f"%accel_probe timeout_s={each}" for each in ("10m", "10s", "1m")
    ]


def test_what_is_given_already_is_not_offered_again(shell: InteractiveShell) -> None:
    words, _ = _tab(shell, "%accel_init num_gpus=2 ")
    assert "num_gpus=" not in words
    assert "num_cpus=" in words


def test_a_later_line_of_a_cell_is_completed(shell: InteractiveShell) -> None:
    assert _tab(shell, "import os\n%accel_init num_g")[1] == ["import os\n%accel_init num_gpus="]


def test_other_lines_are_left_alone(shell: InteractiveShell) -> None:
    assert "num_cats" in _tab(shell, "num_c")[0]
    assert shell.Completer.custom_matchers.count(magics.magic_options) == 1


def test_what_can_be_gone_through_is_offered_and_asks_nobody(shell: InteractiveShell) -> None:
    InteractiveShell._instance = shell
    shell.user_ns |= {"batches": [1], "batch_size": 4}
    assert _tab(shell, "%%accel --each=")[1] == ["%%accel --each=batches"]
