// What a device is called: "GPU 0", and of a MIG instance "GPU 0 · MIG 3 (1g.5gb)", as in Python; and which are no hardware.

import { sumOf } from "./totals.js";
import { count, plain } from "./words.js";

/** @typedef {import("./types.js").DeviceRow} DeviceRow */

const LONG_ID = 20; // a UUID is cut

/** The label of each row. @param {DeviceRow[]} rows @returns {Map<DeviceRow, string>} */
export function deviceLabels(rows) {
  const kind = (/** @type {DeviceRow} */ row) => `${row.node_id ?? ""}/${row.resource}`;
  const taken = new Set(rows.filter((row) => !row.parent).map((row) => `${kind(row)}/${row.id}`));
  /** @type {Map<string, {number: number, instances: number}>} */
  const cards = new Map();
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

/** @param {string} kind @param {Set<string>} taken */
function firstFree(kind, taken) {
  let number = 0;
  while (taken.has(`${kind}/${number}`)) number += 1;
  taken.add(`${kind}/${number}`);
  return number;
}

/** @param {string} id */
function short(id) {
  return plain(id).length > LONG_ID ? `${plain(id).slice(0, 12)}…` : plain(id);
}

/** How many devices there is no such hardware for: ["2 logical devices"]. @param {import("./totals.js").DeviceCount[]} counts */
export function unrealDevices(counts) {
  return /** @type {const} */ (["logical", "simulated"]).flatMap((kind) => {
    const number = sumOf(counts, kind);
    return number ? [count(number, `${kind} device`)] : [];
  });
}

/** "NVIDIA A100", "NVIDIA GPU (logical)". @param {DeviceRow} row */
export function modelWords(row) {
  const [name, kind] = [plain(row.name || row.type || row.family), row.kind ?? "real"];
  return [name.startsWith(`${kind} `) ? name.slice(kind.length + 1) : name, !row.parent && plain(row.profile), kind !== "real" && `(${kind})`].filter(Boolean).join(" ");
}
