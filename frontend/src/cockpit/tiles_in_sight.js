// Which of many tiles are drawn, and the devices of each node.

/** @typedef {import("./types.js").DeviceRow} DeviceRow */

const MOST_TILES = 128; // more are drawn as they come into view
const FIRST_TILES = { row: 40, columns: 20 }; // until they are measured
const FIRST_NODES = { row: 66, columns: 2 };
const LINES_BEYOND = 1; // lines of tiles that are drawn above and below what is in sight

/** Whether there are too many to draw them all. @param {DeviceRow[]} rows */
export function isMany(rows) {
  return rows.length > MOST_TILES;
}

/** What is in sight until it is measured. @param {boolean} several nodes */
export function firstSight(several) {
  return { top: 0, height: 460, ...(several ? FIRST_NODES : FIRST_TILES) };
}

/** @param {DeviceRow[]} rows */
export function byNode(rows) {
  /** @type {Map<string | null | undefined, DeviceRow[]>} */
  const nodes = new Map();
  for (const row of rows) nodes.get(row.node_id)?.push(row) ?? nodes.set(row.node_id, [row]);
  return [...nodes.values()];
}

/** Which of many tiles are drawn, or of their nodes where there are several, in whole lines; a few are all drawn.
 * @param {number} devices @param {number} total of tiles or nodes @param {import("./devices.js").TilesInSight} sight */
export function tilesInSight(devices, total, { top, height, row, columns }) {
  if (devices <= MOST_TILES) return { first: 0, last: total };
  const last = Math.min(total, columns * (Math.ceil((top + height) / row) + LINES_BEYOND));
  return { first: Math.max(0, Math.min(Math.floor(top / row) - LINES_BEYOND, Math.floor(total / columns))) * columns, last };
}
