"""Writes what observers and a head say to each other: `python tools/observer_schema.py [--check]`.

```
  nbaccel/views/observer_lines.py ──┬──► docs/observers.md            for people
                                    └──► docs/observers.schema.json   for programs, which can make types of it
```
Both are committed; `--check` (and a test) says when they are not what the classes make.
"""

from __future__ import annotations

import json
import re
import sys
from functools import reduce
from inspect import cleandoc
from operator import or_
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from nbaccel.views import observer_lines
from nbaccel.views.observer_lines import ANSWERS, PROTOCOL, QUESTIONS, ObserverLine

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "observers.md"
SCHEMA = ROOT / "docs" / "observers.schema.json"

HEAD = f"""# What observers may ask a head

<!-- tools/observer_schema.py writes this page from nbaccel/views/observer_lines.py. Change the classes there. -->

An observer is any program that looks at a running head and now and then acts on it: `nbaccel status`, a Jupyter
server, a script of yours. It connects to the head's unix socket, and writes and reads lines of JSON: one object for
each line. This page describes version {PROTOCOL} of the protocol.

The session's record says where the socket is and has the token (see [security.md](security.md)). On the Ray engine
there is no head: the notebook's own process answers, its record has `"engine": "ray"`, and what only a head can do
(`notes`, `add_node`, `remove_node`, `stop`) is answered with `error`. It answers nothing while user code keeps Python's
lock.

```
  you    {{"token": "…"}}
  head   {{"kind": "welcome", "protocol": {PROTOCOL}, "session": "…"}}
  you    {{"ask": "logs", "task_id": "3f…", "tail": 20}}
  head   {{"kind": "logs", "text": "…"}}
```

- Answers come in the order of the questions. A watched snapshot may come between two of them.
- A question that the head does not know, or whose fields it cannot use, is answered with `error`; you may ask again.
- The head ignores fields that it does not know. Ignore fields and kinds of answers that you do not know: new ones may
  be added, with defaults, without a new version. A change that an observer could trip over raises the version.
- Ids are hex, times are Unix seconds, memory is in bytes. Quantities are in whole resources: 0.25 is a quarter of a
  GPU.
- Types are written as in TypeScript. A field with `?` may be left out of a question, and may be missing in an answer.
- [observers.schema.json](observers.schema.json) has all of this as JSON Schema, with the fields of records. The field
  `ask` tells its `questions` apart, and `kind` its `answers`.
"""


def schema() -> dict[str, Any]:
    """The JSON Schema of all questions and answers."""
    questions = reduce(or_, QUESTIONS.values())
    (asked, answered), records = msgspec.json.schema_components([questions, ANSWERS], ref_template="#/$defs/{name}")
    for record in records.values():  # msgspec took docstrings with their indentation before 0.23
        if "description" in record:
            record["description"] = cleandoc(record["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What observers may ask a head of nbaccel",
        "version": PROTOCOL,
        "questions": asked,
        "answers": answered,
        "$defs": records,
    }


def page(made: dict[str, Any]) -> str:
    """The Markdown page of a schema."""
    records = made["$defs"]
    spoken = {kind.tag(): kind for kind in get_args(ANSWERS)}
    parts = [HEAD, "\n## Questions\n"]
    for name, kind in QUESTIONS.items():
        line: type[ObserverLine] = get_type_hints(kind.line, vars(observer_lines))["return"]
        fields = _fields(records[kind.__name__], leave_out="ask")
        parts.append(f"\n### Question `{name}`\n\n{_said(records[kind.__name__])}\n\n{fields}Answer: `{line.tag()}`.\n")
    parts.append("\n## Answers\n\n| kind | what it is | fields |\n|---|---|---|\n")
    for tag, kind in spoken.items():
        record = records[kind.__name__]
        said, listed = " ".join(_said(record).split()), _list(record, leave_out="kind").replace("|", "\\|")
        parts.append(f"| `{tag}` | {said} | {listed} |\n")
    parts.append("\n## Records\n\nWhat has no words here is told by the names of its fields in the schema.\n")
    asked = {kind.__name__ for kind in [*QUESTIONS.values(), *spoken.values()]}
    for name in sorted(set(records) - asked):
        if said := _said(records[name]):
            parts.append(f"\n### {name}\n\n{said}\n")
    return re.sub(r"\n{3,}", "\n\n", "".join(parts))


def _said(record: dict[str, Any]) -> str:
    return cleandoc(record.get("description", ""))


def _fields(record: dict[str, Any], leave_out: str = "") -> str:
    listed = _list(record, leave_out)
    return f"Fields: {listed}.\n\n" if listed else ""


def _list(record: dict[str, Any], leave_out: str = "") -> str:
    """The fields with their types; a question mark stands after those that have a default or may be missing."""
    required = set(record.get("required", ()))
    return ", ".join(
        f"`{name}{'' if name in required else '?'}: {_type(field)}`"
        for name, field in record.get("properties", {}).items()
        if name != leave_out
    )


def _type(field: dict[str, Any]) -> str:
    """The type of a field, as TypeScript writes it."""
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if "anyOf" in field:
        return "|".join(_type(one) for one in field["anyOf"])
    if "enum" in field:
        return "|".join(json.dumps(one) for one in field["enum"])
    if field.get("type") == "array":
        if "prefixItems" in field:
            return f"[{', '.join(_type(one) for one in field['prefixItems'])}]"
        return f"{_type(field.get('items', {}))}[]"
    if field.get("type") == "object":
        values = field.get("additionalProperties")
        return f"{{[key]: {_type(values)}}}" if isinstance(values, dict) and values else "object"
    return str(field.get("type", "any"))


def written() -> dict[Path, str]:
    """The files and what stands in them."""
    made = schema()
    return {PAGE: page(made), SCHEMA: json.dumps(made, indent=1, ensure_ascii=False) + "\n"}


def main(arguments: list[str]) -> int:
    stale = [path for path, text in written().items() if not path.exists() or path.read_text() != text]
    if "--check" in arguments:
        for path in stale:
            sys.stderr.write(f"{path.relative_to(ROOT)} is stale: run python tools/observer_schema.py\n")
        return 1 if stale else 0
    for path, text in written().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
