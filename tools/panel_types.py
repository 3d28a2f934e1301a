"""Writes `frontend/src/model/sent.ts`, the front end's types of observers' lines and of the records of runs.

    python -m tools.panel_types            write the file
    python -m tools.panel_types --check    say whether it is stale, and change nothing

A field with a default may be missing in a line: heads of other versions do not know it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from nbaccel.views import observer_lines
from nbaccel.views.experiment_snapshot import ExperimentSnapshot, TrialRow
from nbaccel.views.observer_lines import ANSWERS, PROTOCOL, QUESTIONS
from nbaccel.views.run_snapshot import RunSnapshot
from nbaccel.views.served_snapshot import ServedSnapshot
from nbaccel.views.stored_runs import StoredRun
from tools import observer_schema

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "frontend" / "src" / "model" / "sent.ts"
HEAD = f"""\
// What observers ask and heads answer, in version {PROTOCOL}; records of runs. tools/panel_types.py writes this file.
"""
RECORDS = (RunSnapshot, ExperimentSnapshot, TrialRow, ServedSnapshot, StoredRun)
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def typescript() -> str:
    """The whole file."""
    records = observer_schema.schema()["$defs"]
    records |= msgspec.json.schema_components(RECORDS, ref_template="#/$defs/{name}")[1]
    parts = [HEAD, *(_interface(name, record) for name, record in records.items()), _answers()]
    return "\n".join(parts)


def _interface(name: str, record: dict[str, Any]) -> str:
    said = cleandoc(record.get("description", "")).replace("*/", "* /").splitlines()
    comment = ["/**", *(f" * {line}".rstrip() for line in said), " */"] if len(said) > 1 else []
    if len(said) == 1:
        comment = [f"/** {said[0]} */"]
    return "\n".join([*comment, f"export interface {name} {{", *_fields(record), "}", ""])


def _fields(record: dict[str, Any]) -> Iterator[str]:
    required = set(record.get("required", ()))
    for name, field in record.get("properties", {}).items():
        yield f"  {name}{'' if name in required else '?'}: {_type(field)};"


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if "anyOf" in field:
        return " | ".join(_type(one) for one in field["anyOf"])
    if "enum" in field:
        return " | ".join(f'"{one}"' for one in field["enum"])
    kind = field.get("type")
    if kind == "array" and "prefixItems" in field:
        return f"[{', '.join(_type(one) for one in field['prefixItems'])}]"
    if kind == "array":
        items = _type(field.get("items", {}))
        return f"({items})[]" if "anyOf" in field.get("items", {}) else f"{items}[]"
    if kind == "object":
        values = field.get("additionalProperties")
        return f"Record<string, {_type(values) if isinstance(values, dict) and values else 'any'}>"
    return _PLAIN.get(str(kind), "any")


def _answers() -> str:
    """Which line answers which question."""
    names = {kind.tag(): kind.__name__ for kind in get_args(ANSWERS)}
    rows = []
    for tag, question in QUESTIONS.items():
        line = get_type_hints(question.line, vars(observer_lines))["return"]
        rows.append(f"  {tag}: {{ question: {question.__name__}; answer: {names[line.tag()]} }};")
    return "\n".join(
        ["/** The questions by their names, each with its answer. */", "export interface Asked {", *rows, "}", ""]
    )


def main(arguments: list[str]) -> int:
    text = typescript()
    if "--check" in arguments:
        stale = not FILE.exists() or FILE.read_text() != text
        if stale:
            sys.stderr.write(f"{FILE.relative_to(ROOT)} is stale: run python -m tools.panel_types\n")
        return int(stale)
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
