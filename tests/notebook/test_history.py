"""Values that only Out[] holds leave memory first, and are never lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.notebook.kernels import Kernel


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    kernel.run("import nbaccel\nnbaccel.init(num_cpus=1, object_store_memory=40_000_000)")
    yield kernel
    kernel.close()


def test_what_only_the_history_holds_is_moved_to_disk_first_and_can_still_be_got(kernel: Kernel) -> None:
    kernel.run("kept = nbaccel.put(b'k' * 15_000_000)")  # older, so that age alone would choose it
    kernel.run("nbaccel.put(b'h' * 15_000_000)")  # Out[3]
    kernel.run("1")
    kernel.run("more = nbaccel.put(b'm' * 15_000_000)")

    places = kernel.run(
        "from nbaccel.util.state import list_objects\n"
        "from nbaccel import engine\n"
        "from nbaccel.views.snapshot import ListedObject\n"
        "rows = {row.object_id: row.place for row in engine.current().state(ListedObject, 100)}\n"
        "print(rows[kept.hex()], '|', rows[Out[3].hex()])\n"
        "print(len(nbaccel.get(Out[3])), nbaccel.get(Out[3])[:1])"
    )

    assert "shared memory | disk" in places.stdout, places.text
    assert "15000000 b'h'" in places.stdout
