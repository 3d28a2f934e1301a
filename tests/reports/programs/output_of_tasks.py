"""In tasks, tqdm.notebook stood at 0 %, rich left escape codes, and INFO that the notebook had turned on was lost."""

# needs: tqdm, rich
# %%
import logging
import os
import sys
import time

import nbaccel as ray
from nbaccel import tune
from nbaccel.views import sinks

log = logging.getLogger("of_the_notebook")
log.setLevel(logging.DEBUG)
if "ipykernel" not in sys.modules:
    logging.basicConfig(level=logging.INFO)  # a script's workers have what was configured at init()
ray.init(num_cpus=2)
shown = []
show = sinks.installed.lines
sinks.installed.lines = lambda message: (shown.append(message.text.decode()), show(message))


def until(*texts):
    """Wait until all of this has been shown, and return everything shown since the last wait."""
    deadline = time.monotonic() + 30
    while not all(text in "".join(shown) for text in texts):
        assert time.monotonic() < deadline, (texts, shown)
        time.sleep(0.01)
    whole = "".join(shown)
    shown.clear()
    return whole


@ray.remote
def bars():
    import tqdm.autonotebook
    import tqdm.notebook
    from tqdm.notebook import tqdm as bar
    from tqdm.notebook import trange

    for _ in bar(range(3), desc="iterated", display=True):
        pass
    for _ in trange(4, desc="counted"):
        pass
    with tqdm.notebook.tqdm_notebook(total=5, desc="updated") as updated:
        updated.update(5)
    list(tqdm.autonotebook.tqdm(range(6), desc="chosen"))
    return updated.n


assert ray.get(bars.remote()) == 5
until("iterated: 100%", "3/3", "counted: 100%", "4/4", "updated: 100%", "5/5", "chosen: 100%", "6/6")


# %%
@ray.remote
def rich_output():
    from rich import print as rich_print
    from rich.console import Console
    from rich.progress import track

    rich_print("[bold red]printed[/]")
    Console().print("[green]of a console[/]")
    for _ in track(range(3), description="tracked"):
        pass


ray.get(rich_output.remote())
assert "\x1b" not in until("printed", "of a console", "tracked", "100%")


@ray.remote
def coloured():
    print("FORCE", os.environ.get("FORCE_COLOR"))


ray.get(coloured.options(runtime_env={"env_vars": {"FORCE_COLOR": "1"}}).remote())
until("FORCE 1")
# %%
logging.basicConfig(level=logging.INFO)


# %%
@ray.remote
def logs(place="task"):
    logging.getLogger("any").info(f"root {place}")
    logging.getLogger("any").debug("root's debug")
    logging.getLogger("of_the_notebook.part").debug(f"named {place}")
    return place


@ray.remote
class Logs:
    def logs(self):
        return ray.get(logs.remote("nested")), logs._function("actor")


def trial(config):
    logs._function("trial")
    return {"loss": 1}


def wanted(place):
    return f"INFO:any:root {place}\n", f"DEBUG:of_the_notebook.part:named {place}\n"


ray.get([logs.remote(), Logs.remote().logs.remote()])
assert "root's debug" not in until(*wanted("task"), *wanted("nested"), *wanted("actor"))
tune.Tuner(trial).fit()
until(*wanted("trial"))


# %%
@ray.remote
def configures():
    logging.basicConfig(level=logging.DEBUG, format="own format: %(message)s", stream=sys.stdout)
    logging.debug("a task's own configuration")


ray.get(configures.remote())
until("own format: a task's own configuration")
