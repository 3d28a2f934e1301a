// What is left of a cluster that has ended: nothing runs, waits or is held any more.

import { ENDED } from "./words.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */

/** The last snapshot without what ended with the cluster. Of a shared one that goes on without us, what others run is
 * not known. @param {Snapshot} snapshot @returns {Snapshot} */
export function afterEnd(snapshot) {
  const shared = snapshot.runtime.shared && !snapshot.died;
  const is = (/** @type {string} */ state) => (ENDED.has(state) ? state : "ENDED_WITH_IT");
  const tasks = (snapshot.tasks ?? []).map((row) => ({ ...row, state: is(row.state), why: ENDED.has(row.state) ? row.why : "" }));
  /** @type {Record<string, number>} */
  const counts = {};
  for (const [state, number] of Object.entries(snapshot.counts ?? {})) counts[is(state)] = (counts[is(state)] ?? 0) + number;
  if (shared) delete counts.ENDED_WITH_IT;
  return {
    ...snapshot,
    devices: (snapshot.devices ?? []).map((row) => ({ ...row, holders: [], free_reason: "", metrics: null, over: true })),
    tasks: shared ? tasks.filter((row) => ENDED.has(row.state)) : tasks,
    counts,
    functions: (snapshot.functions ?? []).map(({ running = 0, waiting = 0, ...row }) => (shared ? row : { ...row, ended: running + waiting })),
    actors: (snapshot.actors ?? []).map((row) => ({ ...row, state: "DEAD", pending_calls: 0 })),
    actor_counts: {},
  };
}
