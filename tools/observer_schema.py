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
- A field with `?` may be left out of a question, and has a default in an answer, or may be missing there.
- [observers.schema.json](observers.schema.json) has all of this as JSON Schema, with the defaults. The field `ask`
  tells its `questions` apart, and `kind` its `answers`.
"""


def schema() -> dict[str, Any]:
    """The JSON Schema of all questions and answers."""
    questions = reduce(or_, QUESTIONS.values())
    (asked, answered), records = msgspec.json.schema_components([questions, ANSWERS], ref_template="#/$defs/{name}")
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
    parts = [HEAD, "\n## Questions\n"]
    for name, kind in QUESTIONS.items():
        line: type[ObserverLine] = get_type_hints(kind.line, vars(observer_lines))["return"]
        answer = f"Answer: [{line.tag()}](#answer-{line.tag()})."
        fields = _fields(records[kind.__name__], leave_out="ask")
        parts.append(f"\n### Question `{name}`\n\n{_said(records[kind.__name__])}\n\n{fields}{answer}\n")
    parts.append("\n## Answers\n")
    spoken = {kind.__name__: kind for kind in get_args(ANSWERS)}
    for name, kind in spoken.items():
        said = _said(records[name])
        parts.append(f"\n### Answer `{kind.tag()}`\n\n{said}\n\n{_fields(records[name], leave_out='kind')}")
    parts.append("\n## Records\n")
    asked = {kind.__name__ for kind in QUESTIONS.values()}
    for name in sorted(set(records) - set(spoken) - asked):
        parts.append(f"\n### {name}\n\n{_said(records[name])}\n\n{_fields(records[name])}")
    return re.sub(r"\n{3,}", "\n\n", "".join(parts))


def _said(record: dict[str, Any]) -> str:
    return cleandoc(record.get("description", ""))


def _fields(record: dict[str, Any], leave_out: str = "") -> str:
    """The fields with their types; a question mark stands after those that have a default or may be missing."""
    required = set(record.get("required", ()))
    fields = [
        f"`{name}{'' if name in required else '?'}` {_type(field)}"
        for name, field in record.get("properties", {}).items()
        if name != leave_out
    ]
    return f"Fields: {', '.join(fields)}.\n\n" if fields else ""


def _type(field: dict[str, Any]) -> str:
    """The type of a field in words."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    if "enum" in field:
        return " or ".join(f"`{json.dumps(one)}`" for one in field["enum"])
    if field.get("type") == "array":
        if "prefixItems" in field:
            return f"[{', '.join(_type(one) for one in field['prefixItems'])}]"
        return f"list of {_type(field.get('items', {}))}"
    if field.get("type") == "object":
        values = field.get("additionalProperties")
        return f"object of {_type(values)}" if isinstance(values, dict) and values else "object"
    return str(field.get("type", "anything"))


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
