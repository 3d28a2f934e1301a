// A runtime as the cockpit wants it: snapshots from the watch; its messages become questions to the head, or orders that
// the server passes on.

import {
  count,
  type Filter,
  plain,
  shortId,
  shownOf,
  type Snapshot,
  type Source,
  subjectOf,
  type TaskRow,
  viewOfPast,
  viewOfRuns
} from './cockpit';
import type { HeadSnapshot } from './messages';
import type { Server } from './server';
import type { Watch } from './watch';

const ENDED_STATES = ['FINISHED', 'FAILED', 'CANCELLED'];
const MOST_CANCELLED = 1000; // tasks of one order
const NOTHING_PRINTED = { text: '', to: 0, left_out: 0 };
/** A log that cannot be read: it says why, and is not asked for again. */
const NO_LOG = { pause_s: 1, over: true, pid: null, failure: '', out: NOTHING_PRINTED, err: NOTHING_PRINTED };
const PAST = ['runs', 'accounting', 'readings'];

/** Which notebook the person looks at: its rows are the reader's own. */
export interface Reader {
  notebook: () => string; // its path; "" for none
  onlyMine: () => boolean;
  go: (runtime: string, words: string) => void; // to the cell that these words name
}

export function sourceOf(runtime: string, watch: Watch, server: Server, reader: Reader): Source {
  const listeners = new Set<(message: any) => void>();
  const tell = (message: any) => listeners.forEach(heard => heard(message));
  let drawn = '';
  let of: HeadSnapshot | null = null;
  let shown: Snapshot | null = null;

  const snapshot = (): Snapshot | null => {
    const now = watch.snapshot(runtime) ?? of;
    const key = `${reader.notebook()}\n${reader.onlyMine()}\n${watch.isGone(runtime)}`;
    if (now !== of || key !== drawn) {
      of = now;
      drawn = key;
      shown = now && asShown(now, reader, watch.isGone(runtime));
    }
    return shown;
  };
  /** Tell the view in one sentence how an order went. */
  const order = async (id: string, done: string, given: Record<string, unknown>, name: 'cancel' | 'retry' = 'cancel') => {
    try {
      await server.order(name, { runtime, ...given });
      tell({ say: 'taken', id, words: done });
    } catch (error) {
      tell({ say: 'taken', id, words: (error as Error).message });
    }
  };
  const named = (id: string) => nameOf(id, snapshot());

  const says: Record<string, (message: any) => unknown> = {
    visible: message => watch.askForRows(message.rows ?? 0),
    cancel: ({ id }) => order(id, `Cancelled ${named(id)}.`, { task_id: id }),
    retry: ({ id }) => order(id, `Submitted ${named(id)} again.`, { task_id: id }, 'retry'),
    kill: ({ id }) => order(id, `Killed ${named(id)}.`, { actor_id: id }),
    stop: ({ id }) => order(id, 'Asked it to stop.', stepOf(id)),
    'cancel-many': async ({ id, filter, function: only }) => {
      const given = { filter: filterOf(filter, snapshot(), MOST_CANCELLED) };
      const words = await cancelMany(given, only, snapshot(), runtime, watch, server).catch(error => error.message);
      tell({ say: 'taken', id, words });
    },
    find: async ({ id, key, filter, limit, function: only = '', skip = 0, by_state = false }) => {
      const wanted = { ...filterOf(filter, snapshot(), limit), function: only, skip, by_state };
      const { rows: tasks, total, functions } = await watch.ask(runtime, { ask: 'tasks', filter: wanted });
      tell({ say: 'found', id, found: { key, tasks, total, functions } });
    },
    history: async ({ id, key, ask, start, end, since, task_id, out_since, err_since, record, pid, node_id }) => {
      if (ask === 'stack') {
        const { stack } = await watch.ask(runtime, { ask, pid, node_id, since });
        tell({ say: 'history', id, ask, key, answer: JSON.stringify(stack) });
      }
      if (ask === 'rows') {
        const { rows } = await watch.ask(runtime, { ask, id: record, since });
        tell({ say: 'history', id, ask, key, answer: JSON.stringify(rows) });
      }
      if (ask === 'task_log') {
        const asked = watch.ask(runtime, { ask, task_id, out_since, err_since });
        const log = await asked.then(answer => answer.task_log, error => ({ ...NO_LOG, note: error.message }));
        tell({ say: 'history', id, ask, key, answer: JSON.stringify(log) });
      }
      if (!PAST.includes(ask)) return;
      const answer = await watch.ask(runtime, { ask, since, ...(ask === 'runs' && { start, end }) });
      tell({ say: 'history', id, ask, key, answer: JSON.stringify(answer[ask]) });
    }
  };
  return {
    snapshot,
    retries: true,
    subscribe: changed => watch.subscribe(changed),
    listen(heard) {
      listeners.add(heard);
      return () => void listeners.delete(heard);
    },
    send(message) {
      // A question that finds no answer leaves the view as it is: it asks again with the next change.
      Promise.resolve(says[message.say]?.(message)).catch(error => console.debug(`nbaccel: ${error.message}`));
    },
    go: words => reader.go(runtime, words)
  };
}

/** The snapshot with what the cockpit's page adds: runs, the past, and whose rows are the reader's own. */
function asShown(given: HeadSnapshot, reader: Reader, gone: boolean): Snapshot {
  const job = ownJob(given, reader.notebook());
  const own = { ...given, runtime: { ...given.runtime, job } };
  const filtered = reader.onlyMine() && (given.jobs?.length ?? 0) > 1 ? onlyOf(own, job) : own;
  return { ...shownOf(filtered, viewOfRuns), past: viewOfPast, ...(gone && { ended: true }) };
}

/** The job of this notebook; of a runtime with one driver, that one. */
export function ownJob(snapshot: HeadSnapshot, notebook: string): number {
  const jobs = snapshot.jobs ?? [];
  if (jobs.length === 1) return jobs[0].number;
  return jobs.findLast(({ name }) => isSameNotebook(name, notebook))?.number ?? 0;
}

/** A job has the name of its notebook without its folder. */
export function isSameNotebook(name: string, path: string): boolean {
  return path !== '' && name.split('/').at(-1) === path.split('/').at(-1);
}

/** Without the tasks and actors of others, counted anew. */
function onlyOf(snapshot: HeadSnapshot, job: number): HeadSnapshot {
  const tasks = (snapshot.tasks ?? []).filter(row => row.job === job);
  const actors = (snapshot.actors ?? []).filter(row => row.job === job);
  const counted = (rows: { state: string }[]) => {
    const counts: Record<string, number> = {};
    for (const { state } of rows) counts[state] = (counts[state] ?? 0) + 1;
    return counts;
  };
  const published = snapshot.published?.filter(row => row.job === job);
  return { ...snapshot, tasks, actors, published, functions: [], counts: counted(tasks), actor_counts: counted(actors) };
}

/** The order for a run or an experiment: its id, how often it had been asked before, and a trial, as the button has them. */
function stepOf(id: string) {
  const [run_id, before, trial] = String(id).split('/');
  return { run_id, ...(before && { before: Number(before) }), ...(trial && { trial }) };
}

/** A view's filter as a question has it: its cell is "[7]", or "b.ipynb [7]" of another notebook. */
function filterOf(given: Filter, snapshot: Snapshot | null, limit: number) {
  const at = given.cell.lastIndexOf(' [');
  const owner = at < 0 ? '' : given.cell.slice(0, at);
  const other = snapshot?.jobs?.find(({ name }) => plain(name) === owner)?.number;
  return {
    states: given.state ? [given.state] : [],
    cell: at < 0 ? given.cell : given.cell.slice(at + 1),
    job: given.cell ? (other ?? snapshot?.runtime.job ?? 0) : 0,
    text: given.text,
    limit
  };
}

/** Cancel the reader's own tasks that pass the filter; others are left alone and counted. Returns what was done. */
async function cancelMany(
  given: { filter: ReturnType<typeof filterOf> },
  only: string,
  snapshot: Snapshot | null,
  runtime: string,
  watch: Watch,
  server: Server
): Promise<string> {
  const { rows } = await watch.ask(runtime, { ask: 'tasks', ...given });
  const live: TaskRow[] = rows.filter(
    (row: TaskRow) => !ENDED_STATES.includes(row.state) && (!only || subjectOf(row) === only)
  );
  const own = live.filter(row => !row.job || row.job === snapshot?.runtime.job);
  for (const row of own) await server.order('cancel', { runtime, task_id: row.task_id });
  const left = live.length - own.length;
  return `Cancelled ${count(own.length, 'task')}.${left ? ` ${count(left, 'task')} of other notebooks left alone.` : ''}`;
}

/** "train #3f2a-7", as views name it. */
function nameOf(id: string, snapshot: Snapshot | null): string {
  const task = snapshot?.tasks?.find(row => row.task_id === id);
  const actor = snapshot?.actors?.find(row => row.actor_id === id);
  const name = plain(task?.name ?? actor?.class_name);
  return [name, `#${actor ? id.slice(0, 8) : shortId(id)}`].filter(Boolean).join(' ');
}
