"""The page and the schema of the observers' JSON are what the classes make, and what a head says fits them."""

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from nbaccel.views.observer_lines import PROTOCOL, QUESTIONS
from tools import panel_types

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = spec_from_file_location("observer_schema", ROOT / "tools" / "observer_schema.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_page_and_schema_are_what_the_classes_make(tool: ModuleType) -> None:
    assert tool.main(["--check"]) == 0, "run python tools/observer_schema.py"


def test_a_changed_class_makes_the_committed_files_stale(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "PAGE", tmp_path / "observers.md")
    monkeypatch.setattr(tool, "SCHEMA", tmp_path / "observers.schema.json")
    assert tool.main([]) == 0 and tool.main(["--check"]) == 0
    (tmp_path / "observers.md").write_text("of yesterday")
    assert tool.main(["--check"]) == 1
    assert "observers.md is stale" in capsys.readouterr().err


def test_the_schema_tells_questions_and_answers_apart_and_says_its_version(tool: ModuleType) -> None:
    schema = tool.schema()
    assert schema["version"] == PROTOCOL
    assert set(schema["questions"]["discriminator"]["mapping"]) == set(QUESTIONS)
    assert {"welcome", "error", "snapshot"} <= set(schema["answers"]["discriminator"]["mapping"])
    named = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema)))
    assert named <= set(schema["$defs"])


def test_every_link_of_the_page_has_its_heading(tool: ModuleType) -> None:
    page = tool.page(tool.schema())
    headings = {heading.lower().replace("`", "").replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", page, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", page)) <= headings


def test_the_panels_types_are_made_of_the_schema(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert panel_types.main(["--check"]) == 0, "run python -m tools.panel_types"
    monkeypatch.setattr(panel_types, "ROOT", tmp_path)
    monkeypatch.setattr(panel_types, "FILE", tmp_path / "sent.ts")
    assert panel_types.main(["--check"]) == 1
    assert panel_types.main([]) == 0 and panel_types.main(["--check"]) == 0
    text = (tmp_path / "sent.ts").read_text()
    assert "export interface Holder {\n  name: string;\n  amount: number;\n  task_id?: string | null;" in text
    assert "  tasks: { question: FindTasks; answer: TasksLine };" in text
