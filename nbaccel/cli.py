"""The command `nbaccel`: start a head that notebooks share, stop it, and look at it from a terminal.

Everything goes through the functions in `Control`, so that tests bring their own and a command stays a few lines. What
cannot be done is one sentence on stderr: exit code 1 for "not now", 2 for "not so" (as click does for wrong options).
"""

from __future__ import annotations

import json
import math
import os
import select
import shutil
import sys
import textwrap
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from nbaccel import __version__
from nbaccel.command import HELP, Sentences
from nbaccel.handles import option_checks as checks
from nbaccel.machines.node_records import NodeRecord
from nbaccel.views import (
    experiment_snapshot,
    run_snapshot,
    served_snapshot,
    tables,
    task_lines,
    wording,
)
from nbaccel.views.sessions import SessionRecord
from nbaccel.views.snapshot import Snapshot, whole
from nbaccel.views.task_filter import FoundTasks, TaskFilter

SHORTEST_S, LONGEST_S = 0.2, 86_400.0


def text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Text with something in it: an empty value is mostly a shell's variable that was never set."""
    if value is None:
        return None
    if not value.strip():
        raise click.BadParameter("it is empty. Leave it out, or give it a value (is a variable of the shell not set?).")
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value):
        raise click.BadParameter(f"{value!r} has bytes that are no text.")
    return value


def no_name(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Refuse the name of a head, which people look for."""
    if value is not None:
        raise click.UsageError(
            "A head gets its name by itself: `nbaccel status` shows it, and `nbaccel stop NAME` takes it. "
            "Leave --name out."
        )


def modules(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names of modules, with commas between. None is imported here: the first part of each is looked for."""
    given = text(ctx, param, value)
    names = [name.strip() for name in (given or "").split(",") if name.strip()]
    for name in names:
        top = name.partition(".")[0]
        try:
            found = find_spec(top) or PathFinder.find_spec(top, [os.getcwd()])
        except (ImportError, ValueError):
            found = None
        if not found:
            raise click.BadParameter(f"there is no module {top!r} here. Is it installed in the environment of nbaccel?")
    return names or None


def seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """A number of seconds, up to a day."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not SHORTEST_S <= number <= LONGEST_S:
        raise click.BadParameter(f"{value!r} is no number of seconds from {SHORTEST_S:g} to {LONGEST_S:g}.")
    return number


def size_bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number of bytes, or a size such as "10GiB"."""
    if value is not None and value.strip().startswith("-"):
        raise click.BadParameter(f"{value!r} is negative.")
    try:
        return checks.size_bytes(str(param.name), value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


NOTHING_RUNS = "No nbaccel head of yours runs on this machine. Start one: nbaccel start --head"
MOST_NOTES = 10  # of each head's log
INTERRUPT_SEEN_S = 0.5  # at the latest
_Record = SessionRecord | NodeRecord


def _open_page(page: Path) -> bool:
    """Show it in a browser where there is a screen; a browser for terminals would take the terminal."""
    screen = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and webbrowser.open(page.as_uri())


@dataclass(frozen=True, slots=True)
class Control:
    """What the commands need of the rest of nbaccel."""

    find: Callable[[], Sequence[SessionRecord]]
    start: Callable[..., SessionRecord]
    stop: Callable[[SessionRecord, bool], bool]
    observe: Callable[[SessionRecord], Snapshot]
    wait: Callable[[int], None]
    snapshots: Callable[[SessionRecord], Iterator[Snapshot]]
    notes: Callable[[SessionRecord], Sequence[str]] = lambda record: ()
    holder: Callable[[str], str] = lambda key: ""  # of a real device, for every head
    tasks: Callable[[SessionRecord, TaskFilter], FoundTasks] = lambda record, wanted: FoundTasks()
    end: Callable[[SessionRecord, str, str], None] = lambda record, kind, id: None  # a "task" or an "actor", by its id
    ray_nodes: Callable[[], Sequence[NodeRecord]] = lambda: ()
    stop_ray_node: Callable[[NodeRecord, bool], bool] = lambda record, force: True
    first_page: Path = Path(__file__).parent / "site" / "index.html"  # of the documentation, which `make docs` writes
    open_page: Callable[[Path], bool] = _open_page


def real_control() -> Control:
    """The commands' own: the heads of this machine."""
    from nbaccel import api
    from nbaccel.machines import node_records
    from nbaccel.views import sessions

    return Control(
        sessions.find,
        api.start_head,
        lambda record, force: api.stop_head(record, force=force),
        api.observe,
        _wait,
        api.snapshots,
        api.head_notes,
        api.device_holder,
        api.head_tasks,
        api.end_work,
        node_records.find,
        lambda record, force: node_records.end(record, force=force),
    )


def _wait(pid: int) -> None:
    """Return when this process has ended.

    Nothing is imported here: an interrupt inside a module's own `exec` (every namedtuple has one) makes Python 3.11 end
    by SIGINT even when it was caught. An interrupt that comes just before `select` is seen when that returns.
    """
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        while not select.select([process], [], [], INTERRUPT_SEEN_S)[0]:
            pass
    finally:
        os.close(process)


def _json_object(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """Reads '{"TPU": 2}', or says how to write it."""
    try:
        read = None if value is None else json.loads(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not JSON ({error}). Write it as '{{\"name\": 1}}'.") from None
    if read is not None and not isinstance(read, dict):
        raise click.BadParameter(f"{value!r} is not a JSON object. Write it as '{{\"name\": 1}}'.")
    return read


@click.group(cls=Sentences, context_settings=HELP)
@click.version_option(__version__, prog_name="nbaccel")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Accelerators for notebooks: shared heads on this machine, and what they do."""
    ctx.obj = ctx.obj or real_control()


@main.command()
@click.option("--head", is_flag=True, help="Start a head, which serves this machine.")
@click.option("--engine", type=click.Choice(["local", "ray"]), help="Whose head: nbaccel's own, or Ray's.")
@click.option("--port", type=int, help="Where Ray's head listens: 6379 if not given, 0 for a free port.")
@click.option(
    "--address",
    callback=text,
    help="Join the Ray cluster at HOST:6379 as a node, until this command is ended.",
)
@click.option("--token-file", callback=text, help="The token of the Ray cluster; usually ~/.ray/auth_token.")
@click.option("--node-type", callback=text, help="The name of Ray nodes like this one, for views.")
@click.option("--name", callback=no_name, expose_value=False, hidden=True)
@click.option("--num-cpus", type=int, help="CPUs to offer; as many as there are if not given.")
@click.option("--num-gpus", type=int, help="GPUs to offer; more than there are makes logical ones.")
@click.option("--resources", callback=_json_object, help="""Further resources, '{"TPU": 4}'.""")
@click.option("--labels", callback=_json_object, help="""Labels of this machine, '{"zone": "a"}'.""")
@click.option("--object-store-memory", callback=size_bytes, help="Bytes for objects, or 10GiB; more goes to disk.")
@click.option("--preload", callback=modules, help="Modules that new workers have loaded already: numpy,torch")
@click.option("--simulate", callback=text, help="Simulate these devices: nvidia:8xH100")
@click.option("--gpu-vendor", type=click.Choice(["nvidia", "amd", "intel"]), help="Whose GPUs are offered.")
@click.option("--node-types", callback=text, help="A machines.toml: types of nodes that come when work needs them.")
@click.option("--block", is_flag=True, help="Stay until the head ends; Ctrl-C ends it.")
@click.pass_obj
def start(control: Control, /, head: bool, block: bool, preload: list[str] | None, **options: Any) -> None:
    """Start a head that several notebooks share, or join a Ray cluster as a node."""
    given = {name: value for name, value in options.items() if value is not None}
    engine = given.pop("engine", None)
    if "address" in given or engine == "ray":
        from nbaccel.machines import node_commands

        if preload or "simulate" in given:
            raise click.UsageError("--preload and --simulate are for heads of nbaccel; a node of Ray's has neither.")
        node_commands.start(given, head=head, engine=engine, block=block, wait=control.wait)
        return
    if not head:
        typed = " ".join(["nbaccel start --head", *(f"--{name.replace('_', '-')}={given[name]}" for name in given)])
        raise click.UsageError(
            f"Say --head to start a head on this machine: {typed}. For several machines add --engine=ray, and to join "
            "this one to a Ray cluster say --address=HOST:PORT instead."
        )
    for name in ("port", "token_file", "node_type"):
        if name in given:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --engine=ray or --address=HOST:6379.")
    if preload:
        given["preload"] = preload
    try:
        record = control.start(**given)
    except TypeError as error:  # JSON can hold values of any type
        raise click.ClickException(str(error)) from None
    if block:
        _stay(control, record)
    else:
        _announce(record)


def _announce(record: SessionRecord) -> None:
    click.echo(f"nbaccel head started, pid {record.pid}.")
    click.echo('  join it   %accel_init address=auto, or nbaccel.init(address="auto")')
    click.echo("  see it    nbaccel status")
    click.echo(f"  end it    nbaccel stop, or nbaccel stop {record.pid} where several run")


def _stay(control: Control, record: SessionRecord) -> None:
    try:
        _announce(record)
        control.wait(record.pid)
    except KeyboardInterrupt:
        control.stop(record, False)
        click.echo("The head has ended.")
        return
    raise click.ClickException(f"The head, pid {record.pid}, ended by itself; its log says why.")


@main.command()
@click.argument("which", required=False, callback=text, metavar="[NAME|PID]")
@click.option("--all", "everyone", is_flag=True, help="Every shared head of yours.")
@click.option("--force", is_flag=True, help="Kill what does not end by itself.")
@click.pass_obj
def stop(control: Control, which: str | None, everyone: bool, force: bool) -> None:
    """End a shared head that you started on this machine: the only one, or the one that you name."""
    if which and everyone:
        raise click.UsageError("Say a head's name or --all, not both.")
    records: list[_Record] = [*control.find(), *control.ray_nodes()]
    shared = [record for record in records if record.shared]
    chosen = shared if everyone else _named(which, records) if which else _only(shared)
    deaf = [record.pid for record in chosen if not _stopped(control, record, force)]
    for record in records:
        if not record.shared and not which:
            click.echo(f"Left alone: pid {record.pid} belongs to {wording.plain(record.title)} and ends with it.")
    if not records:
        click.echo("No nbaccel head of yours runs on this machine.")
    if deaf:
        pids = ", ".join(map(str, deaf))
        raise click.ClickException(f"The head of pid {pids} has not ended; nbaccel stop --force kills it.")


def _only(shared: list[_Record]) -> list[_Record]:
    """The one that there is; with several, the user has to say which one is meant."""
    if len(shared) > 1:
        listed = "\n".join(map(_line, shared))
        raise click.UsageError(
            f"{len(shared)} shared heads and Ray nodes of yours run on this machine:\n{listed}\nNothing was ended. "
            "Say which one: nbaccel stop NAME, nbaccel stop PID, or nbaccel stop --all."
        )
    return shared


def _named(which: str, records: Sequence[_Record]) -> list[_Record]:
    """The shared head of this name or pid; the beginning of a name is enough where no other begins so."""
    found = [record for record in records if which in (record.session, str(record.pid))]
    found = found or [record for record in records if record.session.startswith(which)]
    if len(found) == 1 and found[0].shared:
        return found
    if len(found) == 1:
        title = wording.plain(found[0].title)
        raise click.UsageError(f"The head {which} belongs to {title} and ends with it: call nbaccel.shutdown() there.")
    listed = "\n".join(_line(record) for record in records if record.shared) or "  none"
    begin = "Several heads begin with" if found else "No head is called"
    raise click.UsageError(f"{begin} {which!r}. Shared heads of yours on this machine:\n{listed}")


def _line(record: _Record) -> str:
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.started_at))
    kind = f"  {record.title}" if isinstance(record, NodeRecord) else ""
    return f"  {wording.plain(record.session)}  pid {record.pid}  since {since}{kind}"


def _stopped(control: Control, record: _Record, force: bool) -> bool:
    try:
        if isinstance(record, NodeRecord):
            ended, what = control.stop_ray_node(record, force), record.title
        else:
            ended, what = control.stop(record, force), "the head"
    except ConnectionError as error:
        click.echo(str(error), err=True)
        return False
    if ended:
        click.echo(f"Ended {what} of pid {record.pid}.")
    return ended


@main.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON array: a snapshot of each head, a ray_node for each Ray node."
)
@click.pass_obj
def status(control: Control, as_json: bool) -> None:
    """Show every head of yours: what is free, who holds which device, what waits and why."""
    from nbaccel.machines import node_commands

    snapshots = _observed(control)
    if as_json:
        ray_nodes = [{"ray_node": node_commands.state_as_dict(node)} for node in control.ray_nodes()]
        click.echo(json.dumps([*(snapshot.as_dict() for snapshot in snapshots), *ray_nodes]))
        return
    nodes = control.ray_nodes()
    if not snapshots and not nodes:
        raise click.ClickException(NOTHING_RUNS)
    for snapshot in snapshots:
        _print(*_status_parts(snapshot))
    for node in nodes:
        click.echo(node_commands.state_of(node))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of devices.")
@click.pass_obj
def devices(control: Control, as_json: bool) -> None:
    """Show every device of this machine and, while a head runs, who holds it.

    With NBACCEL_SIMULATE the machine is the simulated one: heads with other devices are left out.
    """
    from nbaccel.accelerators.simulate import SIMULATE_VARIABLE

    snapshots = _observed(control)
    if os.environ.get(SIMULATE_VARIABLE):
        snapshots = [shown for shown in snapshots if any(row.kind == "simulated" for row in shown.devices)]
    if as_json:
        rows = [row for snapshot in snapshots for row in snapshot.as_dict()["devices"]] or _machine_rows(control)
        click.echo(json.dumps(rows))
        return
    for snapshot in snapshots:
        _print(tables.headline(snapshot), tables.devices(snapshot, everything=True))
    if not snapshots:
        _print(_machine_devices(control))


@main.command()
@click.option("--simulate", callback=text, help="Report on a machine with these devices: nvidia:8xH100")
@click.option(
    "--address",
    callback=text,
    help="Say instead whether this machine could join the Ray cluster at HOST:6379.",
)
@click.option("--token-file", callback=text, help="The token to show there; usually ~/.ray/auth_token.")
@click.pass_obj
def doctor(control: Control, simulate: str | None, address: str | None, token_file: str | None) -> None:
    """Say which accelerators were looked for, what was found, and why not the others."""
    if address:
        from nbaccel.machines import joining

        for sentence in joining.judge_address(address, token_file):
            click.echo(sentence)
        for sentence in joining.judge_reach(address):
            click.echo(sentence)
        return
    if token_file:
        raise click.UsageError("--token-file goes with --address=HOST:6379.")
    from nbaccel.accelerators import report

    text = report.doctor(simulate=simulate, held=control.holder, log_errors=_last_notes(control))
    click.echo(_wrapped(text) if sys.stdout.isatty() else text)


def _last_notes(control: Control) -> list[str]:
    """What each head has noted of late: it notes only what went wrong."""
    lines = []
    for record in control.find():
        try:
            notes = control.notes(record)
        except (ConnectionError, FileNotFoundError):
            continue
        lines += [
            f"pid {record.pid}: {wording.plain(line)}" for note in notes[-MOST_NOTES:] for line in note.splitlines()
        ]
    return lines


@main.command()
@click.option("--interval", "interval_s", callback=seconds, default="1", help="Seconds between drawings.")
@click.pass_obj
def top(control: Control, interval_s: float) -> None:
    """Watch devices, tasks and actors; ? lists the keys. Leaving with q or Ctrl-C ends nothing else."""
    from nbaccel.views import top as page

    if not control.find():
        raise click.ClickException(NOTHING_RUNS)
    if not page.watch(control.find, control.snapshots, interval_s, tasks=control.tasks, end=control.end):
        click.echo("No head runs any more.", err=True)


@main.command()
@click.argument("pid", type=int)
def stack(pid: int) -> None:
    """Show the lines at which the code of a worker of this machine is, by its pid in nbaccel tasks."""
    from nbaccel import stacks
    from nbaccel.views import stack_text

    lines = stack_text.with_sources(stack_text.of_users(stacks.of(pid)))
    if not lines:
        raise click.ClickException(f"No code of users runs in process {pid}, or it is no worker of nbaccel.")
    click.echo(lines)


@main.command()
@click.argument("path", required=False, type=click.Path(file_okay=False, exists=True))
@click.option("--text", default="", help="Only with this in their name, metrics or best config.")
@click.option("--state", default="", help="Only in this state: running, finished, stopped, failed, interrupted.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of runs.")
@click.option("--curves", multiple=True, metavar="NAME", help="Only this run, as JSON with its curves; repeatable.")
@click.option("--trials", metavar="NAME", help="Show the trials of this experiment instead, the best first.")
@click.option("--delete", multiple=True, metavar="NAME", help="Delete this run with its checkpoints; repeatable.")
@click.option("--note", nargs=2, metavar="NAME TEXT", help="Keep this text about a run in its folder.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
def runs(
    path: str | None,
    text: str,
    state: str,
    as_json: bool,
    curves: tuple[str, ...],
    trials: str | None,
    delete: tuple[str, ...],
    note: tuple[str, str] | None,
    yes: bool,
) -> None:
    """Show the training runs and experiments of a storage folder, the newest first; no head is needed."""
    import msgspec

    from nbaccel.views import stored_runs

    for name in delete:
        if yes or click.confirm(f"Delete {wording.plain(name)} with its checkpoints?"):
            _delete_run(path, name)
    if note:
        _write_note(path, *note)
    if delete or note:
        return
    try:
        if trials:
            found = stored_runs.trials(path, trials)
        elif curves:
            found = stored_runs.with_curves(path, curves)
        else:
            found = stored_runs.runs(path, text=text, state=state)
    except FileNotFoundError as error:
        if not as_json:
            raise click.ClickException(f"There is no folder {error.filename}: nothing was stored yet.") from None
        found = []
    if as_json or curves:
        click.echo(msgspec.json.encode(found).decode())
    else:
        _print(stored_runs.table(found, time.time()))


def _delete_run(path: str | None, name: str) -> None:
    from nbaccel.views import stored_runs

    try:
        stored_runs.delete(path, name)
    except FileNotFoundError:
        raise click.ClickException(_no_run(name)) from None
    except BlockingIOError:
        raise click.ClickException(f"{wording.plain(name)} is under way: stop it first.") from None
    click.echo(f"Deleted {wording.plain(name)}.")


def _write_note(path: str | None, name: str, text: str) -> None:
    from nbaccel.views import stored_runs

    try:
        stored_runs.write_note(path, name, text)
    except FileNotFoundError:
        raise click.ClickException(_no_run(name)) from None
    except OSError as error:
        raise click.ClickException(
            f"The folder of {wording.plain(name)} cannot be written: {error.strerror}."
        ) from None
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"Saved the note of {wording.plain(name)}.")


def _no_run(name: str) -> str:
    return f"There is no run {wording.plain(name)} in this folder any more."


@main.command("docs")
@click.option("--path", "only_path", is_flag=True, help="Print where its first page is, and open nothing.")
@click.pass_obj
def show_docs(control: Control, only_path: bool) -> None:
    """Open the installed copy of the documentation in a browser, or print where it is."""
    page = control.first_page
    if not page.exists():
        raise click.ClickException(f"This installation has no documentation: there is no {page}. make docs writes it.")
    opened = not only_path and control.open_page(page)
    click.echo(f"Opened {page}" if opened else page)


@main.command("explain-error")
@click.argument("words", nargs=-1, required=True)
def explain_error(words: tuple[str, ...]) -> None:
    """Say the cause of an error, a notice or an alert and what to do: by its name, or by words of its message."""
    from nbaccel import error_entries

    asked = " ".join(words)
    found = error_entries.find(asked, error_entries.entries(error_entries.page()), error_entries.raised_with(asked))
    if not found:
        raise click.ClickException(
            "Nothing is known by these words. Give the name of the error, or more of its message."
        )
    click.echo("\n\n".join(map(str, found)))


@main.command("tasks")
@click.option(
    "--state", "states", multiple=True, help="Only in this state: waiting, running, failed, …; may be repeated."
)
@click.option("--text", default="", help="Only with this in their name, id, cell or reason.")
@click.option("--limit", type=click.IntRange(min=0), default=20, help="The newest so many of each head; 0 for all.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of tasks.")
@click.pass_obj
def show_tasks(control: Control, states: tuple[str, ...], text: str, limit: int, as_json: bool) -> None:
    """Show the newest tasks of every head of yours, of all that it knows."""
    wanted = TaskFilter(_known_states(states), text=text, limit=limit)
    found = []
    for record in control.find():
        try:
            found.append((control.observe(record), control.tasks(record, wanted)))
        except (ConnectionError, FileNotFoundError):  # it has ended since it was found
            continue
    if as_json:
        click.echo(json.dumps([whole(row) for _, each in found for row in each.rows]))
        return
    if not found:
        raise click.ClickException(NOTHING_RUNS)
    for snapshot, each in found:
        more = each.total - len(each.rows)
        shown = replace(
            task_lines.table(snapshot, task_lines.each(each.rows[::-1])), empty="No task passes the filter."
        )
        _print(tables.headline(snapshot), shown, *([f"and {wording.count(more, 'older task')}"] if more else []))


def _known_states(states: tuple[str, ...]) -> list[str]:
    for state in states:
        if state not in tables.STATE_WORDS:
            raise click.BadParameter(f"{state!r} is not a state. The states are: {', '.join(tables.STATE_WORDS)}.")
    return list(states)


def _observed(control: Control) -> list[Snapshot]:
    """A snapshot of every head; one that ends while it is asked is not there any more."""
    snapshots = []
    for record in control.find():
        try:
            snapshots.append(control.observe(record))
        except (ConnectionError, FileNotFoundError):
            continue
    return snapshots


def _status_parts(snapshot: Snapshot) -> list[str | tables.Table]:
    waiting = [f"◌ {each.sentence()}" for each in task_lines.untold(snapshot, snapshot.alerts)[:5]]
    alerts = [f"attention: {wording.plain(alert.message)}" for alert in snapshot.alerts]
    head = [tables.first_line(snapshot), tables.headline(snapshot), tables.resources(snapshot)]
    runs = (run_snapshot.table(snapshot), experiment_snapshot.table(snapshot), served_snapshot.table(snapshot))
    shown = [tables.devices(snapshot), *(each for each in runs if each.rows)]
    return [*(line for line in head if line), *shown, *waiting, *alerts]


def _wrapped(text: str) -> str:
    """The lines cut between words where the terminal ends; a pipe gets them whole, for what reads them."""
    width = shutil.get_terminal_size().columns
    return "\n".join(textwrap.fill(line, width, subsequent_indent="    ") for line in text.split("\n"))


def _print(*parts: str | tables.Table) -> None:
    from rich.console import Console

    # A pipe has no width: rich would fold every row at 80 columns and break programs that read them.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 10_000)
    for part in parts:
        if isinstance(part, tables.Table) and not sys.stdout.isatty():
            click.echo(tables.as_text(part))
        else:
            console.print(_drawn(part))
            if isinstance(part, tables.Table) and part.more:
                console.print(part.more, style="dim")


def _drawn(part: str | tables.Table) -> Any:
    """The text, or the table as rich draws it; rich's own markup in a user's names stays text."""
    from rich.table import Table as RichTable
    from rich.text import Text

    if isinstance(part, str) or not part.rows:
        return Text(part if isinstance(part, str) else part.empty)
    drawn = RichTable(*part.columns, title=part.title, title_justify="left", box=None, pad_edge=False)
    for row in part.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn


def _machine_devices(control: Control) -> tables.Table:
    from nbaccel.accelerators import report

    found = report.devices(held=control.holder)
    rows = [tuple(str(row[column]) for column in report.COLUMNS) for row in found]
    return tables.Table(
        "Devices", report.COLUMNS, rows, empty="No accelerator. nbaccel doctor says what was looked for."
    )


def _machine_rows(control: Control) -> list[dict[str, Any]]:
    from nbaccel.accelerators import report

    return list(report.devices(held=control.holder))
