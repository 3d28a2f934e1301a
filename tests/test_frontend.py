"""The cockpit's sources: their own tests in Node, their types, and the one file that they are joined into."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nbaccel.quantities import LONG_RUN_S
from nbaccel.views import palette
from tools import join_cockpit as joining

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SOURCES = ROOT / "nbaccel" / "notebook" / "cockpit"
LATER = (joining.PAST, joining.RUNS)


def run(*command: str) -> str:
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_committed_file_is_what_the_sources_make() -> None:
    assert joining.JOINED.read_text() == joining.joined(), "run python tools/join_cockpit.py"
    for later in LATER:
        assert later.file.read_text() == joining.joined_later(later), "run python tools/join_cockpit.py"


@pytest.mark.parametrize(
    ("joined", "most_bytes"), [(joining.JOINED, joining.MOST_BYTES), *((later.file, 60_000) for later in LATER)]
)
def test_a_joined_file_is_small_and_asks_no_network(joined: Path, most_bytes: int) -> None:
    text = joined.read_text()
    assert len(text.encode()) <= most_bytes
    for word in ("https:", "fetch(", "WebSocket", "XMLHttpRequest", "innerHTML", "eval(", "import "):
        assert word not in text, word


def test_two_files_may_not_define_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "one.js").write_text("export const size = 1;\n")
    (tmp_path / "widget.js").write_text('import { size } from "./one.js";\nconst size = 2;\n')
    with pytest.raises(ValueError, match=r"size is defined in one\.js and in widget\.js"):
        joining.joined(tmp_path)


def test_the_second_module_takes_only_parts_that_the_first_hands_over(tmp_path: Path) -> None:
    (tmp_path / "runs.js").write_text('import { h, secret } from "../cockpit/dom.js";\nexport const viewOfRuns = h;\n')
    with pytest.raises(ValueError, match=r"second\.js does not hand over secret: add it to PARTS there"):
        joining.joined_later(joining.RUNS, tmp_path)


@pytest.mark.parametrize(
    ("folder", "entry"), [(SOURCES, joining.ENTRY), *((later.folder, later.entry) for later in LATER)]
)
def test_every_source_is_part_of_it_and_small(folder: Path, entry: str) -> None:
    used = set(joining._in_order(folder, entry))
    assert {path.name for path in folder.glob("*.js")} - used <= {"types.js"}  # types alone: nothing to run
    for path in folder.glob("*.js"):
        assert len(path.read_text().splitlines()) <= 200, path.name


def test_names_have_the_same_hue_and_ids_the_same_shade_in_both_languages() -> None:
    if shutil.which("node") is None:
        pytest.skip("no node here; the committed file needs none")
    texts = ["train", "infer", "Zähler", "😀 smile", "", "9b9fa58bf929ef71cdc852a5"]
    imported = f"const {{ numberOf }} = await import('file://{SOURCES}/colours.js')"
    said = run("node", "--input-type=module", "-e", f"{imported}; console.log({texts!r}.map(numberOf).join())")
    assert said.strip().split(",") == [str(palette.number_of(each)) for each in texts]


def test_the_palette_of_the_page_is_pythons() -> None:
    assert joining.COLOURS.read_text() == joining.palette(), "run python tools/join_cockpit.py"


def test_a_run_is_long_for_the_page_when_it_is_long_for_the_head() -> None:
    assert f"const LONG_S = {LONG_RUN_S:g};" in (SOURCES / "notices.js").read_text()


def test_the_view_model_passes_its_tests_in_node() -> None:
    if shutil.which("node") is None:
        pytest.skip("no node here; the committed file needs none")
    assert "# fail 0" in run("node", "--test", "--test-reporter=tap")


def test_the_joined_file_is_a_module_with_a_widget(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("no node here; the committed file needs none")
    module = tmp_path / "cockpit.mjs"
    module.write_text(joining.JOINED.read_text())
    assert (
        run("node", "-e", f"import({str(module)!r}).then(m => console.log(typeof m.default.render))").strip()
        == "function"
    )


def test_the_types_hold() -> None:
    compiler = HERE / "node_modules" / ".bin" / "tsc"
    if not compiler.exists():
        pytest.skip("TypeScript is not installed: npm --prefix tests/cockpit ci")
    run(str(compiler), "-p", "tsconfig.json")
