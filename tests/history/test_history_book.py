"""The history stays small however long it goes on, counts every run, and answers in few bytes."""

from __future__ import annotations

import tracemalloc

import msgspec
import pytest

from nbaccel.views.history.answers import LaneRuns
from nbaccel.views.history.book import MOST_FUNCTIONS, MOST_KINDS, STEPS, HistoryBook, PastRun, Waits, lane_of
from nbaccel.views.history.readings import LETTERS, MOST_DEVICES, DeviceLoad


def size(answer: object) -> int:
    return len(msgspec.json.encode(answer))


def runs_in(lanes: list[LaneRuns]) -> int:
    return sum(abs(bar[3]) if len(bar) > 3 else 1 for lane in lanes for bar in lane.bars)


def gpu(index: int) -> str:
    return lane_of("5180ff6a4af162560e00", "GPU", str(index))


def run(
    started: float, took: float, function: str = "f", *, lane: str = "", cell: str = "[1]", **more: object
) -> PastRun:
    devices = ((lane, 1.0),) if lane else ()
    return PastRun(function, cell, 1, "FINISHED", devices, "ab" * 24, started, started, started + took, **more)  # type: ignore[arg-type]


# ---- numbers


def test_ten_thousand_runs_are_counted_exactly_and_seen_in_one_small_answer() -> None:
    book = HistoryBook(0.0)
    for number in range(10_000):
        book.ended(run(number * 0.02, 0.015, f"f{number % 3}", lane=gpu(number % 64), cell=f"[{number % 7}]"))
    answer = book.runs(200.0, (0.0, 200.0))
    assert answer.whole and runs_in(answer.ended) == 10_000 and size(answer) <= 32 << 10
    account = book.accounting(200.0)
    assert sorted((row.name, row.runs) for row in account.functions) == [("f0", 3334), ("f1", 3333), ("f2", 3333)]
    assert sum(row.runs for row in account.cells) == 10_000 and size(account) <= 32 << 10


def test_answers_are_the_same_after_the_bars_were_packed_and_made_again() -> None:
    book = HistoryBook(0.0)
    for number in range(3_000):
        book.ended(run(number * 0.02, 0.015, f"f{number % 3}", lane=gpu(number % 8)))
    before = book.runs(60.0, (0.0, 60.0))
    make_again = book.let_go()
    assert not len(book._runs)
    make_again()
    assert book.runs(60.0, (0.0, 60.0)) == before
    book.ended(run(60.0, 0.015, "f0", lane=gpu(0)))
    assert runs_in(book.runs(61.0, (0.0, 61.0)).ended) == 3_001


def test_device_seconds_are_what_runs_held_of_devices() -> None:
    book = HistoryBook(0.0)
    book.has_device(gpu(0), 0.0)
    book.has_device(gpu(1), 0.0)
    book.ended(PastRun("train", "[3]", 1, "FINISHED", ((gpu(0), 0.5), (gpu(1), 0.5)), "ab", 0.0, 0.0, 10.0))
    book.ended(PastRun("train", "[4]", 1, "FAILED", ((gpu(0), 1.0),), "ab", 10.0, 10.0, 14.0))
    goes_on = PastRun("infer", "[4]", 1, "RUNNING", ((gpu(1), 1.0),), "ab", 10.0, 15.0)
    answer = book.accounting(20.0, running=[goes_on])
    assert [
        (row.name, row.runs, row.failed, row.running, row.device_seconds, row.devices) for row in answer.functions
    ] == [
        ("train", 2, 1, 0, 14.0, 0.0),
        ("infer", 1, 0, 1, 5.0, 1.0),
    ]
    assert [(row.name, row.device_seconds) for row in answer.cells] == [("[3]", 10.0), ("[4]", 9.0)]
    assert {row.device: row.held_seconds for row in answer.devices} == {gpu(0): 9.0, gpu(1): 10.0}
    assert (answer.held_seconds, answer.known_seconds) == (19.0, 40.0)


def test_what_an_actor_holds_is_counted_once_however_many_calls_it_runs() -> None:
    book = HistoryBook(0.0)
    book.ended(run(1.0, 2.0, "Model.predict", lane=gpu(0), holds=False))
    life = PastRun("Model", "[1]", 1, "ALIVE", ((gpu(0), 1.0),), "ab", None, 0.0)
    answer = book.accounting(10.0, running=[life])
    assert {row.name: (row.runs, row.device_seconds) for row in answer.functions} == {
        "Model": (1, 10.0),
        "Model.predict": (1, 0.0),
    }


def test_the_rows_of_a_later_answer_are_those_that_have_changed() -> None:
    book = HistoryBook(0.0)
    book.ended(run(0.0, 1.0, "one", lane=gpu(0)))
    first = book.accounting(5.0)
    assert book.accounting(6.0, first.seq).functions == []
    book.ended(run(5.0, 1.0, "two", lane=gpu(1)))
    assert [row.name for row in book.accounting(7.0, first.seq).functions] == ["two"]


def test_more_functions_and_cells_than_are_told_apart_are_still_counted() -> None:
    book = HistoryBook(0.0)
    number = MOST_KINDS + MOST_FUNCTIONS + 500
    for index in range(number):
        book.ended(run(index, 0.5, f"f{index}", cell=f"[{index}]"))
    answer = book.accounting(float(number))
    assert size(answer) <= 32 << 10 and answer.left_out > 0
    assert "other functions" in {kind.function for kind in book._kinds.rows}
    assert sum(kind.runs for kind in book._kinds.rows) == number


# ---- what ran when


def test_runs_are_bars_and_those_narrower_than_a_pixel_are_one() -> None:
    book = HistoryBook(100.0)
    book.ended(run(101.0, 2.0, "long", lane=gpu(0)))
    for number in range(100):
        book.ended(run(104.0 + number * 0.001, 0.001, "short", lane=gpu(0)))
    answer = book.runs(160.0, (100.0, 160.0))
    (lane,) = answer.ended
    names = {kind.index: kind.function for kind in answer.kinds}
    assert answer.lanes[lane.lane] == gpu(0)
    assert (names[lane.bars[0][0]], *lane.bars[0][1:3]) == ("long", 1000, 2000)
    assert len(lane.bars) <= 4 and runs_in(answer.ended) == 101


def test_only_what_ended_since_is_told_again() -> None:
    book = HistoryBook(0.0)
    for number in range(500):
        book.ended(run(number * 0.1, 0.05, lane=gpu(number % 64)))
    first = book.runs(50.0, (0.0, 60.0))
    assert book.runs(51.0, (0.0, 60.0), first.seq).ended == []
    for number in range(100):
        book.ended(run(50.0 + number * 0.01, 0.005, lane=gpu(number % 64)))
    later = book.runs(52.0, (0.0, 60.0), first.seq)
    assert not later.whole and runs_in(later.ended) == 100
    assert size(later) <= 2048 * later.pause_s
    last = book.runs(53.0, (0.0, 60.0), first.seq)
    assert runs_in(last.ended) == 100, "it is all that came since the whole answer"


def test_what_has_merged_with_older_runs_meanwhile_is_told_as_a_whole() -> None:
    book = HistoryBook(0.0)
    for number in range(3_000):
        book.ended(run(number * 0.02, 0.001, lane=gpu(0)))
    first = book.runs(60.0, (0.0, 600.0))
    for number in range(9_000):
        book.ended(run(60.0 + number * 0.02, 0.001, lane=gpu(0)))
    answer = book.runs(300.0, (0.0, 600.0), first.seq)
    assert answer.whole and runs_in(answer.ended) == 12_000


def test_a_question_about_another_book_is_answered_from_the_beginning() -> None:
    book = HistoryBook(0.0)
    book.ended(run(1.0, 1.0))
    assert book.runs(5.0, (0.0, 5.0), since=1_000_000).whole


def test_runs_that_go_on_are_told_apart_from_those_that_ended() -> None:
    book = HistoryBook(0.0)
    goes_on = [PastRun("f", "", 1, "RUNNING", ((gpu(n), 1.0),), f"{n}", 0.0, 1.0) for n in range(64)]
    answer = book.runs(9.0, (0.0, 10.0), 0, goes_on)
    assert answer.ended == [] and runs_in(answer.running) == 64
    assert {bar[1] + bar[2] for lane in answer.running for bar in lane.bars} == {9000}


def test_many_runs_that_go_on_are_few_bars_that_count_them_all() -> None:
    book = HistoryBook(0.0)
    goes_on = [PastRun("f", "", 1, "RUNNING", (), f"{n}", 0.0, n * 0.001) for n in range(500)]
    answer = book.runs(9.0, (0.0, 10.0), 0, goes_on)
    assert runs_in(answer.running) == 500 and len(answer.running[0].bars) <= 100


def test_a_thousand_devices_fit_into_the_answers() -> None:
    book = HistoryBook(0.0)
    for number in range(5_000):
        book.ended(run(number * 0.01, 0.5, f"f{number % 9}", lane=gpu(number % 1000)))
    book.measured(3.0, [DeviceLoad(gpu(number), 50.0, 0.5, 300.0) for number in range(1000)])
    assert runs_in(book.runs(60.0, (0.0, 60.0)).ended) == 5_000
    assert size(book.accounting(60.0)) <= 32 << 10
    assert size(book.readings(60.0)) <= 32 << 10


def test_the_book_is_at_most_four_megabytes() -> None:
    tracemalloc.start()
    book = HistoryBook(0.0)
    for number in range(4_000):
        took = 0.4 if number % 2 else 0.001
        book.ended(run(number * 0.3, took, f"f{number % 300}", lane=gpu(number % 64), cell=f"[{number % 40}]"))
    for step in range(70):
        book.measured(step * 2.0, [DeviceLoad(gpu(device), 50.0, 0.5, 300.0) for device in range(64)])
    size_bytes, _most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size_bytes <= 4 << 20
    assert runs_in(book.runs(3600.0, (0.0, 3600.0)).ended) == 4_000


# ---- how many waited


def test_the_number_of_waiting_tasks_is_a_mean_over_each_step() -> None:
    waits = Waits()
    waits.add(0.0, 1.0)
    waits.add(0.25, 0.75)
    assert waits.means([], 1.2) == [1.5, 1.5, 0.0]


def test_steps_widen_and_the_waiting_of_all_time_stays_what_it_was() -> None:
    waits = Waits()
    seconds = 0.0
    for number in range(2_000):
        waits.add(number * 1.0, number * 1.0 + 0.5)
        seconds += 0.5
    means = waits.means([], 2_000.0)
    assert len(means) <= STEPS and waits.step_s > 4
    assert sum(means) * waits.step_s == pytest.approx(seconds, rel=0.02)


def test_who_still_waits_is_counted_up_to_now() -> None:
    assert Waits().means([10.0, 10.0], 11.0)[:2] == [2.0, 2.0]


# ---- readings


def test_readings_are_a_letter_for_each_step_of_two_minutes() -> None:
    book = HistoryBook(0.0)
    for second in range(0, 10, 2):
        book.measured(second, [DeviceLoad(gpu(0), second * 10.0, 0.5, None), DeviceLoad(gpu(1), None, 1.0, 100.0)])
    answer = book.readings(10.0)
    assert (answer.first, answer.steps, answer.step_s) == (0, 5, 2.0)
    assert answer.utilisation == "".join(LETTERS[round(part * 0.63)] for part in (0, 20, 40, 60, 80)) + "....."
    assert answer.memory == LETTERS[32] * 5 + "/" * 5
    assert answer.power == "....." + "/" * 5
    book.measured(10.0, [DeviceLoad(gpu(0), 100.0, 0.5, None)])
    later = book.readings(12.0, answer.seq)
    assert (later.first, later.steps, later.utilisation) == (5, 1, "/.")


def test_what_was_measured_more_than_two_minutes_ago_is_gone() -> None:
    book = HistoryBook(0.0)
    book.measured(0.0, [DeviceLoad(gpu(0), 100.0, 1.0, 10.0)])
    answer = book.readings(1_000.0)
    assert set(answer.utilisation) == {"."} and answer.steps <= 60


def test_power_above_the_scale_widens_it_for_what_was_measured_before() -> None:
    book = HistoryBook(0.0)
    book.measured(0.0, [DeviceLoad(gpu(0), None, None, 100.0)])
    book.measured(2.0, [DeviceLoad(gpu(0), None, None, 700.0)])
    answer = book.readings(4.0)
    parts = [LETTERS.index(letter) / 63 * answer.power_watts for letter in answer.power]
    assert answer.power_watts == 800.0 and parts == pytest.approx([100.0, 700.0], abs=15)


def test_there_is_an_end_to_the_devices_that_are_remembered() -> None:
    book = HistoryBook(0.0)
    book.measured(0.0, [DeviceLoad(f"n/GPU/{number}", 1.0, None, None) for number in range(MOST_DEVICES + 5)])
    assert len(book.readings(2.0).devices) == MOST_DEVICES
