// A notice of the browser when one's own task of more than a minute has ended, also while another tab is in front.

import type { Snapshot } from "../model/types";
import { ENDED, age, ownerOf, plain, shortId, stateWord } from "../model/words";

/** since: when the view began to look; running: tasks that have been seen to run */
interface Noticed {
  since?: number;
  running: Set<string>;
  told: Set<string>;
}

const LONG_S = 60;
const MOST_KNOWN = 10_000;

/** What is to be told of tasks that have ended since the view looks: also of one whose row was left out while it ran. */
export function endings(noticed: Noticed, snapshot: Snapshot): { id: string; title: string; body: string }[] {
  const told = [];
  noticed.since ??= snapshot.time ?? 0;
  if (noticed.running.size + noticed.told.size > MOST_KNOWN) {
    noticed.since = snapshot.time ?? 0;
    for (const known of [noticed.running, noticed.told]) known.clear();
  }
  for (const row of snapshot.tasks ?? []) {
    if (row.started_at == null || ownerOf(snapshot, row)) continue;
    if (!ENDED.has(row.state)) {
      noticed.running.add(row.task_id);
      noticed.told.delete(row.task_id); // it runs again
      continue;
    }
    const isNew = noticed.running.delete(row.task_id) || (row.finished_at ?? 0) > noticed.since;
    const seconds = (row.finished_at ?? snapshot.time ?? 0) - row.started_at;
    if (!isNew || seconds < LONG_S || noticed.told.has(row.task_id)) continue;
    noticed.told.add(row.task_id);
    const title = `${plain(row.name)} #${shortId(row.task_id)} ${{ FINISHED: "has finished", FAILED: "has failed" }[row.state] ?? `was ${stateWord(row.state)}`}`;
    told.push({
      id: row.task_id,
      title,
      body: [`after ${age(seconds)}`, row.cell && `cell ${plain(row.cell)}`, plain(row.why)]
        .filter(Boolean)
        .join(" · "),
    });
  }
  return told;
}

/** Turn notices on, if the browser gives the right to show them, or off. */
export async function turnNotices(page: Window | null, state: { notices: boolean }, say: (words: string) => void) {
  const notices = (page as any)?.Notification;
  if (state.notices) {
    state.notices = false;
    say("");
    return;
  }
  if (!notices) return say("This browser shows no notices.");
  state.notices = (await notices.requestPermission()) === "granted";
  say(
    state.notices
      ? "The browser will tell you when a task of more than a minute ends or fails."
      : "The browser does not let this page show notices. Its settings for this site can change that.",
  );
}

export function notify(page: Window | null, told: { id: string; title: string; body: string }[]) {
  const notices = (page as any)?.Notification;
  if (!notices) return;
  for (const { id, title, body } of told) new notices(title, { body, tag: `nbaccel-${id}` }); // several views tell it once
}
