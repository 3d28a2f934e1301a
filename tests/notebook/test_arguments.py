"""A line after a magic: both forms, variables, JSON; a mistake is one line with a suggestion."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

import nbaccel
from nbaccel.handles.options import init_options, task_options
from nbaccel.notebook import arguments
from nbaccel.notebook.arguments import Option, TypingMistake
from nbaccel.notebook.options import INIT as INIT_KEYWORDS
from nbaccel.notebook.options import MAGICS, TASK, manual

INIT = MAGICS["accel_init"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {}),
        ("num_gpus=2", {"num_gpus": 2}),
        ("--num-gpus 2 --num-cpus=4", {"num_gpus": 2, "num_cpus": 4}),
        ("num_gpus=0.5", {"num_gpus": 0.5}),
        ("--shared", {"shared": True}),
        ("shared=false --restart", {"shared": False, "restart": True}),
        ('resources={"TPU": 2, "license": 0.5}', {"resources": {"TPU": 2, "license": 0.5}}),
        ("resources=TPU:2,license:1", {"resources": {"TPU": 2, "license": 1}}),
        ('namespace="two words"', {"namespace": "two words"}),
        ("object_store_memory=4GB", {"object_store_memory": 4_000_000_000}),
        ("object_store_memory=512MiB", {"object_store_memory": 512 << 20}),
        ("preload=numpy,torch", {"preload": ["numpy", "torch"]}),
        ("preload=['numpy', 'torch']", {"preload": ["numpy", "torch"]}),
        ("labels=zone:a", {"labels": {"zone": "a"}}),
        ("num_gpus=-1", {"num_gpus": -1}),
        ("num_gpus=2          # a machine without GPUs gets two: it isn't {one}", {"num_gpus": 2}),
        ("#two", {}),
        ('namespace="a # b" engine=local #', {"namespace": "a # b", "engine": "local"}),
    ],
)
def test_both_forms_of_an_option_are_read(line: str, expected: dict[str, object]) -> None:
    assert arguments.parse(line, INIT) == expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("num_gpu=2", "There is no option 'num_gpu'. Did you mean 'num_gpus'?"),
        ("--restrt", "Did you mean 'restart'?"),
        ("num_gpus", "'num_gpus' needs a value, for example num_gpus=2."),
        ("num_gpus=inf", "'num_gpus=inf': a finite number is needed. Example: num_gpus=2"),
        ("num_gpus=nan", "a finite number is needed"),
        ("num_gpus=two", "'num_gpus=two': a number is needed. Example: num_gpus=2"),
        ("num_gpus=", "'num_gpus' needs a value, for example num_gpus=2."),
        ("--num-gpus", "'num_gpus' needs a value"),
        ("num_gpus=1 num_gpus=2", "'num_gpus' is given twice."),
        ("engine=loca", "'engine=loca': did you mean 'local'? Example: engine=local"),
        ("shared=perhaps", "true or false is needed"),
        ('resources={"TPU": 2', "A closing } is missing after"),
        ("resources=TPU", "name:value pairs are needed"),
        ("xyzzy=1", "The options are: num_gpus, num_cpus"),
    ],
)
def test_a_typing_mistake_is_one_line_that_says_what_to_write(line: str, said: str) -> None:
    with pytest.raises(TypingMistake) as caught:
        arguments.parse(line, INIT)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("typed", "cell"), [("7", "7"), ("[7]", "7"), ("here", "here")])
def test_a_cell_is_named_by_its_number(typed: str, cell: str) -> None:
    assert arguments.parse(f"cell={typed}", MAGICS["accel_tasks"]) == {"cell": cell}


def test_a_word_is_no_cell() -> None:
    with pytest.raises(TypingMistake, match=r"'cell=last': a cell's number or 'here' is needed. Example: cell=7"):
        arguments.parse("cell=last", MAGICS["accel_tasks"])


def test_variables_are_filled_in_but_json_is_left_alone() -> None:
    def expand(text: str) -> str:
        return text.replace("{n}", "3")

    assert arguments.parse('num_gpus={n} resources={"n": 1}', INIT, expand) == {"num_gpus": 3, "resources": {"n": 1}}
    with pytest.raises(TypingMistake, match="there is no variable 'm' in this notebook"):
        arguments.parse("num_gpus={m}", INIT, expand)


def test_plain_words_are_kept_apart_from_options() -> None:
    assert arguments.parse_with_words("abc --all def", MAGICS["accel_devices"]) == ({"all": True}, ["abc", "def"])


def test_a_tasks_id_as_the_cockpit_writes_it_is_no_comment() -> None:
    assert arguments.parse_with_words("#7f3a-12 abc # the slow ones", ()) == ({}, ["#7f3a-12", "abc"])


@pytest.mark.parametrize("tail", ["0", "-5"])
def test_less_than_one_line_of_a_log_cannot_be_asked_for(tail: str) -> None:
    with pytest.raises(TypingMistake, match=f"'tail={tail}': at least 1 is needed. Example: tail=100"):
        arguments.parse(f"tail={tail}", MAGICS["accel_logs"])


def test_help_shows_every_option_with_an_example() -> None:
    text = manual("accel_init", "Start.")
    assert all(option.example in text and option.meaning in text for option in INIT)


@pytest.mark.parametrize("magic", MAGICS)
def test_every_example_can_be_read(magic: str) -> None:
    for option in MAGICS[magic]:
        if not option.example.startswith("["):
            assert option.name in arguments.parse(option.example, MAGICS[magic])


@pytest.mark.parametrize("option", INIT_KEYWORDS, ids=lambda option: option.name)
def test_what_the_magic_hands_on_is_a_keyword_of_init(
    option: Option, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "machines.toml").write_text("[types.gpu]\nnum_gpus = 1\n")
    monkeypatch.chdir(tmp_path)
    init_options(**arguments.parse(option.example, INIT_KEYWORDS))


def test_what_a_probe_asks_is_a_keyword_of_probe() -> None:
    asked_of_probe = {
        name for name, one in signature(nbaccel.probe).parameters.items() if one.kind is not one.VAR_KEYWORD
    }
    objects = {"scheduling_strategy", "placement_group", "placement_group_bundle_index"}  # a line cannot hold them
    assert {option.name for option in MAGICS["accel_probe"]} == asked_of_probe - objects - {"verify"}
    line = "gpu_memory=10GB timeout_s=2m resources=TPU:1"
    asked = arguments.parse(line, MAGICS["accel_probe"])
    assert asked == {"gpu_memory": 10**10, "timeout_s": 120.0, "resources": {"TPU": 1}}


@pytest.mark.parametrize("option", TASK, ids=lambda option: option.name)
def test_what_a_cell_asks_is_an_option_of_tasks(option: Option) -> None:
    given = arguments.parse(option.example, TASK)
    name = given.pop("name", None)
    task_options(**given).merged(**({"name": name} if name else {}))
