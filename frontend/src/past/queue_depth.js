// How many tasks waited when, as steps.

/** @typedef {import("./timeline.js").Row} Row */
/** @typedef {{steps: {at: number, waiting: number}[], most: number, words: string}} Depth seconds since the left edge */

/** From the rows of tasks. @param {Row[]} rows @param {number} start @param {number} end @param {number} now @returns {Depth} */
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
  const steps = [...changes].sort((a, b) => a[0] - b[0]).map(([at, by]) => ({ at, waiting: (waiting += by) }));
  const most = Math.max(0, ...steps.map((step) => step.waiting));
  return { steps, most, words: `up to ${most}` };
}

/** From the means of the history: a later answer has the newest steps. @param {import("./past_runs.js").PastRuns} past
 * @param {number} start @param {number} end @returns {Depth} */
export function depthOfMeans({ whole, later }, start, end) {
  /** @type {{at: number, waiting: number}[]} */
  let steps = [];
  for (const answer of later ? [whole, later] : [whole]) {
    steps = steps.filter((step) => step.at < answer.waiting_from - start);
    answer.waiting.forEach((waiting, index) => steps.push({ at: answer.waiting_from + index * answer.waiting_step_s - start, waiting }));
  }
  const before = steps.filter((step) => step.at <= 0).pop();
  const shown = steps.filter((step) => step.at > 0 && step.at < end - start);
  if (before) shown.unshift({ at: 0, waiting: before.waiting });
  const most = Math.max(0, ...shown.map((step) => step.waiting));
  return { steps: shown, most, words: `up to about ${Math.max(1, Math.round(most))}` }; // each step is a mean
}
