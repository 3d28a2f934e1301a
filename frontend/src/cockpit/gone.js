// Nodes that are not here any more, and their devices.

/** @typedef {import("./types.js").DeviceRow} DeviceRow */

/** @param {import("./types.js").Snapshot} snapshot @returns {Set<string | undefined>} */
export function goneNodes(snapshot) {
  return new Set((snapshot.nodes ?? []).filter((node) => node.alive === false).map((node) => node.node_id));
}

/** Nobody holds a device whose node has gone. @param {DeviceRow} row @param {Set<string | undefined>} gone @returns {DeviceRow} */
export function whereItIs(row, gone) {
  return gone.has(row.node_id ?? "") ? { ...row, holders: [], gone: true, metrics: null, free_reason: "its node has gone" } : row;
}
