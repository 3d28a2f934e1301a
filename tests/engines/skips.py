"""What one engine does not do that the other does, with the reason of each. This list may only get shorter.

(engine, test) -> reason
"""

SKIPS: dict[tuple[str, str], str] = {
    ("ray", "test_an_actor_that_fails_to_start_names_the_cause"): (
        "Ray keeps only the text of what an actor's constructor raised, not the exception"
    ),
    ("ray", "test_a_crashed_worker_is_told_with_its_signal"): "Ray does not say how a worker ended",
    ("ray", "test_a_stream_is_slowed_down_by_its_reader"): "Ray starts the next item before the one before was taken",
}
