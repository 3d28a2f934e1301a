"""Classes that tests tune; they are found by import in workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nbaccel import tune


class Counts(tune.Trainable):
    """Counts its steps, and notes in its folder which of its methods were called."""

    def setup(self, config: dict[str, Any], **parameters: Any) -> None:
        self.count, self.x, self.parameters = 0, config["x"], parameters
        self.note("setup")

    def step(self) -> dict[str, Any]:
        if self.config.get("fails_in") == self.count + 1 and not (Path(self.logdir) / "failed").exists():
            (Path(self.logdir) / "failed").touch()
            raise ZeroDivisionError("as it was asked to")
        self.count += 1
        done = self.count >= self.config.get("steps", 1_000)
        return {"score": self.x * self.count, "count": self.count, "done": done, "folder": os.getcwd()}

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, Any]:
        return {"count": self.count}

    def load_checkpoint(self, checkpoint: Any) -> None:
        self.count = checkpoint["count"]
        self.note(f"load {self.count}")

    def cleanup(self) -> None:
        self.note("cleanup")

    def _export_model(self, export_formats: list[str], export_dir: str) -> dict[str, str]:
        path = os.path.join(export_dir, "model.txt")
        Path(path).write_text(",".join(export_formats))
        return {"text": path}

    def note(self, what: str) -> None:
        with open(os.path.join(self.logdir, "calls"), "a") as file:
            file.write(f"{what}\n")


class Files(Counts):
    """Writes a file instead."""

    def save_checkpoint(self, checkpoint_dir: str) -> None:  # type: ignore[override]  # as Ray allows
        (Path(checkpoint_dir) / "count").write_text(str(self.count))

    def load_checkpoint(self, checkpoint: Any) -> None:
        self.count = int((Path(checkpoint) / "count").read_text())


class Overrides(Counts):
    """Overrides what others rarely do."""

    def log_result(self, result: dict[str, Any]) -> None:
        self.note(f"log {result['count']}")

    def export_model(self, export_formats: Any, export_dir: str | None = None) -> dict[str, str]:
        self.note(f"export {export_formats}")
        return {}


class Reused(Counts):
    """Serves several trials."""

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.count, self.x = 0, new_config["x"]
        self.note("reset")
        return True


class Asks(Counts):
    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> tune.PlacementGroupFactory:
        return tune.PlacementGroupFactory([{"CPU": config["x"]}])


def calls(path: str) -> list[str]:
    return (Path(path) / "calls").read_text().split("\n")[:-1]
