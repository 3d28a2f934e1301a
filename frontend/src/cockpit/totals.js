// How many devices there are of each resource, whatever part of them has rows.

import { goneNodes } from "./gone.js";

/** @typedef {Required<import("./types.js").DeviceCount>} DeviceCount */

const NONE = { total: 0, held: 0, taken: 0, shared: 0, most_free: 0, least_free: 1, logical: 0, simulated: 0 };

/** The offered devices of living nodes. @param {import("./types.js").Snapshot} snapshot @returns {DeviceCount[]} */
export function deviceCounts(snapshot) {
  if (snapshot.device_counts?.length) return snapshot.device_counts.map((each) => ({ ...NONE, ...each }));
  /** @type {Map<string, DeviceCount>} */
  const kinds = new Map();
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
      if (free > 0) Object.assign(count, { shared: count.shared + 1, most_free: Math.max(count.most_free, free), least_free: Math.min(count.least_free, free) });
    }
  }
  return [...kinds.values()];
}

/** The sum of a fact over all resources. @param {DeviceCount[]} counts @param {Exclude<keyof DeviceCount, "resource">} fact */
export function sumOf(counts, fact) {
  return counts.reduce((sum, each) => sum + each[fact], 0);
}
