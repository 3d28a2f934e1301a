"""Counter, Gauge and Histogram: added up over processes, read as Prometheus text."""

import pickle
import threading

import pytest

import nbaccel
from nbaccel.util import metrics
from nbaccel.util.metrics import Counter, Gauge, Histogram, Metric, flush, prometheus_text


def lines(name):
    return [line for line in prometheus_text().splitlines() if line.startswith(name)]


@nbaccel.remote(num_cpus=0)
def count(counter, times):
    for _ in range(times):
        counter.inc(2, tags={"table": "users"})
    flush()


def test_counters_of_all_processes_are_added_up():
    counter = Counter("rows_read", "Rows read so far.", tag_keys=("table",))
    counter.inc(5, tags={"table": "users"})
    nbaccel.get([count.remote(counter, 10) for _ in range(3)])
    counter.inc(tags={"table": 'we"ird\n'})
    text = prometheus_text()
    assert "# HELP rows_read Rows read so far.\n# TYPE rows_read counter\n" in text
    assert lines("rows_read") == ['rows_read{table="users"} 65', 'rows_read{table="we\\"ird\\n"} 1']


def test_a_gauge_has_its_last_value():
    gauge = Gauge("queue_length")
    for value in (3, 7.5, None):
        gauge.set(value)
    assert lines("queue_length") == ["queue_length 7.5"]


def test_a_histogram_counts_up_to_each_boundary():
    histogram = Histogram("latency_s", boundaries=[0.1, 1], tag_keys=("model",)).set_default_tags({"model": "a"})
    for value in (0.05, 0.1, 0.5, 3):
        histogram.observe(value)
    assert lines("latency_s") == [
        'latency_s_bucket{model="a",le="0.1"} 2',
        'latency_s_bucket{model="a",le="1"} 3',
        'latency_s_bucket{model="a",le="+Inf"} 4',
        'latency_s_sum{model="a"} 3.6499999999999999',
        'latency_s_count{model="a"} 4',
    ]


def test_default_tags_hold_where_a_record_names_none():
    counter = Counter("steps", tag_keys=("run", "phase"))
    counter.set_default_tags({"run": "1"})
    counter.inc(tags={"phase": "train"})
    counter.inc(tags={"phase": "train", "run": "2"})
    assert lines("steps") == ['steps{phase="train",run="1"} 1', 'steps{phase="train",run="2"} 1']
    assert counter.info["default_tags"] == {"run": "1"}


@pytest.mark.parametrize(
    "metric",
    [Counter("a", "b", ("k",)), Gauge("a", "b", ("k",)), Histogram("a", "b", [1, 2], ("k",))],
    ids=lambda metric: metric.kind,
)
def test_a_metric_travels(metric):
    metric.set_default_tags({"k": "v"})
    again = pickle.loads(pickle.dumps(metric))
    assert (type(again), again.info, again.boundaries) == (type(metric), metric.info, metric.boundaries)


def test_names_that_prometheus_does_not_know_are_written_as_those_it_does():
    Counter("1st queue-length").inc()
    assert "\n_1st_queue_length 1\n" in prometheus_text()


def test_wrong_names_values_and_tags_are_refused():
    with pytest.raises(ValueError, match="not a metric name"):
        Counter("")
    for name in (None, 3):
        with pytest.raises(TypeError, match="name is a string"):
            Counter(name)
    for keys in ("k", ["k"], (1,)):
        with pytest.raises(TypeError, match="tag_keys"):
            Counter("a", tag_keys=keys)
    with pytest.raises(ValueError, match="boundaries"):
        Histogram("a")
    with pytest.raises(ValueError, match="boundaries"):
        Histogram("a", boundaries=[0, 1])
    counter = Counter("a", tag_keys=("k",))
    for value in (0, -1):
        with pytest.raises(ValueError, match=">0"):
            counter.inc(value, tags={"k": "v"})
    with pytest.raises(TypeError, match="numbers"):
        counter.inc("1", tags={"k": "v"})
    with pytest.raises(ValueError, match="Missing value for tag key"):
        counter.inc()
    with pytest.raises(ValueError, match="Unrecognized tag key"):
        counter.inc(tags={"x": "v"})
    with pytest.raises(TypeError, match="strings"):
        counter.inc(tags={"k": 1})
    with pytest.raises(ValueError, match="Unrecognized"):
        counter.set_default_tags({"x": "v"})
    assert issubclass(Counter, Metric)


def test_records_of_a_process_that_ends_with_its_task_are_counted():
    @nbaccel.remote(num_gpus=1)
    def train(counter):
        for _ in range(5):
            counter.inc()

    counter = Counter("epochs")
    nbaccel.get(train.remote(counter))
    assert lines("epochs") == ["epochs 5"]


def test_a_metric_outlives_its_cluster_but_the_totals_do_not():
    counter = Counter("before_and_after")
    counter.inc(3)
    assert lines("before_and_after") == ["before_and_after 3"]
    nbaccel.shutdown()
    counter.inc()
    assert lines("before_and_after") == ["before_and_after 1"]
    nbaccel.init(num_cpus=4, num_gpus=1)
    counter.inc()
    assert lines("before_and_after") == ["before_and_after 2"]


def test_a_tight_loop_is_not_a_message_for_each_record():
    now, agreed = 0.0, []
    outbox = metrics.Outbox(lambda: now, lambda seconds, action: agreed.append((seconds, action)))
    loops = Counter("loops")
    for _ in range(10_000):
        outbox.record(loops, (), 1.0)
    assert outbox.unsent()["loops"].values[()] == 10_000 - metrics.BURST
    [(wait_s, send)] = agreed
    assert wait_s == metrics.SEND_EVERY_S
    now += wait_s
    nbaccel.get(send())
    assert outbox.unsent() == {}
    assert lines("loops") == ["loops 10000"]


def test_who_waits_for_the_total_waits_for_what_another_thread_is_sending(monkeypatch):
    began, goes_on, done = threading.Event(), threading.Event(), threading.Event()
    outbox = metrics.Outbox()
    collector = outbox.collector()

    def slowly():
        began.set()
        goes_on.wait()
        return collector

    monkeypatch.setattr(outbox, "collector", slowly)
    sender = threading.Thread(target=outbox.record, args=(Counter("slowly"), (), 1.0))
    waiter = threading.Thread(target=lambda: (outbox.send(), outbox.wait(), done.set()))
    sender.start()
    began.wait()
    waiter.start()
    assert not done.wait(0.2)
    goes_on.set()
    waiter.join()
    assert lines("slowly") == ["slowly 1"]
    sender.join()
