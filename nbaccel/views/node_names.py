"""What nodes are called in every view: without their domain, and of a long name the beginning and the end, which tells
it from others. A title has the whole. The page does the same (`model/words.ts`).

Example::

    node_names([NodeRow("n1", "gpu-3.cluster.example.org")])     # {"n1": "gpu-3"}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from nbaccel.views import wording
from nbaccel.views.snapshot import NodeRow

HEAD, TAIL = 13, 10  # letters of a long name, before and after its ellipsis


def node_names(nodes: Sequence[NodeRow]) -> dict[str, str]:
    """The nodes' names by their ids; two that differ only in their domains keep these."""
    wholes = {node.node_id: wording.plain(node.name) for node in nodes}
    times = Counter(map(_host, wholes.values()))
    return {id: _shortened(whole if times[_host(whole)] > 1 else _host(whole)) for id, whole in wholes.items()}


def _host(name: str) -> str:
    """The name without its domain; an address has none."""
    return name if re.fullmatch(r"[\d.:]+", name) else name.partition(".")[0]


def _shortened(name: str) -> str:
    return f"{name[:HEAD]}…{name[-TAIL:]}" if len(name) > HEAD + 1 + TAIL else name
