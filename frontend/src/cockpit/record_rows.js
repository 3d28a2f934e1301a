// The rows of published records, such as the trials of an experiment: the view that shows them asks for what has changed.

/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./state.js").State} State */
/** @typedef {{since: number, total: number, rows: Map<string, any>}} RecordRows */

/** What is asked for the record whose turn it is, among those that are open. @param {State} state @param {Snapshot} snapshot */
export function rowsQuestion(state, snapshot) {
  const due = (/** @type {string} */ id) => state.past[`rows/${id}`]?.due ?? 0;
  const [record] = (snapshot.runs?.open(state) ?? []).sort((a, b) => due(a) - due(b));
  return record ? { ask: "rows", key: `rows/${record}`, record } : null;
}

/** Where an answer is kept: each record has its own place. @param {{ask: string, key: string}} about */
export function placeOf({ ask, key }) {
  return ask === "rows" ? key : ask;
}

/** The rows that were known and those of an answer. @param {RecordRows | null} before @param {any} answer @returns {RecordRows} */
export function withRows(before, answer) {
  const rows = new Map(before?.rows);
  for (const [key, row] of Object.entries(answer.rows)) rows.set(key, row);
  return { since: answer.seq, total: answer.total, rows };
}
