// What the Jupyter server sends over the WebSocket; docs/extension.md describes it.

import type { Asked, Snapshot } from '../../frontend/src/model/sent';

export interface Runtime {
  id: string;
  title: string;
  shared: boolean;
  engine: string;
  pid: number;
  owner_pid: number;
  kernel_id: string;
  notebook: string;
  started_at: number;
  version: string;
  python: string;
  protocol: number;
  state: 'found' | 'connected' | 'silent' | 'other_version';
  reason: string;
}

export interface MachineProcess {
  pid: number;
  name: string;
  user: string;
  own: boolean;
  memory_bytes: number | null;
}

export interface MachineDevice {
  id: string;
  uuid: string | null;
  name: string;
  vendor: string;
  memory_total_bytes: number | null;
  memory_used_bytes: number | null;
  utilisation_percent: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  processes: MachineProcess[];
  reasons: Record<string, string>;
}

export interface Machine {
  time: number;
  devices: MachineDevice[];
  reason: string;
  others: string;
  host: {
    cpus: number;
    cpu_percent: number | null;
    memory_total_bytes: number | null;
    memory_used_bytes: number | null;
  } | null;
}

export interface Ignored {
  file: string;
  reason: string;
}

/** A head's own snapshot, whole. */
export type HeadSnapshot = Snapshot;

/** What may be asked over the WebSocket: orders are POST requests. */
export type Askable = 'explain' | 'tasks' | 'logs' | 'notes' | 'runs' | 'accounting' | 'readings' | 'rows' | 'stack' | 'task_log';
export type Question<K extends Askable = Askable> = Asked[K]['question'];
export type Answer<K extends Askable = Askable> = Asked[K]['answer'];

export type Message =
  | { type: 'hello'; api: number; version: string; protocol: number; may_execute: boolean }
  | { type: 'runtimes'; runtimes: Runtime[]; ignored: Ignored[] }
  | { type: 'snapshot'; runtime: string; snapshot: HeadSnapshot }
  | { type: 'machine'; machine: Machine }
  | { type: 'gone'; runtime: string; reason: string }
  | { type: 'answer'; id: number; runtime: string; answer?: Answer; error?: string }
  | { type: 'error'; message: string };
