"""The fuzzers of files find nothing in a moment; `make fuzz` gives them longer."""

from __future__ import annotations

import pytest

from tools.fuzz import lease_files, session_files


@pytest.mark.parametrize("fuzzer", [lease_files, session_files], ids=["leases", "sessions"])
def test_files_that_others_may_have_written_do_no_harm(fuzzer: object) -> None:
    fuzzer.run(1.0, seed=1)  # type: ignore[attr-defined]
