"""Frames, in the four states of a connection that speaks them: before the token, a driver's, its news', a worker's."""

from __future__ import annotations

import os
import time
import typing
from typing import Any

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.driver import engine as driver
from tools.fuzz.cases import Cases
from tools.fuzz.victim import Victim, rest, say, victim

KINDS: tuple[type, ...] = typing.get_args(wire.ToHead)
BATCH = 20
QUESTIONS = ("sync", "pin", "nodes", "logs", "explain", "probe", "state", "snapshot", "get_actor", "reserve_name", "x")


def run(seconds: float, seed: int) -> None:
    """Speak to a head for so long. Raises AssertionError where it takes harm."""
    cases = Cases(seed)
    cases.texts += QUESTIONS
    with victim() as head:
        end, count = time.monotonic() + seconds, 0
        while not count or time.monotonic() < end:
            for _ in range(BATCH):
                _newcomer(head, cases)
                _driver_and_news(head, cases)
            _worker(cases)
            count += 3 * BATCH + 1
            head.assert_unharmed()


def _newcomer(head: Victim, cases: Cases) -> None:
    with head.connect() as sock:
        say(sock, cases.pieces(cases.frame(KINDS)))
        rest(sock)


def _driver_and_news(head: Victim, cases: Cases) -> None:
    sock, welcome = head.driver()
    with sock, head.connect() as news:
        hello = driver.hello("news", head.record.token, None, welcome.job)
        say(news, [bytes(wire.frame([hello])), *cases.pieces(cases.frame(KINDS))])
        rest(news)
        for _ in range(cases.rng.randrange(1, 4)):
            cases.ids.append(cases.rng.randbytes(24))
        cases.ids = cases.ids[-20:]
        say(sock, [piece for _ in range(3) for piece in cases.pieces(cases.frame(KINDS))])
        rest(sock)


@nbaccel.remote(max_retries=0)
def speak(data: bytes) -> None:
    """Say this to the head in the name of the worker that runs us, and end: half a frame would wait for its rest."""
    started: Any = engines.started()
    started.link._sock.sendall(data)
    os._exit(0)


def _worker(cases: Cases) -> None:
    kinds = tuple(kind for kind in KINDS if kind is not wire.Hello)
    try:
        nbaccel.get(speak.remote(cases.frame(kinds)), timeout=120)
    except exceptions.GetTimeoutError:
        raise AssertionError("a worker that spoke nonsense and ended keeps its task") from None
    except exceptions.RayError:
        pass  # its worker has ended, or was ended
