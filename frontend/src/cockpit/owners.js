// Whose a task, an actor or a hold is: on a shared head several notebooks have a cell [3].

import { plain } from "./words.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */

/** The notebook or script of a row; "" for the reader's own. @param {Snapshot} snapshot @param {{job?: number}} row */
export function ownerOf(snapshot, row) {
  if (!row.job || row.job === snapshot.runtime.job || !snapshot.jobs?.length) return "";
  return plain(snapshot.jobs.find((job) => job.number === row.job)?.name ?? `job ${row.job}`);
}

/** "b.ipynb [7] line 3"; without the notebook for the reader's own. @param {Snapshot} snapshot @param {{job?: number, cell?: string}} row */
export function cellWords(snapshot, row) {
  return [ownerOf(snapshot, row), plain(row.cell)].filter(Boolean).join(" ");
}
