"""Runs the quickstart notebook in a real kernel, without a browser, and prints what it showed: `make demo`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient.exceptions import CellExecutionError
from run_course import execute

NOTEBOOK = Path(__file__).parent / "01_quickstart.ipynb"
SHOWN = {"card": "The cluster card", "output": "What the actor and the task printed", "devices": "The device table"}


def main() -> int:
    """Executes every cell; 1 if one fails, with its traceback."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    started = time.monotonic()
    try:
        execute(notebook, NOTEBOOK)
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    for title, text in _shown(notebook):
        print(f"── {title} ".ljust(78, "─"), text, "", sep="\n")
    print(f"{NOTEBOOK.name}: every cell ran, {time.monotonic() - started:.1f} s with the kernel's start.")
    return 0


def _shown(notebook: Any) -> Iterator[tuple[str, str]]:
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", []):
            if tag in SHOWN:
                yield SHOWN[tag], "\n".join(_text(output) for output in cell.outputs).rstrip()


def _text(output: Any) -> str:
    return str(output["text"]).rstrip() if output.output_type == "stream" else str(output["data"]["text/plain"])


if __name__ == "__main__":
    sys.exit(main())
