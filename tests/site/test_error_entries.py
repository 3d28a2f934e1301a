"""The page on errors: every message of the code has an entry, and is found by its words."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from nbaccel import cli, error_entries
from nbaccel.error_entries import PACKAGE, Entry, Raised

KNOWN = error_entries.entries(error_entries.page())
SOURCES = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
RAISED = [each for source in SOURCES.values() for each in error_entries.raised(source)]
CLASS = re.compile(r"[A-Z]\w+")
# What one part raises for another part, which catches it: no user sees the name.
CAUGHT = {
    "BadFrame", "ConstructorError", "Ended", "Exit", "GroupNameTaken", "IllegalEvent", "Later", "LinkLost", "OverLimit",
    "PassedOver", "ProcessEnd", "ProcessLookupError", "QuestionError", "TooLate", "TooSlow", "Unpatchable",
    "Unreadable",
}  # fmt: skip
NOTICE_CALLS = {"Notice": 0, "NoticeMessage": 0, "Warn": 1, "notify": 0, "say": 0, "_warn": 0}  # where the kind stands
ROOMS = {
    "notify": ("train", "tune"),
    "say": ("reports", "scheduling"),
    "_warn": ("local_engine",),
}  # elsewhere it is another function


def _named(name: str) -> list[Entry]:
    return [each for each in KNOWN if name in each.names]


def test_every_class_that_the_code_raises_has_an_entry() -> None:
    kinds = {each.kind for each in RAISED if CLASS.fullmatch(each.kind)}
    assert {kind for kind in kinds if not _named(kind)} - CAUGHT == set()
    assert kinds >= CAUGHT, "a name in CAUGHT is raised nowhere"
    assert len(kinds) > 60


def _message(each: Raised) -> str:
    """As a user reads it, with values between its words."""
    return "7".join(each.words)


def test_every_message_is_found_by_its_words() -> None:
    messages = [each for each in RAISED if each.kind not in CAUGHT and _named(each.kind)]
    messages = [each for each in messages if sum(map(len, each.words)) >= error_entries.LEAST_LETTERS]
    assert len(messages) > 700
    found = {each: error_entries.find(_message(each), KNOWN, RAISED)[:1] for each in messages}
    astray = [each for each, entries in found.items() if not entries or each.kind not in entries[0].names]
    assert len(astray) < 0.01 * len(found), astray  # one that names another error, or that two classes have


@pytest.mark.parametrize("kind", ["GetTimeoutError", "TuneError", "RuntimeEnvSetupError", "RayServeException"])
def test_a_message_leads_to_the_entry_of_its_class(kind: str) -> None:
    messages = [each for each in RAISED if each.kind == kind and sum(map(len, each.words)) > 20]
    assert messages
    for each in messages:
        assert kind in error_entries.find(_message(each), KNOWN, RAISED)[0].names, each


def kinds_of_notices() -> set[str]:
    found = set()
    for path, source in SOURCES.items():
        parts = path.relative_to(PACKAGE).parts
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name not in NOTICE_CALLS or not any(room in parts for room in ROOMS.get(name, parts)):
                continue
            if len(node.args) > NOTICE_CALLS[name] and isinstance(kind := node.args[NOTICE_CALLS[name]], ast.Constant):
                found.add(str(kind.value))
    return found


def test_every_kind_of_notice_has_an_entry() -> None:
    kinds = kinds_of_notices()
    table = error_entries.page().partition("## Notices")[2].partition("\n## ")[0]
    told = {name for each in error_entries.entries(table) for name in each.names}
    assert kinds >= {"train", "tune", "serve", "lost", "leak"}
    assert kinds - told == set()
    assert told - kinds <= {"deadlock", "kept", "unread error"}, "a kind that nothing says any more"


def test_what_an_entry_quotes_is_said_by_the_code() -> None:
    """Also where a text goes over several lines of the source."""
    said = "\n".join(re.sub(r'"\s*\n\s*f?"', "", source) for source in SOURCES.values())
    quoted = [message for each in KNOWN for message in each.messages]
    assert len(quoted) > 15
    assert [message for message in quoted if message not in said] == []


def explained(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.main, ["explain-error", *words])
    return done.exit_code, done.output


def test_the_command_takes_a_name_a_message_or_some_words() -> None:
    for words in (
        ["GetTimeoutError"],
        ["nbaccel.exceptions.GetTimeoutError: Get timed out: 1 of 2 objects"],
        ["Get timed out: 1 of 2 objects were not ready within 3 s."],
        ["Get", "timed", "out"],
    ):
        code, output = explained(*words)
        assert code == 0 and "GetTimeoutError" in output and "what to do  wait again" in output, words
    assert "others hold what the work asks for" in explained("train waits for 1 GPU. Both GPUs are busy")[1]
    assert "process that asks the drivers" in explained("prober")[1]


def test_the_command_says_that_it_knows_nothing() -> None:
    code, output = explained("zebra", "quagga")
    assert code == 1 and "Nothing is known by these words" in output


def test_a_wheel_has_the_page_beside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "errors.md").write_text("| `Mine` | cause | remedy |")
    monkeypatch.setattr(error_entries, "PAGES", (tmp_path / "errors.md", tmp_path / "gone.md"))
    assert error_entries.entries(error_entries.page()) == [Entry(("Mine",), (), "cause", "remedy")]
