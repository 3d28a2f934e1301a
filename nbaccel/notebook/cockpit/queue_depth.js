// How many tasks waited when, as steps.

/** @typedef {import("./types.js").TaskRow} TaskRow */
/** @typedef {{steps: {at: number, waiting: number}[], most: number}} Depth seconds since the left edge */

/** @param {TaskRow[]} rows @param {number} start @param {number} end @param {number} now @returns {Depth} */
export function depthOf(rows, start, end, now) {
  /** @type {Map<number, number>} */
  const changes = new Map();
  const change = (/** @type {number} */ at, /** @type {number} */ by) => changes.set(at, (changes.get(at) ?? 0) + by);
  for (const row of rows) {
    const from = row.submitted_at;
    const until = row.started_at ?? row.finished_at ?? now;
    if (from == null || until < start || from > end || until - from < 0.01) continue;
    change(Math.max(0, from - start), 1);
    change(Math.min(end, until) - start, -1);
  }
  let waiting = 0;
  let most = 0;
  const steps = [...changes].sort((a, b) => a[0] - b[0]).map(([at, by]) => {
    waiting += by;
    most = Math.max(most, waiting);
    return { at, waiting };
  });
  return { steps, most };
}
