"""The moving picture of the README: a cell submits, GPUs fill, one task is cancelled, all are done.

    pip install pillow; python -m tests.browser.moving docs/images/quickstart.gif

A real Notebook with a real kernel is photographed twice a second.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.pages import NotebookPage
from tests.browser.servers import Server

WIDTH, HEIGHT = 1000, 1080
FRAME_S = 0.5
MOST_BYTES = 2_000_000
CELLS = (
    "%load_ext nbaccel\n%accel_init num_gpus=4 num_cpus=8",
    "%accel_dashboard",
    """import time
import nbaccel as ray

@ray.remote(num_gpus=1)
def train(seconds):
    time.sleep(seconds)

@ray.remote(num_gpus=0.5)
def evaluate(seconds):
    time.sleep(seconds)

refs = [train.remote(s) for s in (5, 20, 7)] + [evaluate.remote(s) for s in (6, 8, 9)]
done, _ = ray.wait(refs, num_returns=len(refs))""",
)


def record(page: NotebookPage) -> list[bytes]:
    """Pictures from before the cells run until all tasks have ended."""
    frames = [page.page.screenshot()]
    page.run_all()
    cancelled, ended, begun = False, 0, time.monotonic()
    while ended < 4:
        time.sleep(max(0.0, FRAME_S - (time.monotonic() - begun)))
        begun = time.monotonic()
        frames.append(page.page.screenshot())
        if not cancelled and len(frames) > 8:
            page.cockpit(1).get_by_role("button", name="Cancel train on GPU 1").click()
            cancelled = True
        ended += not page.is_busy and cancelled
    return frames


def write(frames: list[bytes], path: Path) -> None:
    """A GIF in which only what changes is stored. Raises ValueError if it is too large for a README."""
    from PIL import Image

    images: list[Any] = [Image.open(io.BytesIO(frame)).convert("P", palette=Image.Palette.ADAPTIVE) for frame in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=int(FRAME_S * 1000), loop=0, optimize=True)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} has {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}.")


def main(path: Path) -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        server = Server(Path(folder), classic=True)
        try:
            page = NotebookPage(browser, server, CELLS, viewport={"width": WIDTH, "height": HEIGHT})
            frames = record(page)
            page.close()
        finally:
            server.close()
            browser.close()
    write(frames, path)
    sys.stdout.write(f"wrote {path}: {len(frames)} pictures, {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
