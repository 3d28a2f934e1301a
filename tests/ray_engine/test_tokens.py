"""A cluster that wants a token, as Ray's own client finds it: a server that answers as the head of one does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray")

# In a process of its own: Ray reads the token once. The server lets in who has the right one, and knows no more.
PROGRAM = """
import os
from concurrent.futures import ThreadPoolExecutor
import grpc
from nbaccel.ray_engine import starting

RIGHT, OTHER = "ab" * 32, "cd" * 32

class Door(grpc.GenericRpcHandler):
    def service(self, call):
        shown = dict(call.invocation_metadata).get("authorization")
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self.answer(shown, context))

    def answer(self, shown, context):
        if shown != f"Bearer {RIGHT}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken: it is missing or incorrect")
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "let in")

server = grpc.server(ThreadPoolExecutor(2), handlers=[Door()])
address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
server.start()
starting.import_ray()

def joined():
    try:
        starting.show_token(address)
    except ConnectionError as error:
        return "refused: " + str(error).replace("\\n", " ")
    return "let in"

print(joined())
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": OTHER}
print(joined())
os.environ["RAY_AUTH_TOKEN"] = RIGHT
print(joined())
"""


def test_a_missing_or_another_token_is_told_at_once_and_may_be_mended_in_the_same_process(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**environ, "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *refused, last = done.stdout.splitlines()[-3:]
    for told in refused:
        assert told.startswith("refused: address='127.0.0.1:") and "InvalidAuthToken" in told
        assert "RAY_AUTH_MODE=token" in told and "ray start" not in told
    assert last == "let in"
