"""Real JupyterLab and Notebook servers for the browser tests, each in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

START_TIMEOUT_S = 120
ROOT = Path(__file__).parent.parent.parent


class Server:
    """A Jupyter server without a token, on a port of its own; `url` opens a notebook in its page."""

    def __init__(self, folder: Path, *, classic: bool = False, dark: bool = False) -> None:
        self.folder = folder
        self.classic = classic
        self.port = _free_port()
        _write_settings(folder, dark)
        self._log = open(folder / "server.log", "w")  # noqa: SIM115 - closed with the server
        application = "notebook" if classic else "jupyterlab"
        command = [sys.executable, "-m", application, "--no-browser", "--allow-root", f"--port={self.port}"]
        command += [
            "--IdentityProvider.token=",
            f"--ServerApp.root_dir={folder}",
            "--KernelManager.transport=ipc",
            "--ServerApp.disable_check_xsrf=True",
        ]
        environment = {
            **os.environ,
            "JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings"),
            "JUPYTER_CONFIG_DIR": str(folder / ".config"),
            "PYTHONPATH": str(ROOT),
        }
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True, env=environment, cwd=folder
        )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api", timeout=10):
                    return
            except OSError:
                assert self._process.poll() is None, (self.folder / "server.log").read_text()
                time.sleep(0.1)
        raise AssertionError(f"The server did not answer within {START_TIMEOUT_S} s.")

    def write(self, name: str, *cells: str) -> str:
        """A notebook with these cells; returns its address."""
        import nbformat  # seconds, which the processes that run other tests need not spend

        notebook = nbformat.v4.new_notebook()
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(notebook, self.file(name))
        return self.address(name)

    def file(self, name: str) -> Path:
        return self.folder / name

    def address(self, name: str) -> str:
        """Of the page of a notebook that is there."""
        page = f"notebooks/{name}" if self.classic else f"lab/workspaces/{name.split('.')[0]}/tree/{name}"
        return f"http://127.0.0.1:{self.port}/{page}"

    def close(self) -> None:
        """End the server and with it its kernels."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _write_settings(folder: Path, dark: bool) -> None:
    settings = folder / ".settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    theme = "JupyterLab Dark" if dark else "JupyterLab Light"
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
