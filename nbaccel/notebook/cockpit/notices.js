// A notice of the browser when one's own task of more than a minute has ended, also while another tab is in front.

import { ownerOf } from "./owners.js";
import { ENDED, age, plain, shortId, stateWord } from "./words.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {{running: Set<string>}} Noticed tasks that have been seen to run */

const LONG_S = 60;
const MOST_RUNNING = 10_000;

/** What is to be told of tasks that ran in an earlier snapshot and have ended. @param {Noticed} noticed @param {Snapshot} snapshot
 * @returns {{id: string, title: string, body: string}[]} */
export function endings(noticed, snapshot) {
  const told = [];
  if (noticed.running.size > MOST_RUNNING) noticed.running.clear(); // of tasks that ended out of a snapshot's sight
  for (const row of snapshot.tasks ?? []) {
    if (!ENDED.has(row.state)) {
      if (row.started_at != null && !ownerOf(snapshot, row)) noticed.running.add(row.task_id);
      continue;
    }
    if (!noticed.running.delete(row.task_id) || row.started_at == null) continue;
    const seconds = (row.finished_at ?? snapshot.time ?? 0) - row.started_at;
    if (seconds < LONG_S) continue;
    const why = row.reason == null ? row.why : snapshot.reasons?.[row.reason];
    const title = `${plain(row.name)} #${shortId(row.task_id)} ${{ FINISHED: "has finished", FAILED: "has failed" }[row.state] ?? `was ${stateWord(row.state)}`}`;
    told.push({ id: row.task_id, title, body: [`after ${age(seconds)}`, row.cell && `cell ${plain(row.cell)}`, plain(why)].filter(Boolean).join(" · ") });
  }
  return told;
}

/** Turn notices on, if the browser gives the right to show them, or off. @param {Window | null} page
 * @param {{notices: boolean}} state @param {(words: string) => void} say */
export async function turnNotices(page, state, say) {
  const notices = /** @type {any} */ (page)?.Notification;
  if (state.notices) {
    state.notices = false;
    say("");
    return;
  }
  if (!notices) return say("This browser shows no notices.");
  state.notices = (await notices.requestPermission()) === "granted";
  say(state.notices ? "The browser will tell you when a task of more than a minute ends or fails."
    : "The browser does not let this page show notices. Its settings for this site can change that.");
}

/** @param {Window | null} page @param {{id: string, title: string, body: string}[]} told */
export function notify(page, told) {
  const notices = /** @type {any} */ (page)?.Notification;
  if (!notices) return;
  for (const { id, title, body } of told) new notices(title, { body, tag: `nbaccel-${id}` }); // several views tell it once
}
