"""Nonsense at the command line gets a sentence that names the option and says what to write, and starts nothing."""

from __future__ import annotations

from typing import Any

import click.testing
import pytest

from nbaccel import cli


def forbidden(*args: Any, **options: Any) -> Any:
    raise AssertionError(f"called with {args}, {options}")


CONTROL = cli.Control(list, forbidden, forbidden, forbidden, forbidden, forbidden)
START, RAY = ["start", "--head"], ["start", "--head", "--engine=ray", "--port=0"]
NONSENSE = {
    "empty address": (["start", "--address", ""], r"'--address': it is empty"),
    "empty token file": ([*RAY, "--token-file", " "], r"'--token-file': it is empty"),
    "empty node type": ([*RAY, "--node-type="], r"'--node-type': it is empty"),
    "empty node types": ([*START, "--node-types="], r"'--node-types': it is empty"),
    "empty preload": ([*START, "--preload="], r"'--preload': it is empty"),
    "empty devices": ([*START, "--simulate="], r"'--simulate': it is empty"),
    "strange bytes in a host": (["doctor", "--address=\udcff:1"], r"'--address': .* has bytes that are no text"),
    "a module that is not there": ([*START, "--preload", "json,no_such.part"], r"there is no module 'no_such' here"),
    "strange bytes in preload": ([*START, "--preload", "\udcff"], r"'--preload': '\\udcff' has bytes that are no text"),
    "a NUL": ([*START, "--simulate", "a\0b"], r"'--simulate': 'a\\x00b' has bytes that are no text"),
    "memory in words": ([*START, "--object-store-memory=lots"], r"is not a size: 'lots'. Write a number of bytes, or"),
    "memory below nothing": ([*START, "--object-store-memory=-5"], r"'--object-store-memory': '-5' is negative"),
    "memory of no machine": ([*START, "--object-store-memory=200TB"], r"cannot be more than 100,000,000,000,000 bytes"),
    "empty name to stop": (["stop", ""], r"it is empty"),
    "doctor's empty address": (["doctor", "--address="], r"'--address': it is empty"),
    "doctor's empty devices": (["doctor", "--simulate="], r"'--simulate': it is empty"),
    "doctor's lone token": (["doctor", "--token-file=/x"], r"--token-file goes with --address"),
    "no time": (["top", "--interval=nan"], r"'nan' is no number of seconds from 0.2 to 86400"),
    "endless time": (["top", "--interval=inf"], r"'inf' is no number of seconds"),
    "too short a time": (["top", "--interval=0"], r"'0' is no number of seconds"),
    "time in words": (["top", "--interval=abc"], r"'abc' is no number of seconds"),
}
REFUSED = {
    "Ray's CPUs": ([*RAY, "--num-cpus=-3"], r"num_cpus cannot be negative, but got -3"),
    "Ray's own resource": ([*RAY, '--resources={"x": 1e308}'], r"of resource x cannot be more than"),
    "Ray's label": ([*RAY, '--labels={"a": 1}'], r"labels must be a dict\[str, str\], but has 'a': 1"),
    "a node's resource": (["start", "--address=h:1", '--resources={"x": "y"}'], r"takes a number, but got 'y'"),
    "an empty part of a host": (["doctor", "--address=a..b:1"], r"is no address of a Ray cluster: write HOST:6379"),
    "a very long host": (["doctor", f"--address={'a' * 300}:1"], r"is no address of a Ray cluster"),
    "half a bracket": (["doctor", "--address=[::1:6379"], r"is no address of a Ray cluster"),
    "no port": (["doctor", "--address=localhost"], r"is no address of a Ray cluster"),
}


def told(arguments: list[str]) -> tuple[int, str]:
    ran = click.testing.CliRunner().invoke(cli.main, arguments, obj=CONTROL)
    assert isinstance(ran.exception, SystemExit), ran.exception
    assert "Traceback" not in ran.output and "codec" not in ran.output
    return ran.exit_code, ran.output


@pytest.mark.parametrize(("arguments", "words"), NONSENSE.values(), ids=NONSENSE)
def test_a_value_that_is_none_is_named_with_its_option(arguments: list[str], words: str) -> None:
    code, output = told(arguments)
    assert code == 2
    with pytest.raises(ValueError, match=words):
        raise ValueError(output)


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_offered_or_joined_is_refused_before_anything_else(arguments: list[str], words: str) -> None:
    code, output = told(arguments)
    assert code == 1
    with pytest.raises(ValueError, match=words):
        raise ValueError(output)


@pytest.mark.parametrize("option", ['--resources={"a\\u0000b": 1}', '--labels={"a": "\\ud800"}'])
def test_text_that_cannot_travel_is_refused_with_its_option(option: str) -> None:
    ran = click.testing.CliRunner().invoke(cli.main, [*RAY, option], obj=CONTROL)
    assert ran.exit_code == 1 and "must be text without NUL and without halves of characters" in ran.output
