// The rows as a Chrome trace, for chrome://tracing and Perfetto.

import { plain } from "../cockpit/words.js";
import { holdingActors } from "./timeline.js";

/** @typedef {import("../cockpit/types.js").Snapshot} Snapshot */
/** @typedef {import("../cockpit/types.js").TaskRow} TaskRow */

/** Offer the trace as a file. @param {Document} page @param {Snapshot} snapshot @param {number} now */
export function saveTrace(page, snapshot, now) {
  const link = page.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(traceOf(snapshot, now))], { type: "application/json" }));
  link.download = "nbaccel-trace.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** @param {Snapshot} snapshot @param {number} now @returns {object[]} complete ("X") events, times in microseconds */
export function traceOf(snapshot, now) {
  return [...(snapshot.tasks ?? []), ...holdingActors(snapshot)].flatMap((row) => eventsOf(row, now));
}

/** @param {TaskRow} row @param {number} now */
function eventsOf(row, now) {
  const events = [];
  const args = { task_id: row.task_id, cell: row.cell ?? "", state: row.state };
  const event = (/** @type {string} */ group, /** @type {string} */ lane, /** @type {number} */ from, /** @type {number} */ to) => ({
    cat: row.kind ?? "task", name: plain(row.name), ph: "X", pid: group, tid: lane, ts: from * 1e6, dur: Math.max(0, to - from) * 1e6, args,
  });
  if (row.submitted_at != null && row.finished_at == null && row.started_at == null) {
    events.push(event("waiting", "waiting", row.submitted_at, now));
  } else if (row.submitted_at != null && row.started_at != null) {
    events.push(event("waiting", "waiting", row.submitted_at, row.started_at));
  }
  if (row.started_at == null) return events;
  const end = row.finished_at ?? now;
  if (row.pid) events.push(event("workers", `worker ${row.pid}`, row.started_at, end));
  for (const [resource, ids] of Object.entries(row.device_ids ?? {})) {
    for (const id of ids) events.push(event("devices", `${resource} ${id}`, row.started_at, end));
  }
  return events;
}
