"""Joins the sources of the three modules that the widget sends: `python tools/join_cockpit.py [--check]`.

```
  nbaccel/views/palette.json ──► nbaccel/notebook/cockpit/palette.js
  nbaccel/notebook/cockpit/*.js ── in the order of imports, squeezed, local names shortened ──►
                                                             nbaccel/notebook/static/cockpit.js
  nbaccel/notebook/past/*.js, nbaccel/notebook/runs/*.js ── likewise; the cockpit hands over its parts ──►
                                                             nbaccel/notebook/static/past.js, runs.js
```
The output is committed, so that installing nbaccel needs no Node; `--check` (and a test) says when it is not what the
sources make. The sources are one namespace once they are joined: a name that two files define at the top is refused.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tools.shortening import shortened  # noqa: E402 - a script does not find the folder that it is in
from tools.squeezing import squeezed  # noqa: E402

SOURCES = ROOT / "nbaccel" / "notebook" / "cockpit"
JOINED = ROOT / "nbaccel" / "notebook" / "static" / "cockpit.js"
PALETTE = ROOT / "nbaccel" / "views" / "palette.json"
COLOURS = SOURCES / "palette.js"
ENTRY = "widget.js"
MOST_BYTES = 96_000  # it is sent to every page
HEADER = "// nbaccel's cockpit, joined from nbaccel/notebook/cockpit/ by tools/join_cockpit.py. Change it there.\n"


@dataclass(frozen=True)
class LaterModule:
    """A module that is sent when it is needed: a function that takes the cockpit's parts and returns its own."""

    name: str  # of its folder, its entry and its file
    returned: str
    most_bytes: int

    @property
    def folder(self) -> Path:
        return SOURCES.parent / self.name

    @property
    def entry(self) -> str:
        return f"{self.name}.js"

    @property
    def file(self) -> Path:
        return JOINED.parent / self.entry

    @property
    def header(self) -> str:
        source = f"nbaccel/notebook/{self.name}/"
        return f"// A part of nbaccel's cockpit, joined from {source} by tools/join_cockpit.py. Change it there.\n"


PAST = LaterModule("past", "viewOfPast", 60_000)
RUNS = LaterModule("runs", "viewOfRuns", 60_000)

_IMPORT = re.compile(r'^import .*?from "\./([\w.]+)";\n', re.MULTILINE)
_BORROWED = re.compile(r'^import \{([^}]*)\} from "\.\./cockpit/[\w.]+";\n', re.MULTILINE)
_LENT = re.compile(r"^export const PARTS = \{([^}]*)\};", re.MULTILINE)
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
    """The cockpit's module. Raises ValueError for a name that is defined twice or for what is too big."""
    text, names = _together(folder, ENTRY)
    return _small(HEADER + shortened(squeezed(text), names), MOST_BYTES)


def long(module: LaterModule | None = None) -> str:
    """A module as people read it: the cockpit's, or a later one's."""
    if module is None:
        return _together(SOURCES, ENTRY)[0]
    return _within_function(module, module.folder, SOURCES / "second.js")[0]


def joined_later(module: LaterModule, folder: Path | None = None, lender: Path = SOURCES / "second.js") -> str:
    """A later module, from its folder. Raises ValueError as `joined` does, and for a part that the cockpit does not
    hand over.
    """
    text, names = _within_function(module, folder or module.folder, lender)
    return _small(module.header + shortened(squeezed(text), names), module.most_bytes)


def _within_function(module: LaterModule, folder: Path, lender: Path) -> tuple[str, set[str]]:
    """A later module's text, and the names at the tops of its sources or borrowed."""
    borrowed = {
        each for name in _in_order(folder, module.entry) for each in _names(_BORROWED, (folder / name).read_text())
    }
    missing = borrowed - _names(_LENT, lender.read_text())
    if missing:
        raise ValueError(f"{lender.name} does not hand over {', '.join(sorted(missing))}: add it to PARTS there.")
    text, own = _together(folder, module.entry)
    taken = f"const {{ {', '.join(sorted(borrowed))} }} = parts;"
    return f"export default function (parts) {{\n{taken}\n{text}return {module.returned};\n}}\n", own | borrowed


def _names(pattern: re.Pattern[str], text: str) -> set[str]:
    return {each.strip() for found in pattern.findall(text) for each in found.split(",") if each.strip()}


def _together(folder: Path, entry: str) -> tuple[str, set[str]]:
    """The sources as one text, and the names at their tops."""
    parts, owners = [], dict[str, str]()
    for name in _in_order(folder, entry):
        text = (folder / name).read_text()
        for defined in _TOP_NAME.findall(text):
            if defined in owners:
                raise ValueError(f"{defined} is defined in {owners[defined]} and in {name}: joined, they are one file.")
            owners[defined] = name
        parts.append(_EXPORT.sub("", _BORROWED.sub("", _IMPORT.sub("", text))))
    return "".join(parts), set(owners)


def _small(text: str, most_bytes: int) -> str:
    size_bytes = len(text.encode())
    if size_bytes > most_bytes:
        raise ValueError(f"The joined module has {size_bytes} bytes, more than {most_bytes}.")
    return text


def _in_order(folder: Path, name: str, done: list[str] | None = None) -> list[str]:
    """The files that `name` needs, each after what it needs itself, and `name` at the end."""
    done = [] if done is None else done
    for needed in _IMPORT.findall((folder / name).read_text()):
        if needed not in done:
            _in_order(folder, needed, done)
    done.append(name)
    return done


def main(arguments: list[str]) -> int:
    """Writes the palette and the joined files, or compares them."""
    if "--check" not in arguments:
        COLOURS.write_text(palette())
    texts = {COLOURS: palette(), JOINED: joined(), **{each.file: joined_later(each) for each in (PAST, RUNS)}}
    for path, text in texts.items():
        if "--check" in arguments:
            if not path.exists() or path.read_text() != text:
                sys.stdout.write(f"{path} is not what its sources make: run python tools/join_cockpit.py\n")
                return 1
            continue
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        sys.stdout.write(f"wrote {path.relative_to(ROOT)}, {len(text.encode())} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
