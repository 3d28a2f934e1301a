// What ran, from the answers of the history: bars of one run or of several short ones, none left out.

import { colourOf } from "../cockpit/colours.js";
import { cellWords } from "../cockpit/owners.js";
import { plain } from "../cockpit/words.js";

/** @typedef {import("../cockpit/types.js").Snapshot} Snapshot */
/** @typedef {{index: number, function: string, cell: string, job: number, state: string}} Kind */
/** @typedef {{lane: number, bars: number[][]}[]} LaneBars */
/** @typedef {{seq: number, origin: number, whole: boolean, grain_s: number, kinds: Kind[], lanes: Record<string, string>, ended: LaneBars, running: LaneBars, waiting: number[], waiting_from: number, waiting_step_s: number, hues: Record<string, number>}} Answer */
/** @typedef {{since: number, whole: Answer, later: Answer | null, hues: Record<string, number>}} PastRuns */
/** @typedef {import("./timeline.js").Row} Row */

const COARSE = 8; // times the grain of the whole: then everything is told anew

/** @param {PastRuns | null} before @param {Answer} answer @returns {PastRuns} */
export function withRuns(before, answer) {
  const hues = { ...before?.hues, ...answer.hues };
  if (answer.whole || !before) return { since: answer.seq, whole: answer, later: null, hues };
  const isCoarse = answer.grain_s > COARSE * before.whole.grain_s;
  return { ...before, since: isCoarse ? 0 : before.whole.seq, later: answer, hues };
}

/** The bars as rows of a timeline. @param {PastRuns} past @param {Snapshot} snapshot @param {number} now @returns {Row[]} */
export function pastRows(past, snapshot, now) {
  const { whole, later } = past;
  const latest = later ?? whole;
  const coloured = { ...snapshot, hues: { ...past.hues, ...snapshot.hues } };
  const rows = (/** @type {Answer} */ answer, /** @type {boolean} */ goOn) => {
    const kinds = new Map(answer.kinds.map((kind) => [kind.index, kind]));
    return (goOn ? answer.running : answer.ended).flatMap(({ lane, bars }) =>
      bars.map((bar) => row(answer, laneIn(answer.lanes[lane], snapshot), bar, /** @type {Kind} */ (kinds.get(bar[0])), coloured, goOn, now)));
  };
  return [...rows(whole, false), ...(later ? rows(later, false) : []), ...rows(latest, true)];
}

/** @param {Answer} answer @param {string} lane @param {number[]} bar @param {Kind} kind @param {Snapshot} snapshot @param {boolean} goesOn @param {number} now @returns {Row} */
function row(answer, lane, [, from, took, number = 1, shade = 0, waited = 0], kind, snapshot, goesOn, now) {
  const start = answer.origin + from / 1000;
  const ends = goesOn ? (snapshot.ended ? now : null) : start + took / 1000;
  const state = goesOn && snapshot.ended ? "ENDED_WITH_IT" : kind.state === "DEAD" ? "ENDED" : kind.state;
  return {
    task_id: `${lane} ${kind.index} ${from} ${number} ${shade}`, lane, name: plain(kind.function) + (number < 0 ? " and others" : ""), state: number < 0 ? "" : state,
    number: Math.abs(number), submitted_at: start - waited / 1000, started_at: start, finished_at: ends,
    cell: cellWords(snapshot, kind), band: kind.job ? "" : plain(kind.cell).split(" ", 1)[0], colour: colourOf(snapshot, kind.function) + shade,
  };
}

/** A lane as the snapshot's devices name it: of one node, its name is left out. @param {string} lane @param {Snapshot} snapshot */
function laneIn(lane, snapshot) {
  return (snapshot.nodes ?? []).length > 1 || !lane.includes("/") ? lane : lane.slice(lane.indexOf("/"));
}
