"""The front end: its own tests in Node, its types, and the committed files that it is built into."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nbaccel.quantities import LONG_RUN_S
from nbaccel.views import palette

ROOT = Path(__file__).parent.parent
FRONTEND = ROOT / "frontend"
BUILT = sorted((ROOT / "nbaccel" / "notebook" / "static").glob("*.js"))
TSX = ("node", "--import", "tsx")  # Node that reads TypeScript
needs_packages = pytest.mark.skipif(
    shutil.which("node") is None or not (FRONTEND / "node_modules").exists(),
    reason="its packages are not installed: npm --prefix frontend ci",
)


def run(*command: str) -> str:
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=FRONTEND, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_packages
def test_the_committed_files_are_what_the_sources_make() -> None:
    run(*TSX, "build.ts", "--check")


@pytest.mark.parametrize("built", BUILT, ids=lambda built: built.name)
def test_a_built_file_asks_no_network(built: Path) -> None:
    text = built.read_text()
    for word in ("https:", "fetch(", "WebSocket", "XMLHttpRequest", "innerHTML", "eval(", "import "):
        assert word not in text, word


@needs_packages
def test_names_have_the_same_hue_and_ids_the_same_shade_in_both_languages() -> None:
    texts = ["train", "infer", "Zähler", "😀 smile", "", "9b9fa58bf929ef71cdc852a5"]
    imported = "const { numberOf } = await import('./src/model/colours.ts')"
    said = run(*TSX, "--input-type=module", "-e", f"{imported}; console.log({texts!r}.map(numberOf).join())")
    assert said.strip().split(",") == [str(palette.number_of(each)) for each in texts]


def test_a_run_is_long_for_the_page_when_it_is_long_for_the_head() -> None:
    assert f"const LONG_S = {LONG_RUN_S:g};" in (FRONTEND / "src" / "widget" / "notices.ts").read_text()


@needs_packages
def test_the_view_model_passes_its_tests_in_node() -> None:
    assert "# fail 0" in run(*TSX, "--test", "--test-reporter=tap", "tests/")


@needs_packages
def test_the_types_hold() -> None:
    run("node", "node_modules/typescript/bin/tsc")
