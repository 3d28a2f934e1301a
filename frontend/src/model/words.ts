// How values are said: the same words as in the terminal and in the static card.

import type { Snapshot } from "./types";

const SIZES = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
] as [number, string][];
export const ENDED = new Set(["FINISHED", "FAILED", "CANCELLED"]);
const RUNNING = new Set(["RUNNING", "RUNNING_IN_RAY_GET", "RUNNING_IN_RAY_WAIT", "SUBMITTED_TO_WORKER"]);

/** 1.0 is "1", 0.25 is "0.25". */
export function amount(quantity: number) {
  return String(Math.round(quantity * 10000) / 10000);
}

/** 42949672960 is "40 GiB". */
export function size(bytes: number | null | undefined) {
  if (bytes == null) return "unknown";
  for (const [unit, word] of SIZES) {
    if (bytes >= unit) {
      const value = bytes / unit;
      return `${value >= 10 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${word}`;
    }
  }
  return `${bytes} B`;
}

/** "8 s", "2 min", "3 min 12 s", "2 h 05 min". */
export function age(seconds: number) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  const [unit, length, rest, less] =
    whole < 3600 ? ["min", 60, whole % 60, "s"] : ["h", 3600, Math.floor((whole % 3600) / 60), "min"];
  return `${Math.floor(whole / Number(length))} ${unit}${rest ? ` ${String(rest).padStart(2, "0")} ${less}` : ""}`;
}

/** How long something ran: tenths of a second where that says more. */
export function duration(seconds: number) {
  return seconds < 9.95 ? `${Math.max(0, seconds).toFixed(1)} s` : age(seconds);
}

/** A moment of today as "14:03:22", of another day as "11-22 14:03". */
export function clock(time: number, now: number) {
  const at = new Date(time * 1000);
  const two = (number: number) => String(number).padStart(2, "0");
  const [day, clockTime] = [
    `${two(at.getMonth() + 1)}-${two(at.getDate())}`,
    `${two(at.getHours())}:${two(at.getMinutes())}`,
  ];
  return at.toDateString() === new Date(now * 1000).toDateString()
    ? `${clockTime}:${two(at.getSeconds())}`
    : `${day} ${clockTime}`;
}

/** A user's text on one line: control characters and those that turn the direction of text are spelled out. */
export function plain(text: string | null | undefined) {
  return (text ?? "").replace(
    /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** `count(2, "node")` is "2 nodes"; a noun that ends in s stays as it is. */
export function count(number: number, noun: string) {
  return number === 1 || noun.endsWith("s") ? `${number} ${noun}` : `${number} ${noun}s`;
}

/** "1 CPU, 0.5 GPU". */
export function demandWords(demand: Record<string, number> | undefined) {
  const parts = Object.entries(demand ?? {}).filter(([, quantity]) => quantity);
  return parts.map(([name, quantity]) => `${amount(quantity)} ${plain(name)}`).join(", ") || "nothing";
}

/** "GPU 0, 1". */
export function deviceWords(ids: Record<string, string[]> | undefined) {
  return Object.entries(ids ?? {})
    .filter(([, names]) => names.length)
    .map(([name, names]) => `${plain(name)} ${names.map(plain).join(", ")}`)
    .join("; ");
}

/** A task's id as people read and type it: the tasks of one driver share the start, so their number is named. */
export function shortId(id: string) {
  const numbered = id.length === 48 && id.startsWith("000000", 24);
  if (numbered) return `${id.slice(0, 4)}-${parseInt(id.slice(30, 40), 16)}`;
  return id.startsWith("f".repeat(16)) ? id.slice(16, 28) : id.slice(0, 12); // what makes an actor on Ray is named by the actor
}

/** An actor's constructor is the actor that starts: "Model (starting)". */
export function taskName(name: string) {
  return plain(name).replace(/\.__init__$/, " (starting)");
}

/** A state as a person says it. */
export function stateWord(state: string) {
  if (RUNNING.has(state)) return "running";
  if (state.startsWith("PENDING")) return "waiting";
  return state.toLowerCase().replaceAll("_", " ");
}

/** A shape for a state's word, since colour alone does not reach everyone. */
export function stateSign(word: string) {
  return (
    {
      running: "●",
      alive: "●",
      stopping: "●",
      serving: "●",
      ending: "●",
      finished: "✓",
      returned: "✓",
      done: "✓",
      failed: "✕",
      error: "✕",
      dead: "✕",
      cancelled: "⊘",
      stopped: "⊘",
      interrupted: "⊘",
      unhealthy: "⚠",
      ended: "–",
      "ended with it": "–",
    }[word] ?? "◌"
  );
}

// ---- Whose a task, an actor or a hold is: on a shared head several notebooks have a cell [3].

/** The notebook or script of a row; "" for the reader's own. */
export function ownerOf(snapshot: Snapshot, row: { job?: number }) {
  if (!row.job || row.job === snapshot.runtime.job || !snapshot.jobs?.length) return "";
  return plain(snapshot.jobs.find((job) => job.number === row.job)?.name ?? `job ${row.job}`);
}

/** "b.ipynb [7] line 3"; without the notebook for the reader's own. */
export function cellWords(snapshot: Snapshot, row: { job?: number; cell?: string }) {
  return [ownerOf(snapshot, row), plain(row.cell)].filter(Boolean).join(" ");
}

// ---- What nodes are called in every view: without their domain, and of a long name the beginning and the end, which tells it
// from others. A title has the whole.

interface NodeName {
  words: string;
  whole: string;
}

const HEAD = 13; // letters of a long name, before its last ones
const TAIL = 10;

/** The nodes' names by their ids; two that differ only in their domains keep these. */
export function nodeNames({ nodes = [] }: Snapshot): Map<string | null | undefined, NodeName> {
  const hosts = nodes.map(({ name }) => hostOf(plain(name)));
  const times: Map<string, number> = new Map();
  for (const host of hosts) times.set(host, (times.get(host) ?? 0) + 1);
  return new Map(
    nodes.map(({ node_id, name }, at) => {
      const whole = plain(name);
      return [node_id, { whole, words: shortened((times.get(hosts[at]) ?? 0) > 1 ? whole : hosts[at]) }];
    }),
  );
}

/** An address has no domain. */
function hostOf(name: string) {
  return /^[\d.:]+$/.test(name) ? name : name.split(".")[0];
}

function shortened(name: string) {
  return name.length > HEAD + 1 + TAIL ? `${name.slice(0, HEAD)}…${name.slice(-TAIL)}` : name;
}
