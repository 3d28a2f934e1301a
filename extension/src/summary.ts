// The line of the status bar: "GPU 2/8 · 34 % · 3 running". Devices of this machine are counted once, whichever runtimes
// offer them. Logical and simulated ones are none of the machine's: only those of the notebook that is open are counted.

import type { DeviceRow } from './cockpit';
import type { HeadSnapshot, Runtime } from './messages';
import type { Watch } from './watch';

const RUNNING = ['RUNNING', 'RUNNING_IN_RAY_GET', 'RUNNING_IN_RAY_WAIT', 'SUBMITTED_TO_WORKER'];

interface Kind {
  held: number;
  all: number;
  loads: number[];
}

/** Devices in use of all, by kind, with their mean load, and how many tasks run; "" where there is nothing to say. */
export function summaryOf(watch: Watch, isOpen: (runtime: Runtime) => boolean): { words: string; alerts: number } {
  const kinds = new Map<string, Kind>();
  const seen = new Set<string>();
  let alerts = 0;
  let running = 0;
  for (const runtime of watch.runtimes) {
    const snapshot = watch.snapshot(runtime.id);
    alerts += snapshot?.alerts?.length ?? 0;
    for (const state of RUNNING) running += snapshot?.counts?.[state] ?? 0;
    const open = isOpen(runtime);
    for (const row of snapshot?.devices ?? []) if (row.offered !== false && (open || row.kind === 'real')) add(kinds, seen, row, runtime.id);
    if (snapshot) addWithoutRows(kinds, snapshot, open);
  }
  for (const device of watch.machine?.devices ?? []) {
    if (device.reasons.device || (device.uuid && seen.has(device.uuid))) continue; // lost, or counted already
    const kind = kindOf(kinds, 'GPU');
    kind.all += 1;
    if (device.processes.length) kind.held += 1;
    if (device.utilisation_percent != null) kind.loads.push(device.utilisation_percent);
  }
  const words = [...kinds].map(([name, kind]) => wordsOf(name, kind));
  return { words: [...words, running ? `${running} running` : ''].filter(Boolean).join(' · '), alerts };
}

/** A real device that several runtimes offer is counted once; it is held if one of them holds it. */
function add(kinds: Map<string, Kind>, seen: Set<string>, row: DeviceRow & { uuid?: string | null }, runtime: string): void {
  const key = row.uuid || `${runtime}/${row.node_id}/${row.resource}/${row.id}`;
  const isHeld = Boolean(row.holders?.length || row.free_reason);
  const kind = kindOf(kinds, row.resource);
  if (isHeld && !seen.has(`held ${key}`)) {
    seen.add(`held ${key}`);
    kind.held += 1;
  }
  if (seen.has(key)) return;
  seen.add(key);
  kind.all += 1;
  if (row.metrics?.utilisation_percent != null) kind.loads.push(row.metrics.utilisation_percent);
}

/** A snapshot of a large cluster has rows of some devices, and counts of all. */
function addWithoutRows(kinds: Map<string, Kind>, snapshot: HeadSnapshot, isOpen: boolean): void {
  for (const { resource, total = 0, held = 0, taken = 0, logical = 0, simulated = 0 } of snapshot.device_counts ?? []) {
    if (logical + simulated > 0 && !isOpen) continue;
    const rows = (snapshot.devices ?? []).filter(row => row.resource === resource && row.offered !== false);
    if (total <= rows.length) continue;
    const kind = kindOf(kinds, resource);
    kind.all += total - rows.length;
    kind.held += held + taken - rows.filter(row => row.holders?.length || row.free_reason).length;
  }
}

function kindOf(kinds: Map<string, Kind>, name: string): Kind {
  const known = kinds.get(name) ?? { held: 0, all: 0, loads: [] };
  kinds.set(name, known);
  return known;
}

function wordsOf(name: string, { held, all, loads }: Kind): string {
  const load = loads.length ? ` · ${Math.round(loads.reduce((sum, each) => sum + each, 0) / loads.length)} %` : '';
  return `${name} ${held}/${all}${load}`;
}
