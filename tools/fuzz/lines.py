"""Lines of JSON, before the token and as an observer."""

from __future__ import annotations

import json
import time
from typing import Any

from tools.fuzz.cases import Cases
from tools.fuzz.victim import Victim, rest, say, victim

QUESTIONS = ("snapshot", "watch", "cancel", "kill", "explain", "logs", "notes", "add_node", "remove_node", "nothing")
FIELDS = ("task_id", "actor_id", "force", "tail", "rows", "on", "options", "node_id", "filter")
BATCH = 50


def run(seconds: float, seed: int) -> None:
    """Speak to a head for so long. Raises AssertionError where it takes harm."""
    cases = Cases(seed)
    with victim() as head:
        end, count = time.monotonic() + seconds, 0
        while not count or time.monotonic() < end:
            for _ in range(BATCH):
                _newcomer(head, cases)
                _observer(head, cases)
            count += 2 * BATCH
            head.assert_unharmed()


def _newcomer(head: Victim, cases: Cases) -> None:
    token: Any = cases.rng.choice(("", "x", "é", 5, None, head.record.token[:-1], [], {}))
    with head.connect() as sock:
        say(sock, cases.pieces(cases.line({"token": token, cases.rng.choice(FIELDS): cases.plain_value()})))
        rest(sock)


def _observer(head: Victim, cases: Cases) -> None:
    lines = [json.dumps({"token": head.record.token}).encode() + b"\n"]
    for _ in range(cases.rng.randrange(1, 5)):
        question = {"ask": cases.rng.choice(QUESTIONS)}
        question |= {name: cases.plain_value() for name in FIELDS if cases.rng.random() < 0.3}
        lines.append(cases.line(question))
    with head.connect() as sock:
        say(sock, cases.pieces(b"".join(lines)))
        rest(sock)
