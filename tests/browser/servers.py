"""Real JupyterLab and Notebook servers for the browser tests, each in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.ports import free_port

START_TIMEOUT_S = 120
END_TIMEOUT_S = 90  # a server that is killed leaves its kernels, and one of them may compute for hours
ROOT = Path(__file__).parent.parent.parent
PREFIX = "/a%40b/"  # of a server with the panel: a character that is written in another way in a path
NVML = Path(__file__).parent / "nvml"
DEVICES = "devices.json"
TOKEN = "a-token-of-the-tests"
STORED = "stored"  # the folder of training runs


class Server:
    """A Jupyter server on a port of its own; `address` is a notebook's page.

    With `panel` nbaccel-lab is in use. Then the server has a prefix, a token and XSRF checks, and Jupyter's files are
    in a folder of its own. Without it, the server has none of this. With `machine` its machine seems to have the
    devices that `have_devices` says. With `looks_only` its user may look at what nbaccel shows, and not change it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        classic: bool = False,
        dark: bool = False,
        panel: bool = False,
        machine: bool = False,
        looks_only: bool = False,
    ) -> None:
        self.folder = folder
        self.classic = classic
        self.panel = panel
        self.machine = machine
        self.looks_only = looks_only
        self.port = free_port()
        self.base = PREFIX if panel else "/"
        self.runtime = Path(tempfile.mkdtemp(prefix="nb")) if panel else None  # sockets in it want a short path
        _write_settings(folder, dark)
        _write_extensions(folder, panel)
        self.start()

    def start(self) -> None:
        """Start it at its address, where pages look for it after `stop`."""
        folder = self.folder
        self._log = open(folder / "server.log", "a")  # noqa: SIM115 - closed with the server
        application = "notebook" if self.classic else "jupyterlab"
        command = [sys.executable, "-m", application, "--no-browser", "--allow-root", f"--port={self.port}"]
        command += [
            f"--IdentityProvider.token={TOKEN if self.panel else ''}",
            f"--ServerApp.base_url={self.base}",
            f"--ServerApp.root_dir={folder}",
            "--ServerApp.port_retries=0",  # a server that starts again has to be where the page looks for it
            "--KernelManager.transport=ipc",
            f"--ServerApp.disable_check_xsrf={not self.panel}",
        ]
        if self.looks_only:
            command.append("--ServerApp.authorizer_class=tests.browser.authorizer.LooksOnly")
        environment = {
            **os.environ,
            "JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings"),
            "JUPYTER_CONFIG_DIR": str(folder / ".config"),
            "PYTHONPATH": str(ROOT),
            "NBACCEL_STORAGE": str(folder / STORED),
        }
        if self.runtime is not None:
            environment["JUPYTER_RUNTIME_DIR"] = str(self.runtime)
        if self.machine:
            environment |= {"PYTHONPATH": f"{NVML}:{ROOT}", "NBACCEL_TESTS_DEVICES": str(folder / DEVICES)}
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True, env=environment, cwd=folder
        )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(self.url("api"), timeout=10):
                    return
            except OSError:
                assert self._process.poll() is None, (self.folder / "server.log").read_text()
                time.sleep(0.1)
        raise AssertionError(f"The server did not answer within {START_TIMEOUT_S} s.")

    def told(self) -> str:
        """Whether the server runs, with the end of its log, for a page that could not be had."""
        ended = self._process.poll()
        state = "runs" if ended is None else f"has ended with {ended}"
        return f"The server, pid {self._process.pid}, {state}:\n{(self.folder / 'server.log').read_text()[-2000:]}"

    def write(self, name: str, *cells: str) -> str:
        """A notebook with these cells; returns its address."""
        import nbformat  # seconds, which the processes that run other tests need not spend

        notebook = nbformat.v4.new_notebook()
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(notebook, self.file(name))
        return self.address(name)

    def have_devices(self, devices: list[dict[str, Any]]) -> None:
        """Let the machine have these devices, as `nvml/pynvml.py` reads them."""
        self.file(DEVICES).write_text(json.dumps(devices))

    def url(self, path: str) -> str:
        """The address of a path of this server."""
        return f"http://127.0.0.1:{self.port}{self.base}{path}"

    def file(self, name: str) -> Path:
        return self.folder / name

    def address(self, name: str) -> str:
        """Of the page of a notebook that is there."""
        page = f"notebooks/{name}" if self.classic else f"lab/workspaces/{name.split('.')[0]}/tree/{name}"
        return self.url(page) + (f"?token={TOKEN}" if self.panel else "")

    @property
    def headers(self) -> dict[str, str]:
        """What a request that is no browser's shows."""
        return {"Authorization": f"token {TOKEN}"} if self.panel else {}

    def close(self) -> None:
        """End the server and with it its kernels."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.runtime is not None:
            shutil.rmtree(self.runtime, ignore_errors=True)

    def stop(self) -> None:
        """End the server; it ends its kernels, even one that computes in C and hears nothing."""
        self._process.terminate()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()


def _write_settings(folder: Path, dark: bool) -> None:
    settings = folder / ".settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    theme = "JupyterLab Dark" if dark else "JupyterLab Light"
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')


def _write_extensions(folder: Path, panel: bool) -> None:
    """Whether nbaccel-lab is in use, where it is installed. jupyter_server_mcp is not: it listens at a port that is the
    same for all servers, and ends those that come second.
    """
    configuration = folder / ".config"
    (configuration / "labconfig").mkdir(parents=True)
    disabled = {} if panel else {"@nbaccel/lab": True}
    (configuration / "labconfig" / "page_config.json").write_text(json.dumps({"disabledExtensions": disabled}))
    enabled = {"ServerApp": {"jpserver_extensions": {"nbaccel_lab": panel, "jupyter_server_mcp": False}}}
    (configuration / "jupyter_server_config.json").write_text(json.dumps(enabled))
