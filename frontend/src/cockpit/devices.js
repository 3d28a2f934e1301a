// Devices as a person reads them: which, how full, whose task, which cell.

import { colourOf } from "./colours.js";
import { deviceLabels, modelWords, unrealDevices } from "./device_labels.js";
import { goneNodes, whereItIs } from "./gone.js";
import { nodeNames } from "./node_names.js";
import { ownerOf } from "./owners.js";
import { linesOf } from "./readings.js";
import { byNode, firstSight, isMany, tilesInSight } from "./tiles_in_sight.js";
import { deviceCounts, sumOf } from "./totals.js";
import { age, amount, plain, size } from "./words.js";

/** @typedef {import("./types.js").DeviceRow} DeviceRow */
/** @typedef {import("./types.js").Holder} Holder */
/** @typedef {import("./types.js").Snapshot} Snapshot */

/**
 * @typedef {{top: number, height: number, row: number, columns: number}} TilesInSight as measured on the page
 *
 * @typedef {object} HolderView
 * @property {string} key
 * @property {string} name
 * @property {string} part "" for a whole device
 * @property {string} cell
 * @property {string} owner "" for the reader's own
 * @property {string} age
 * @property {string} pid
 * @property {number} colour
 * @property {number} fraction
 * @property {string} taskId "" for an actor
 * @property {string} actorId
 *
 * @typedef {{percent: number, text: string} | null} MeterView null where nothing is known
 *
 * @typedef {object} DeviceView
 * @property {string} key
 * @property {string} label
 * @property {string} node "" where there is only one
 * @property {string} nodeTitle its whole name
 * @property {string} nodeKey its id
 * @property {string} model
 * @property {string} sign
 * @property {string} state
 * @property {string} use what its bar says, in words
 * @property {MeterView} utilisation
 * @property {MeterView} memory
 * @property {MeterView} power
 * @property {import("./readings.js").Lines | null} lines of the last two minutes
 * @property {string} facts temperature and power
 * @property {string} title its UUID, where its label is none
 * @property {string} reason why less is free than nobody here holds
 * @property {HolderView[]} holders
 */

/** The devices as far as they are in sight, and what is said of all of them; without `asked` only the latter.
 * @param {Snapshot} snapshot @param {number} now @param {import("./scene.js").Asked | null} asked */
export function devicesOf(snapshot, now, asked) {
  const [gone, counts] = [goneNodes(snapshot), deviceCounts(snapshot)];
  const all = (snapshot.devices ?? []).map((row) => whereItIs(row, gone));
  const rows = all.filter((row) => row.offered !== false);
  const more = Math.max(0, sumOf(counts, "total") - rows.length);
  const several = new Set(rows.map((row) => row.node_id)).size > 1;
  const names = nodeNames(snapshot);
  const view = (/** @type {DeviceRow} */ row) => ({
    ...deviceView(row, labels.get(row) ?? "", snapshot, now),
    ...nodeOf(row),
    lines: row.metrics ? linesOf(asked?.past?.readings?.data, row) : null,
  });
  const nodeOf = (/** @type {DeviceRow} */ { node_id }) => {
    const name = names.get(node_id);
    return several ? { node: name?.words ?? (node_id ?? "").slice(0, 8), nodeTitle: name?.whole ?? "", nodeKey: node_id ?? "" } : { node: "", nodeTitle: "", nodeKey: "" };
  };
  const groups = several ? byNode(rows) : rows.map((row) => [row]);
  const { first, last } = tilesInSight(rows.length, groups.length, asked?.tiles ?? firstSight(several));
  const [before, drawn] = [groups.slice(0, first).flat().length, groups.slice(first, last).flat()];
  const chosen = asked?.device ? rows.find((row) => deviceKey(row) === asked.device) : null;
  const labels = deviceLabels(rows.some((row) => row.parent) ? all : chosen ? [...drawn, chosen] : drawn);
  return {
    devices: asked ? drawn.map(view) : [],
    devicesBefore: before,
    tileGroups: { many: isMany(rows), first, last, all: groups.length, most: several ? Math.max(...groups.map((each) => each.length)) : 0 },
    deviceTotal: rows.length, devicesMore: more, unrealDevices: unrealDevices(counts),
    sameModel: !more && rows.length > 1 && new Set(rows.map(modelOf)).size === 1,
    chosenDevice: chosen ? view(chosen) : null,
    heldBy: heldBy(rows, snapshot, labels),
    devicesFree: sumOf(counts, "total") - sumOf(counts, "held") - sumOf(counts, "taken"), devicesTaken: sumOf(counts, "taken"),
    devicesGone: rows.filter((row) => row.gone).length,
  };
}

/** Who holds how many devices, the most first. @param {DeviceRow[]} rows @param {Snapshot} snapshot @param {Map<DeviceRow, string>} labels of those that are in sight */
function heldBy(rows, snapshot, labels) {
  /** @type {Map<string, {number: number, share: number, first: Holder, where: Set<string>}>} */
  const numbers = new Map();
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
  return all.map(([name, { number, share, where, first }]) => ({ name: plain(name), number, share, where: [...where], colour: colourOf(snapshot, first.function || name) }));
}

/** @param {DeviceRow} row */
export function deviceKey(row) {
  return `${row.node_id ?? ""}/${row.resource}/${row.id}`;
}

/** @param {DeviceRow} row */
function modelOf(row) {
  return `${row.name || row.type || row.family}·${row.parent ? "" : (row.profile ?? "")}·${row.kind ?? "real"}`;
}

/** @param {DeviceRow} row @param {string} label @param {Snapshot} snapshot @param {number} now */
function deviceView(row, label, snapshot, now) {
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

/** @param {DeviceRow} row @returns {[string, string]} */
function deviceState(row) {
  const held = row.holders?.length;
  if (row.over) return ["–", "given back"];
  if (row.gone) return ["✕", "gone"];
  if (row.free_reason && !held) return ["◼", "taken"];
  if (!held) return ["○", "free"];
  return (row.free ?? 1) > 0 ? ["◐", "shared"] : ["●", "held"];
}

/** @param {Holder[]} holders @param {Snapshot} snapshot @param {number} now @returns {HolderView[]} */
function holderViews(holders, snapshot, now) {
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

/** @param {HolderView[]} holders */
function useWords(holders) {
  if (!holders.length) return "nobody holds it";
  return holders.map((holder) => `${holder.name} ${holder.part || "1"}`).join(", ");
}

/** @param {DeviceRow} row @returns {MeterView} */
function utilisation(row) {
  const percent = row.metrics?.utilisation_percent;
  return percent == null ? null : { percent, text: `${Math.round(percent)} %` };
}

/** @param {DeviceRow} row @returns {MeterView} */
function memory(row) {
  const used = row.metrics?.memory_used_bytes;
  const total = row.metrics?.memory_total_bytes ?? row.memory_bytes;
  if (used == null || !total) return null;
  return { percent: (100 * used) / total, text: `${size(used)} of ${size(total)}` };
}

/** @param {DeviceRow} row @returns {MeterView} */
function power(row) {
  const watts = row.metrics?.power_watts;
  return watts == null ? null : { percent: 0, text: `${Math.round(watts)} W` };
}

/** @param {DeviceRow} row */
function facts(row) {
  const parts = [];
  if (row.metrics?.temperature_celsius != null) parts.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
  if (row.metrics?.power_watts != null) parts.push(`${Math.round(row.metrics.power_watts)} W`);
  return parts.join(" · ");
}
