// Alerts as a person reads them: what has happened, since when, and where to look.

import { deviceKey } from "./devices.js";
import { age, plain, shortId } from "./words.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {{key: string, kind: string, title: string, message: string, age: string, of: string | null | undefined, shows?: string, leads?: Record<string, string>}} AlertView of: its task, shows: the words for where it leads */

/** @type {Record<string, string>} */
const ALERTS = { infeasible: "Can never start", leak: "Memory leak" };

/** @param {Snapshot} snapshot @param {number} now @returns {AlertView[]} */
export function alertsOf(snapshot, now) {
  return (snapshot.alerts ?? [])
    .map((alert, index) => ({
      ...leadOf(alert, snapshot),
      key: `${alert.since}/${index}`,
      kind: alert.kind,
      title: ALERTS[alert.kind] ?? plain(alert.kind[0].toUpperCase() + alert.kind.slice(1)),
      message: plain(alert.message),
      age: age(now - alert.since),
      of: alert.task_id,
    }));
}

/** Where an alert leads: to the failed tasks, its device, its task's row or its node.
 * @param {import("./types.js").Alert} alert @param {Snapshot} snapshot */
function leadOf({ kind, task_id: task, device, node_id: node }, snapshot) {
  const lead = (/** @type {string} */ what, /** @type {Record<string, string>} */ data) => ({ shows: `Show ${what}`, leads: { "data-act": "lead", ...data } });
  if (kind === "failed") return lead("failed tasks", { "data-state": "failed" });
  if (device) {
    const row = snapshot.devices?.find((each) => each.id === device && (!node || !each.node_id || each.node_id === node));
    return lead("device", { "data-tab": "devices", "data-aim": row ? deviceKey(row) : "" });
  }
  if (task) return lead("task", { "data-text": shortId(task), "data-aim": task });
  return node ? lead("node", { "data-tab": "nodes", "data-aim": node }) : null;
}
