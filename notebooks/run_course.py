"""Runs notebooks of the course and saves them with what they show: `make notebooks`.

`python notebooks/run_course.py 02 05` runs only those whose names begin so.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

HERE = Path(__file__).parent
WIDGET = "application/vnd.jupyter.widget-view+json"  # needs a kernel; what is saved has HTML beside it


def main() -> int:
    """Run each notebook in a new kernel and save it; an error of a cell ends the program."""
    wanted = tuple(sys.argv[1:]) or ("",)
    for path in sorted(path for path in HERE.glob("[0-9]*.ipynb") if path.name.startswith(wanted)):
        notebook = nbformat.read(path, as_version=4)
        started = time.monotonic()
        execute(notebook, path)
        path.write_text(saved(notebook), "utf-8")
        print(f"{path.name}: {time.monotonic() - started:.0f} s")
    return 0


def execute(notebook: Any, path: Path, *, timeout_s: int = 300) -> None:
    """Run every cell in a kernel of its own, through Unix sockets: no port is opened."""
    with tempfile.TemporaryDirectory() as sockets:
        unix = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
        where = {"metadata": {"path": str(path.parent)}}
        NotebookClient(
            notebook,
            config=unix,
            timeout=timeout_s,
            startup_timeout=180,
            record_timing=False,
            resources=where,
        ).execute(env={**os.environ, "JPY_SESSION_NAME": path.name})


def saved(notebook: Any) -> str:
    """The notebook's text, without what belongs to one machine or needs a kernel."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output.data.pop(WIDGET, None)
        if cell.get("outputs"):  # a line that said why work waits is empty when the work has come
            left = [output for output in cell.outputs if any(output.get("data", {"": "other"}).values())]
            cell.outputs = nbformat.from_dict(anonymous(left))
    return str(nbformat.writes(notebook)) + "\n"


def anonymous(shown: Any) -> Any:
    """`shown` without folders, process ids, the host's name, and the user's name."""
    if isinstance(shown, dict):
        return {key: anonymous(value) for key, value in shown.items()}
    if isinstance(shown, list):
        return [anonymous(value) for value in shown]
    if not isinstance(shown, str):
        return shown
    for pattern, word in (
        (re.escape(str(HERE.parent)), "~/nbaccel"),
        (re.escape(sys.prefix), "~/.venv"),
        (re.escape(str(Path.home())) + r"(?=/)", "~"),
        (re.escape(tempfile.gettempdir()) + r"/[\w.-]+", "/tmp/folder"),
        (rf"\b{re.escape(socket.gethostname())}\b", "laptop"),
        (rf"\b{re.escape(getpass.getuser())}@", "you@"),
        (r"\bpid([ =])\d+", r"pid\g<1>4711"),
    ):
        shown = re.sub(pattern, word, shown)
    return shown


if __name__ == "__main__":
    sys.exit(main())
