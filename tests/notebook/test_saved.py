"""A finished notebook, saved and converted: what was true when its cells ran can be read, and nothing is fetched."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("nbconvert")

from traitlets.config import Config

HOSTILE = "<img src=x onerror=alert(1)>"
CELLS = (
    "%load_ext nbaccel\n%accel_init num_gpus=2 num_cpus=2",
    "import nbaccel as ray\n\n@ray.remote(num_gpus=1)\nclass Holder:\n    def ready(self):\n        return True\n\n"
    f"holder = Holder.options(name={HOSTILE!r}).remote()\nray.get(holder.ready.remote())",
    "holder",
    f"@ray.remote(num_gpus=2)\ndef both():\n    pass\n\nref = both.options(name={HOSTILE!r}).remote()\n%accel_status",
    "ref",
    "%accel_devices",
    "%accel_tasks",
    "%accel_shutdown",
)


class _Outputs(HTMLParser):
    """The tags and the text inside of nbaccel's boxes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        for box in re.findall(r'<div class="nbaccel">.*?</div>', page, re.S):
            self.feed(box)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    import nbformat  # seconds, which the processes that run other tests need not spend
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    place = tmp_path_factory.mktemp("k")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    unix = Config({"KernelManager": {"transport": "ipc", "ip": f"{place}/kernel"}})
    # Outputs that come later than `iopub_timeout` after their cell's reply are left out: a machine may stand still.
    patience = {"timeout": 120, "startup_timeout": 120, "iopub_timeout": 120}
    NotebookClient(notebook, config=unix, kernel_name="python3", **patience).execute()
    path = Path(place) / "finished.ipynb"
    nbformat.write(notebook, path)
    html, _ = HTMLExporter().from_notebook_node(nbformat.read(path, as_version=4))
    return str(html)


def test_the_page_names_devices_holders_and_reasons(page: str) -> None:
    text = _Outputs(page).text
    assert "GPU 0" in text
    assert "● held" in text
    assert re.search(r"Holder\s+cell \[2\] line \d+", text)
    assert "1 of 2 GPUs" in text
    assert "nbaccel has shut down." in text


def test_a_ref_and_an_actor_show_their_state(page: str) -> None:
    text = " ".join(_Outputs(page).text.split())
    assert re.search(r"Holder “.*?” #\w+ · pid \d+ ● alive GPU 0 \[2\] line \d+", text)
    assert re.search(r"#\S+ ◌ waiting 1 CPU, 2 GPU \[4\] line \d+", text)


def test_names_stay_text_and_nothing_is_fetched(page: str) -> None:
    outputs = _Outputs(page)
    assert HOSTILE in outputs.text
    assert not outputs.tags & {"img", "script", "iframe", "link"}
    assert outputs.links == []
