// From the snapshot that a kernel or a head sends to what the views draw: the same for the widget and the panel.

import { hueOf, subjectOf } from "./colours.js";
import { ownerOf } from "./owners.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */

/** Rows name a node only where there are several, and holders have their function's colour.
 * @param {Snapshot} given @param {((sent: any) => import("./types.js").DrawRuns) | null} [viewOfRuns] draws the records, if there are any
 * @returns {Snapshot} */
export function shownOf(given, viewOfRuns) {
  const subjects = new Map((given.tasks ?? []).map((row) => [row.task_id, subjectOf(row)]));
  for (const row of given.actors ?? []) subjects.set(row.actor_id, row.class_name);
  const isOnly = given.nodes?.length === 1;
  const devices = given.devices?.map((row) => ({
    ...row,
    node_id: isOnly ? "" : row.node_id,
    holders: row.holders?.map((each) => ({ ...each, function: subjects.get(each.actor_id || each.task_id || "") ?? "" })),
  }));
  const tasks = isOnly ? given.tasks?.map((row) => ({ ...row, node_id: null })) : given.tasks;
  return { ...given, devices, tasks, runs: viewOfRuns && given.published?.length ? viewOfRuns(recordsOf(given)) : null };
}

/** The published records by their kinds, with their colours and owners. @param {Snapshot} snapshot */
function recordsOf(snapshot) {
  const of = (/** @type {string} */ wanted) => (snapshot.published ?? []).filter(({ kind }) => kind === wanted)
    .map(({ record, job }) => ({ ...record, hue: hueOf(snapshot, record.name), owner: ownerOf(snapshot, { job }) }));
  return { runs: of("run"), experiments: of("experiment"), served: of("application") };
}
