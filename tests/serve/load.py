"""A client that asks without a pause, from threads, and remembers each answer that was not as it should be."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.rig import wait_until
from tests.serve.conftest import connection


class Load:
    def __init__(self) -> None:
        self.good = 0
        self.wrong: list[Any] = []
        self.bodies: set[bytes] = set()
        self._over = threading.Event()
        self._lock = threading.Lock()

    def ask_on(self, method: str) -> None:
        client = connection()
        while not self._over.is_set():
            try:
                client.request(method, "/")
                response = client.getresponse()
                body = response.read()
            except (OSError, http.client.HTTPException) as error:
                with self._lock:
                    self.wrong.append(repr(error))
                client = connection()
                continue
            with self._lock:
                if response.status == 200:
                    self.good += 1
                    self.bodies.add(body)
                else:
                    self.wrong.append((response.status, body))
        client.close()

    def more(self, number: int = 20) -> None:
        """Wait for so many further good answers."""
        target = self.good + number
        wait_until(lambda: self.good >= target or self.wrong, "further answers")

    def end(self) -> None:
        self._over.set()


@contextmanager
def load(clients: int = 4, method: str = "GET") -> Iterator[Load]:
    """Ask for as long as the block lasts."""
    made = Load()
    threads = [threading.Thread(target=made.ask_on, args=(method,)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        made.end()
        for thread in threads:
            thread.join()
