"""The long description that a package index shows: README.md without pictures and links that lead into a checkout."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https://)[^)]*\)\n\n", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\((?!https://)[^)]*\)")


class LongDescription(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        """Add the field `readme`. There is no published repository whose files a link could name."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        shown = _LINK.sub(r"\1", _PICTURE.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}
