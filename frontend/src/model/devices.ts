// Devices as a person reads them: which, how full, whose task, which cell.

import { colourOf } from "./colours";
import { linesOf, type Lines } from "./history";
import type { Asked } from "./scene";
import type { DeviceCount, DeviceRow, Holder, Snapshot } from "./types";
import { age, amount, count, nodeNames, ownerOf, plain, size } from "./words";

/** as measured on the page */
export interface TilesInSight {
  top: number;
  height: number;
  row: number;
  columns: number;
}

export interface HolderView {
  key: string;
  name: string;
  part: string; // "" for a whole device
  cell: string;
  owner: string; // "" for the reader's own
  age: string;
  pid: string;
  colour: number;
  fraction: number;
  taskId: string; // "" for an actor
  actorId: string;
}

/** null where nothing is known */
export type MeterView = { percent: number; text: string } | null;

export interface DeviceView {
  key: string;
  label: string;
  node: string; // "" where there is only one
  nodeTitle: string; // its whole name
  nodeKey: string; // its id
  model: string;
  sign: string;
  state: string;
  use: string; // what its bar says, in words
  utilisation: MeterView;
  memory: MeterView;
  power: MeterView;
  lines: Lines | null; // of the last two minutes
  facts: string; // temperature and power
  title: string; // its UUID, where its label is none
  reason: string; // why less is free than nobody here holds
  holders: HolderView[];
}

/** The devices as far as they are in sight, and what is said of all of them; without `asked` only the latter. */
export function devicesOf(snapshot: Snapshot, now: number, asked: Asked | null) {
  const [gone, counts] = [goneNodes(snapshot), deviceCounts(snapshot)];
  const all = (snapshot.devices ?? []).map((row) => whereItIs(row, gone));
  const rows = all.filter((row) => row.offered !== false);
  const more = Math.max(0, sumOf(counts, "total") - rows.length);
  const several = new Set(rows.map((row) => row.node_id)).size > 1;
  const names = nodeNames(snapshot);
  const view = (row: DeviceRow) => ({
    ...deviceView(row, labels.get(row) ?? "", snapshot, now),
    ...nodeOf(row),
    lines: row.metrics ? linesOf(asked?.past?.readings?.data, row) : null,
  });
  const nodeOf = ({ node_id }: DeviceRow) => {
    const name = names.get(node_id);
    return several
      ? { node: name?.words ?? (node_id ?? "").slice(0, 8), nodeTitle: name?.whole ?? "", nodeKey: node_id ?? "" }
      : { node: "", nodeTitle: "", nodeKey: "" };
  };
  const groups = several ? byNode(rows) : rows.map((row) => [row]);
  const { first, last } = tilesInSight(rows.length, groups.length, asked?.tiles ?? firstSight(several));
  const [before, drawn] = [groups.slice(0, first).flat().length, groups.slice(first, last).flat()];
  const chosen = asked?.device ? rows.find((row) => deviceKey(row) === asked.device) : null;
  const labels = deviceLabels(rows.some((row) => row.parent) ? all : chosen ? [...drawn, chosen] : drawn);
  return {
    devices: asked ? drawn.map(view) : [],
    devicesBefore: before,
    tileGroups: {
      many: isMany(rows),
      first,
      last,
      all: groups.length,
      most: several ? Math.max(...groups.map((each) => each.length)) : 0,
    },
    deviceTotal: rows.length,
    devicesMore: more,
    unrealDevices: unrealDevices(counts),
    sameModel: !more && rows.length > 1 && new Set(rows.map(modelOf)).size === 1,
    chosenDevice: chosen ? view(chosen) : null,
    heldBy: heldBy(rows, snapshot, labels),
    devicesFree: sumOf(counts, "total") - sumOf(counts, "held") - sumOf(counts, "taken"),
    devicesTaken: sumOf(counts, "taken"),
    devicesGone: rows.filter((row) => row.gone).length,
  };
}

/** Who holds how many devices, the most first.
 * @param labels of those that are in sight */
function heldBy(rows: DeviceRow[], snapshot: Snapshot, labels: Map<DeviceRow, string>) {
  const numbers: Map<string, { number: number; share: number; first: Holder; where: Set<string> }> = new Map();
  for (const row of rows) {
    for (const holder of row.holders ?? []) {
      const known = numbers.get(holder.name) ?? { number: 0, share: 0, first: holder, where: new Set() };
      known.number += 1;
      known.where.add(labels.get(row) ?? "");
      known.share += Math.min(1, holder.amount ?? 1);
      numbers.set(holder.name, known);
    }
  }
  const all = [...numbers].sort((a, b) => b[1].number - a[1].number);
  return all.map(([name, { number, share, where, first }]) => ({
    name: plain(name),
    number,
    share,
    where: [...where],
    colour: colourOf(snapshot, first.function || name),
  }));
}

export function deviceKey(row: DeviceRow) {
  return `${row.node_id ?? ""}/${row.resource}/${row.id}`;
}

function modelOf(row: DeviceRow) {
  return `${row.name || row.type || row.family}·${row.parent ? "" : (row.profile ?? "")}·${row.kind ?? "real"}`;
}

function deviceView(row: DeviceRow, label: string, snapshot: Snapshot, now: number) {
  const [sign, state] = deviceState(row);
  const holders = holderViews(row.holders ?? [], snapshot, now);
  return {
    key: deviceKey(row),
    label,
    title: row.parent ? plain(row.id) : "",
    model: modelWords(row),
    sign,
    state,
    use: useWords(holders),
    utilisation: utilisation(row),
    memory: memory(row),
    power: power(row),
    facts: facts(row),
    reason: plain(row.free_reason),
    holders,
  };
}

function deviceState(row: DeviceRow): [string, string] {
  const held = row.holders?.length;
  if (row.over) return ["–", "given back"];
  if (row.gone) return ["✕", "gone"];
  if (row.free_reason && !held) return ["◼", "taken"];
  if (!held) return ["○", "free"];
  return (row.free ?? 1) > 0 ? ["◐", "shared"] : ["●", "held"];
}

function holderViews(holders: Holder[], snapshot: Snapshot, now: number): HolderView[] {
  const ids = holders.map((holder) => holder.task_id ?? holder.actor_id ?? holder.name);
  return holders.map((holder, index) => ({
    key: ids[index],
    name: plain(holder.name),
    part: (holder.amount ?? 1) === 1 ? "" : amount(holder.amount ?? 1),
    cell: plain(holder.cell),
    owner: ownerOf(snapshot, holder),
    age: holder.since ? age(now - holder.since) : "",
    pid: holder.pid ? `pid ${holder.pid}` : "",
    colour: colourOf(snapshot, holder.function || holder.name, holder.actor_id ?? ids[index]),
    fraction: Math.min(1, Math.max(0, holder.amount ?? 1)),
    taskId: holder.task_id ?? "",
    actorId: holder.task_id ? "" : (holder.actor_id ?? ""),
  }));
}

function useWords(holders: HolderView[]) {
  if (!holders.length) return "nobody holds it";
  return holders.map((holder) => `${holder.name} ${holder.part || "1"}`).join(", ");
}

function utilisation(row: DeviceRow): MeterView {
  const percent = row.metrics?.utilisation_percent;
  return percent == null ? null : { percent, text: `${Math.round(percent)} %` };
}

function memory(row: DeviceRow): MeterView {
  const used = row.metrics?.memory_used_bytes;
  const total = row.metrics?.memory_total_bytes ?? row.memory_bytes;
  if (used == null || !total) return null;
  return { percent: (100 * used) / total, text: `${size(used)} of ${size(total)}` };
}

function power(row: DeviceRow): MeterView {
  const watts = row.metrics?.power_watts;
  return watts == null ? null : { percent: 0, text: `${Math.round(watts)} W` };
}

function facts(row: DeviceRow) {
  const parts = [];
  if (row.metrics?.temperature_celsius != null) parts.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
  if (row.metrics?.power_watts != null) parts.push(`${Math.round(row.metrics.power_watts)} W`);
  return parts.join(" · ");
}

// ---- What a device is called: "GPU 0", and of a MIG instance "GPU 0 · MIG 3 (1g.5gb)", as in Python; and which are no hardware.

const LONG_ID = 20; // a UUID is cut

/** The label of each row. */
export function deviceLabels(rows: DeviceRow[]): Map<DeviceRow, string> {
  const kind = (row: DeviceRow) => `${row.node_id ?? ""}/${row.resource}`;
  const taken = new Set(rows.filter((row) => !row.parent).map((row) => `${kind(row)}/${row.id}`));
  const cards: Map<string, { number: number; instances: number }> = new Map();
  const labels = new Map();
  for (const row of rows) {
    if (!row.parent) {
      labels.set(row, `${plain(row.resource)} ${short(row.id)}`);
      continue;
    }
    const key = `${kind(row)}/${row.parent}`;
    const card = cards.get(key) ?? { number: firstFree(kind(row), taken), instances: 0 };
    cards.set(key, card);
    const profile = row.profile ? ` (${plain(row.profile)})` : "";
    labels.set(row, `${plain(row.resource)} ${card.number} · MIG ${card.instances++}${profile}`);
  }
  return labels;
}

function firstFree(kind: string, taken: Set<string>) {
  let number = 0;
  while (taken.has(`${kind}/${number}`)) number += 1;
  taken.add(`${kind}/${number}`);
  return number;
}

function short(id: string) {
  return plain(id).length > LONG_ID ? `${plain(id).slice(0, 12)}…` : plain(id);
}

/** How many devices there is no such hardware for: ["2 logical devices"]. */
export function unrealDevices(counts: ResourceCount[]) {
  return (["logical", "simulated"] as const).flatMap((kind) => {
    const number = sumOf(counts, kind);
    return number ? [count(number, `${kind} device`)] : [];
  });
}

/** "NVIDIA A100", "NVIDIA GPU (logical)". */
function modelWords(row: DeviceRow) {
  const [name, kind] = [plain(row.name || row.type || row.family), row.kind ?? "real"];
  return [
    name.startsWith(`${kind} `) ? name.slice(kind.length + 1) : name,
    !row.parent && plain(row.profile),
    kind !== "real" && `(${kind})`,
  ]
    .filter(Boolean)
    .join(" ");
}

// ---- The names that the history has for devices: "<12 digits of the node>/GPU/0".

export function laneName(device: { node_id?: string | null; resource: string; id: string }) {
  return `${(device.node_id ?? "").slice(0, 12)}/${device.resource}/${device.id}`;
}

// ---- Nodes that are not here any more, and their devices.

function goneNodes(snapshot: Snapshot): Set<string | undefined> {
  return new Set((snapshot.nodes ?? []).filter((node) => node.alive === false).map((node) => node.node_id));
}

/** Nobody holds a device whose node has gone. */
function whereItIs(row: DeviceRow, gone: Set<string | undefined>): DeviceRow {
  return gone.has(row.node_id ?? "")
    ? { ...row, holders: [], gone: true, metrics: null, free_reason: "its node has gone" }
    : row;
}

// ---- How many devices there are of each resource, whatever part of them has rows.

type ResourceCount = Required<DeviceCount>;

const NONE = { total: 0, held: 0, taken: 0, shared: 0, most_free: 0, least_free: 1, logical: 0, simulated: 0 };

/** The offered devices of living nodes. */
export function deviceCounts(snapshot: Snapshot): ResourceCount[] {
  if (snapshot.device_counts?.length) return snapshot.device_counts.map((each) => ({ ...NONE, ...each }));
  const kinds: Map<string, ResourceCount> = new Map();
  const gone = goneNodes(snapshot);
  for (const { resource, kind, node_id, offered, holders, free_reason, free = 1 } of snapshot.devices ?? []) {
    if (offered === false || gone.has(node_id ?? "")) continue;
    const count = kinds.get(resource) ?? { ...NONE, resource };
    kinds.set(resource, count);
    count.total += 1;
    if (kind === "logical" || kind === "simulated") count[kind] += 1;
    if (!holders?.length) count.taken += free_reason ? 1 : 0;
    else {
      count.held += 1;
      if (free > 0)
        Object.assign(count, {
          shared: count.shared + 1,
          most_free: Math.max(count.most_free, free),
          least_free: Math.min(count.least_free, free),
        });
    }
  }
  return [...kinds.values()];
}

/** The sum of a fact over all resources. */
function sumOf(counts: ResourceCount[], fact: Exclude<keyof ResourceCount, "resource">) {
  return counts.reduce((sum, each) => sum + each[fact], 0);
}

// ---- Which of many tiles are drawn, and the devices of each node.

const MOST_TILES = 128; // more are drawn as they come into view
const FIRST_TILES = { row: 40, columns: 20 }; // until they are measured
const FIRST_NODES = { row: 66, columns: 2 };
const LINES_BEYOND = 1; // lines of tiles that are drawn above and below what is in sight

/** Whether there are too many to draw them all. */
function isMany(rows: DeviceRow[]) {
  return rows.length > MOST_TILES;
}

/** What is in sight until it is measured.
 * @param several nodes */
function firstSight(several: boolean) {
  return { top: 0, height: 460, ...(several ? FIRST_NODES : FIRST_TILES) };
}

function byNode(rows: DeviceRow[]) {
  const nodes: Map<string | null | undefined, DeviceRow[]> = new Map();
  for (const row of rows) {
    const known = nodes.get(row.node_id);
    if (known) known.push(row);
    else nodes.set(row.node_id, [row]);
  }
  return [...nodes.values()];
}

/** Which of many tiles are drawn, or of their nodes where there are several, in whole lines; a few are all drawn.
 * @param total of tiles or nodes */
function tilesInSight(devices: number, total: number, { top, height, row, columns }: TilesInSight) {
  if (devices <= MOST_TILES) return { first: 0, last: total };
  const last = Math.min(total, columns * (Math.ceil((top + height) / row) + LINES_BEYOND));
  return {
    first: Math.max(0, Math.min(Math.floor(top / row) - LINES_BEYOND, Math.floor(total / columns))) * columns,
    last,
  };
}
