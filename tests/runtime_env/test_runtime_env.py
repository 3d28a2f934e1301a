"""Runtime environments: joined from init, task and actor, and told when they cannot be made."""

import os
import sys
import zipfile

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.runtime_env import RuntimeEnv, RuntimeEnvConfig


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory):
    os.environ["NBACCEL_ENVIRONMENTS"] = str(tmp_path_factory.mktemp("environments"))
    nbaccel.init(num_cpus=4, runtime_env={"env_vars": {"BASE": "init", "BOTH": "init"}})
    yield
    nbaccel.shutdown()
    del os.environ["NBACCEL_ENVIRONMENTS"]


@nbaccel.remote
def variables(*names):
    return [os.environ.get(name) for name in names]


@nbaccel.remote
def nested(*names):
    return nbaccel.get(variables.remote(*names))


@nbaccel.remote
class Actor:
    def variables(self, *names):
        return [os.environ.get(name) for name in names]

    def nested(self, *names):
        return nbaccel.get(variables.remote(*names))


OWN = {"env_vars": {"OWN": "mine", "BOTH": "mine"}}
NAMES = ("BASE", "BOTH", "OWN")


def test_variables_of_init_and_task_are_joined():
    assert nbaccel.get(variables.remote(*NAMES)) == ["init", "init", None]
    assert nbaccel.get(variables.options(runtime_env=OWN).remote(*NAMES)) == ["init", "mine", "mine"]
    assert nbaccel.get(variables.remote(*NAMES)) == ["init", "init", None]


def test_a_variable_can_be_added_to():
    added = {"env_vars": {"BASE": "${BASE}:more", "NEW": "${NEVER_SET}x", "HOME_OF": "${HOME}"}}
    expected = ["init:more", "x", os.environ["HOME"]]
    assert nbaccel.get(variables.options(runtime_env=added).remote("BASE", "NEW", "HOME_OF")) == expected
    actor = Actor.options(runtime_env=added).remote()
    assert nbaccel.get([actor.variables.remote("BASE"), actor.nested.remote("BASE")]) == [["init:more"]] * 2


def test_a_variable_that_counts_at_exec_can_be_added_to():
    added = {"env_vars": {"LD_LIBRARY_PATH": "${LD_LIBRARY_PATH}:/nowhere"}}
    before = os.environ.get("LD_LIBRARY_PATH", "")
    assert nbaccel.get(variables.options(runtime_env=added).remote("LD_LIBRARY_PATH")) == [f"{before}:/nowhere"]


def test_what_a_task_or_actor_submits_inherits_its_environment():
    assert nbaccel.get(nested.options(runtime_env=OWN).remote(*NAMES)) == ["init", "mine", "mine"]
    actor = Actor.options(runtime_env=OWN).remote()
    assert nbaccel.get([actor.variables.remote(*NAMES), actor.nested.remote(*NAMES)]) == [["init", "mine", "mine"]] * 2


def test_variables_that_count_at_exec_only_are_there():
    assert nbaccel.get(
        variables.options(runtime_env={"env_vars": {"LD_DEBUG_OUTPUT": "x"}}).remote("LD_DEBUG_OUTPUT")
    ) == ["x"]


def test_the_context_shows_the_environment():
    @nbaccel.remote
    def shown():
        return nbaccel.get_runtime_context().runtime_env

    assert nbaccel.get(shown.options(runtime_env=OWN).remote())["env_vars"]["OWN"] == "mine"


def test_a_working_dir_is_entered_and_searched(tmp_path):
    (tmp_path / "data.txt").write_text("found")
    (tmp_path / "lying_there.py").write_text("VALUE = 7")

    @nbaccel.remote(runtime_env={"working_dir": str(tmp_path)})
    def look():
        import lying_there

        return open("data.txt").read(), lying_there.VALUE

    assert nbaccel.get(look.remote()) == ("found", 7)


def test_a_zip_is_a_working_dir_too(tmp_path):
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("data.txt", "unpacked")

    @nbaccel.remote(runtime_env={"working_dir": str(tmp_path / "packed.zip")})
    def look():
        return open("data.txt").read()

    assert nbaccel.get(look.remote()) == "unpacked"


def test_py_modules_are_importable_and_what_lies_beside_them_is_not(tmp_path):
    package = tmp_path / "a_package"
    package.mkdir()
    (package / "__init__.py").write_text("VALUE = 1")
    (tmp_path / "a_neighbour.py").write_text("")

    @nbaccel.remote(runtime_env={"py_modules": [str(package)]})
    def look():
        import a_package

        try:
            import a_neighbour  # noqa: F401
        except ModuleNotFoundError:
            return a_package.VALUE

    assert nbaccel.get(look.remote()) == 1


def test_the_setup_hook_runs_before_the_task():
    def hook():
        os.environ["HOOKED"] = "yes"

    env = {"worker_process_setup_hook": hook}
    assert nbaccel.get(variables.options(runtime_env=env).remote("HOOKED")) == ["yes"]


def test_a_hook_that_raises_is_a_setup_error_for_tasks_and_actors():
    def hook():
        raise ValueError("not today")

    env = {"worker_process_setup_hook": hook}
    with pytest.raises(exceptions.RuntimeEnvSetupError, match="not today"):
        nbaccel.get(variables.options(runtime_env=env).remote("X"))
    with pytest.raises(exceptions.RuntimeEnvSetupError, match="not today"):
        nbaccel.get(Actor.options(runtime_env=env).remote().variables.remote("X"))


def _wheel(directory, value=11):
    """A wheel made by hand: nothing has to be downloaded."""
    path = directory / "tiny_thing-1.0-py3-none-any.whl"
    about = "tiny_thing-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny_thing.py", f"VALUE = {value}")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", f"tiny_thing.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n")
    return str(path)


@pytest.mark.slow
def test_a_wheel_that_was_built_again_is_installed_again(tmp_path):
    @nbaccel.remote
    def look():
        import tiny_thing

        return tiny_thing.VALUE

    for value in (11, 1200):
        env = {"pip": [_wheel(tmp_path, value)]}
        assert nbaccel.get(look.options(runtime_env=env).remote()) == value


@pytest.mark.slow
def test_pip_packages_are_there_in_an_environment_that_is_kept(tmp_path):
    @nbaccel.remote(runtime_env={"pip": [_wheel(tmp_path)]})
    def look():
        import tiny_thing

        return tiny_thing.VALUE, sys.prefix

    value, prefix = nbaccel.get(look.remote())
    assert value == 11 and prefix.startswith(os.environ["NBACCEL_ENVIRONMENTS"])
    assert nbaccel.get(look.remote())[1] == prefix


def test_the_interpreter_may_be_a_command_line():
    @nbaccel.remote
    def is_in_dev_mode():
        return sys.flags.dev_mode

    for command, expected in ((f"{sys.executable} -X dev", True), (sys.executable, False)):
        with_it = is_in_dev_mode.options(runtime_env={"py_executable": command})
        assert nbaccel.get(with_it.remote()) is expected


def test_an_interpreter_that_is_not_there_is_told_by_its_name():
    missing = variables.options(runtime_env={"py_executable": "no-such-python"})
    with pytest.raises(exceptions.RuntimeEnvSetupError, match="'no-such-python' is not a program"):
        nbaccel.get(missing.remote("BASE"))


def test_an_interpreter_that_ends_at_once_is_told_by_the_last_line_of_its_stderr(tmp_path):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho 'libfoo.so: cannot open shared object file' >&2\nexit 1\n")
    program.chmod(0o755)
    broken = variables.options(runtime_env={"py_executable": str(program)})
    with pytest.raises(exceptions.WorkerCrashedError, match=r"before it could start \(libfoo.so: cannot open"):
        nbaccel.get(broken.remote("BASE"))


def test_a_failed_installation_shows_the_tools_output(tmp_path):
    with pytest.raises(exceptions.RuntimeEnvSetupError, match="not-a-wheel"):
        nbaccel.get(variables.options(runtime_env={"pip": [str(tmp_path / "not-a-wheel.whl")]}).remote("X"))


def test_other_peoples_package_managers_are_refused_in_words():
    with pytest.raises(exceptions.RuntimeEnvSetupError, match="conda"):
        nbaccel.get(variables.options(runtime_env={"conda": "env"}).remote("X"))


def test_an_environment_as_an_object_is_checked_when_it_is_made():
    env = RuntimeEnv(env_vars={"OWN": "object"}, config=RuntimeEnvConfig(setup_timeout_seconds=30))
    assert nbaccel.get(variables.options(runtime_env=env).remote("OWN")) == ["object"]
    assert RuntimeEnv.deserialize(env.serialize()) == env and env["config"]["setup_timeout_seconds"] == 30
    with pytest.raises(TypeError):
        RuntimeEnv(env_vars={"A": 1})
    with pytest.raises(ValueError):
        RuntimeEnv(pip=["a"], conda="b")
    with pytest.raises(ValueError):
        RuntimeEnvConfig(setup_timeout_seconds=0)


def test_environments_are_listed_with_their_errors():
    from nbaccel.util.state import list_runtime_envs

    rows = list_runtime_envs(limit=1000)
    assert any(row.success and row.runtime_env.get("env_vars", {}).get("OWN") for row in rows)
    assert any(not row.success and "not today" in row.error for row in rows)


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"pip": {"version": "1"}}, ValueError, r"pip.* can only have the fields packages"),
        ({"pip": {"pip_check": True}}, ValueError, "must say which packages"),
        ({"conda": 3}, TypeError, "conda"),
        ({"config": {"setup_timeout_seconds": 0}}, ValueError, "greater than zero"),
        ({"config": {"setup_timeout_seconds": "1"}}, TypeError, "whole number of seconds"),
        ({"container": {"image": "x"}, "pip": ["y"]}, ValueError, "together with pip"),
    ],
)
def test_fields_that_cannot_be_meant_are_refused(fields, error, words):
    with pytest.raises(error, match=words):
        RuntimeEnv(**fields)
