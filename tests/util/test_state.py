"""Rows of what there is, filters on them, counts, and the reason why something waits."""

import pytest

import nbaccel
from nbaccel.util import state
from nbaccel.util.state.records import RayStateApiException
from tests.rig import Gate, wait_until


@nbaccel.remote
def fine():
    return 1


@nbaccel.remote
def fails():
    raise ValueError("no good")


@nbaccel.remote
class Named:
    def call(self):
        print("said by the actor")
        return 1


@pytest.fixture(scope="module", autouse=True)
def some_work(engine):
    actor = Named.options(name="row").remote()
    nbaccel.get([fine.remote(), actor.call.remote()])
    failed = fails.remote()
    nbaccel.wait([failed])
    yield actor, failed


def test_tasks_have_names_types_and_states(some_work):
    by_name = {task.name: task for task in state.list_tasks()}
    assert (by_name["fine"].state, by_name["fine"].type) == ("FINISHED", "NORMAL_TASK")
    assert by_name["Named.call"].type == "ACTOR_TASK" and by_name["Named.__init__"].type == "ACTOR_CREATION_TASK"
    assert by_name["fails"]["error_type"] == "TASK_EXECUTION_EXCEPTION"
    assert by_name["fails"].error_message == "ValueError: no good"
    assert by_name["fine"].end_time_ms >= by_name["fine"].start_time_ms


def test_a_waiting_task_says_why():
    gate = Gate.remote()

    @nbaccel.remote(num_gpus=1)
    def holds(gate):
        nbaccel.get(gate.wait.remote())

    refs = [holds.remote(gate), holds.remote(gate)]
    wait_until(lambda: nbaccel.get(gate.arrived.remote()))
    waiting = state.list_tasks(filters=[("name", "=", "holds"), ("state", "=", "PENDING_NODE_ASSIGNMENT")])
    assert len(waiting) == 1 and "GPU" in waiting[0].why and "holds" in waiting[0].why
    assert state.get_task(refs[0]).task_id == refs[0].task_id().hex()
    nbaccel.get(gate.open.remote())
    nbaccel.get(refs)


def test_filters_choose_and_wrong_ones_are_refused():
    assert {task.name for task in state.list_tasks(filters=[("name", "!=", "fine"), ("state", "=", "failed")])} == {
        "fails"
    }
    assert len(state.list_tasks(limit=1)) == 1
    with pytest.raises(ValueError, match="predicate >"):
        state.list_tasks(filters=[("name", ">", "a")])
    with pytest.raises(RayStateApiException, match="colour"):
        state.list_tasks(filters=[("colour", "=", "red")])
    with pytest.raises(ValueError, match="limit"):
        state.list_tasks(limit=10**9)


def test_a_limit_that_is_no_number_of_rows_is_refused_in_words(monkeypatch):
    with pytest.raises(ValueError, match=r"limit=-1 cannot be a number of rows: give 0 or more"):
        state.list_tasks(limit=-1)
    for limit in ("x", None, 1.5):
        with pytest.raises(TypeError, match=r"limit is a whole number of rows, not "):
            state.list_tasks(limit=limit)
    monkeypatch.setenv("RAY_MAX_LIMIT_FROM_API_SERVER", "many")
    with pytest.raises(ValueError, match=r"RAY_MAX_LIMIT_FROM_API_SERVER='many' is not a number of rows"):
        state.list_tasks()


def test_how_many_rows_an_answer_may_have_is_read_when_it_is_asked(monkeypatch):
    monkeypatch.setenv("RAY_MAX_LIMIT_FROM_API_SERVER", "2")
    assert state.common.RAY_MAX_LIMIT_FROM_API_SERVER == 2
    with pytest.raises(ValueError, match=r"Given limit 3 exceeds the supported limit 2\."):
        state.list_tasks(limit=3)
    monkeypatch.setenv("RAY_MAX_LIMIT_FROM_API_SERVER", "40000")
    assert state.list_tasks(limit=40_000)


def test_actors_nodes_workers_jobs_and_objects_have_rows(some_work):
    actor, _failed = some_work
    row = state.get_actor(actor._actor_id.hex())
    assert (row.class_name, row.state, row.name, row.is_detached) == ("Named", "ALIVE", "row", False)
    assert state.get_worker(_worker_of(row.pid)).is_alive
    (node,) = state.list_nodes()
    assert (node.state, node.is_head_node) == ("ALIVE", True) and state.get_node(node.node_id) == node
    assert [job.status for job in state.list_jobs()] == ["RUNNING"]
    ref = nbaccel.put(b"x" * 1000)
    assert state.get_objects(ref.hex())[0].object_size > 1000
    assert state.get_actor("ff" * 16) is None


def _worker_of(pid):
    return next(worker.worker_id for worker in state.list_workers() if worker.pid == pid)


def test_summaries_count_by_name_and_state():
    tasks = state.summarize_tasks()["cluster"]
    assert tasks["summary"]["fine"]["state_counts"] == {"FINISHED": 1} and tasks["summary_by"] == "func_name"
    assert state.summarize_actors()["cluster"]["summary"]["Named"]["state_counts"] == {"ALIVE": 1}
    # Objects of the tests before are let go of in these moments.
    wait_until(lambda: state.summarize_objects()["cluster"]["total_objects"] == len(state.list_objects()))


def test_the_log_of_an_actor_is_read(some_work):
    actor, _failed = some_work

    def log():
        return "".join(state.get_log(actor_id=actor._actor_id.hex()))

    wait_until(lambda: "said by the actor" in log())
    with pytest.raises(ValueError, match="task_id"):
        list(state.get_log())
    with pytest.raises(NotImplementedError, match="follow"):
        list(state.get_log(actor_id=actor._actor_id.hex(), follow=True))


def test_a_log_is_read_without_its_colours(some_work):
    nbaccel.get(nbaccel.remote(lambda: print("\x1b[31mred\x1b[0m and \x1b]plain")).options(name="coloured").remote())
    (task,) = state.list_tasks(filters=[("name", "=", "coloured")])

    def log(**options):
        return "".join(state.get_log(task_id=task.task_id, **options))

    wait_until(lambda: "\x1b[31mred" in log())
    assert "red and plain" in log(filter_ansi_code=True) and "\x1b" not in log(filter_ansi_code=True)


def test_without_a_cluster_there_is_nobody_to_ask():
    from nbaccel import engine as engines
    from nbaccel.util.state.records import ServerUnavailable

    started = engines.started()
    engines.adopt(None)
    try:
        with pytest.raises(ServerUnavailable):
            state.list_tasks()
    finally:
        engines.adopt(started)


def test_rays_older_paths_lead_to_the_same_questions_and_rows():
    from nbaccel.util.state import api

    assert api.__all__ == state.__all__ and api.list_tasks is state.list_tasks
    nbaccel.get(fine.remote())
    assert "fine" in {row.name for row in api.list_tasks()}
