"""Joins the cockpit's sources into the one file that the widget sends: `python tools/join_cockpit.py [--check]`.

```
  nbaccel/views/palette.json ──► nbaccel/notebook/cockpit/palette.js
  nbaccel/notebook/cockpit/*.js ── in the order of imports, squeezed ──► nbaccel/notebook/static/cockpit.js
```
The output is committed, so that installing nbaccel needs no Node; `--check` (and a test) says when it is not what the
sources make. The sources are one namespace once they are joined: a name that two files define at the top is refused.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tools.squeezing import squeezed  # noqa: E402 - a script does not find the folder that it is in

SOURCES = ROOT / "nbaccel" / "notebook" / "cockpit"
JOINED = ROOT / "nbaccel" / "notebook" / "static" / "cockpit.js"
PALETTE = ROOT / "nbaccel" / "views" / "palette.json"
COLOURS = SOURCES / "palette.js"
ENTRY = "widget.js"
MOST_BYTES = 90_000  # it is sent to every page
HEADER = "// nbaccel's cockpit, joined from nbaccel/notebook/cockpit/ by tools/join_cockpit.py. Change it there.\n"

_IMPORT = re.compile(r'^import .*?from "\./([\w.]+)";\n', re.MULTILINE)
_TOP_NAME = re.compile(r"^(?:export )?(?:const|let|function|class) (\w+)", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)(?:\{\};\n)?", re.MULTILINE)


def palette() -> str:
    """The palette as a source of the cockpit."""
    colours = json.loads(PALETTE.read_text())
    rows = "".join(f"    {json.dumps(shades)},\n" for shades in colours.pop("hues"))
    others = "".join(f"  {name}: {json.dumps(value)},\n" for name, value in colours.items())
    head = "// Written by tools/join_cockpit.py from nbaccel/views/palette.json. Change it there.\n\n"
    return f"{head}export const PALETTE = {{\n  hues: [\n{rows}  ],\n{others}}};\n"


def joined(folder: Path = SOURCES) -> str:
    """The one module. Raises ValueError for a name that is defined twice or for what is too big."""
    parts, owners = [], dict[str, str]()
    for name in _in_order(folder, ENTRY):
        text = (folder / name).read_text()
        for defined in _TOP_NAME.findall(text):
            if defined in owners:
                raise ValueError(f"{defined} is defined in {owners[defined]} and in {name}: joined, they are one file.")
            owners[defined] = name
        parts.append(_stripped(text))
    text = HEADER + "".join(parts)
    size_bytes = len(text.encode())
    if size_bytes > MOST_BYTES:
        raise ValueError(f"The joined cockpit has {size_bytes} bytes, more than {MOST_BYTES}.")
    return text


def _in_order(folder: Path, name: str, done: list[str] | None = None) -> list[str]:
    """The files that `name` needs, each after what it needs itself."""
    done = [] if done is None else done
    for needed in _IMPORT.findall((folder / name).read_text()):
        if needed not in done:
            _in_order(folder, needed, done)
    return [*done, name] if name == ENTRY else done.append(name) or done


def _stripped(text: str) -> str:
    """Without imports, exports (but the entry's default), comments and spaces."""
    return squeezed(_EXPORT.sub("", _IMPORT.sub("", text)))


def main(arguments: list[str]) -> int:
    """Writes the palette and the joined file, or compares them."""
    if "--check" not in arguments:
        COLOURS.write_text(palette())
    text = joined()
    if "--check" in arguments:
        same = JOINED.exists() and JOINED.read_text() == text and COLOURS.read_text() == palette()
        sys.stdout.write("" if same else f"{JOINED} is not what its sources make: run python tools/join_cockpit.py\n")
        return 0 if same else 1
    JOINED.parent.mkdir(exist_ok=True)
    JOINED.write_text(text)
    sys.stdout.write(f"wrote {JOINED.relative_to(ROOT)}, {len(text.encode())} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
