// A task's log below its row: what its process prints while one looks, and why the task failed.

import { h } from "../cockpit/dom.js";
import { button } from "../cockpit/draw_parts.js";
import { count, plain } from "../cockpit/words.js";
import { PAST_STYLE } from "./look.js";

/** @typedef {import("../cockpit/state.js").State} State */
/** @typedef {{text: string, err: boolean}} Printed */
/** @typedef {{pieces: Printed[], out: number, err: number, over: boolean, done: boolean, pid: string, failure: string, yours: string, note: string, left: boolean}} LogText */

const MOST_CHARACTERS = 200_000;
const MOST_LINES = 2_000; // that are drawn; a search finds all that are here

/** What is known of a log with one more answer. @param {LogText | null} before @param {any} answer @returns {LogText} */
export function withLog(before, answer) {
  const said = [{ text: answer.out.text, err: false }, { text: answer.err.text, err: true }].filter((piece) => piece.text);
  const gap = before && (answer.out.left_out || answer.err.left_out) ? [{ text: "… too much was printed to show all of it …\n", err: true }] : [];
  let pieces = [...(before?.pieces ?? []), ...gap, ...said];
  let size = pieces.reduce((sum, { text }) => sum + text.length, 0);
  while (size > MOST_CHARACTERS && pieces.length > 1) {
    size -= pieces[0].text.length;
    pieces = pieces.slice(1);
  }
  return {
    pieces, out: answer.out.to, err: answer.err.to, over: answer.over, pid: answer.pid ? String(answer.pid) : "",
    done: answer.over && Boolean(before?.over) && !said.length, // what it printed last may arrive after its end
    failure: answer.failure, yours: answer.yours ?? "", note: answer.note, left: before?.left || Boolean(answer.out.left_out || answer.err.left_out),
  };
}

/** The lines as a terminal would show them: of a bar that redraws itself, the last. @param {Printed[]} pieces @returns {Printed[]} */
export function logLines(pieces) {
  /** @type {Printed[]} */
  const lines = [];
  /** @type {Record<string, Printed | null>} */
  const open = { false: null, true: null }; // the unfinished line of each stream
  for (const { text, err } of pieces) {
    const parts = text.split("\n");
    parts.forEach((part, index) => {
      const line = open[String(err)] ?? { text: "", err };
      if (open[String(err)] === null && (part || index < parts.length - 1)) lines.push(line);
      line.text += part;
      open[String(err)] = index < parts.length - 1 ? null : lines.includes(line) ? line : null;
    });
  }
  return lines.map(({ text, err }) => ({ text: plain(text.replace(/\r+$/, "").split("\r").at(-1)?.replaceAll("\t", "    ")), err }));
}

/** What is below a task's row. @param {State} state @returns {any} */
export function drawLog(state) {
  const log = state.log;
  if (!log) return null;
  const known = /** @type {LogText | null} */ (state.past.task_log?.data ?? null);
  return h("section", { class: "log", "aria-label": `Log of ${log.name}` }, h("style", { key: "look" }, PAST_STYLE), logHead(log, known), ...failureOf(known), printed(log, known));
}

/** @param {NonNullable<State["log"]>} log @param {LogText | null} known */
function logHead(log, known) {
  return h("div", { class: "line", key: "head" }, h("strong", {}, `Log of ${log.name}`),
    known?.pid && h("span", { class: "quiet" }, `all that its process has printed, pid ${known.pid}`),
    known && !known.over && h("span", { class: "chip" }, "live"),
    h("label", { class: "aside quiet" }, "Search ", h("input", { type: "search", "data-search": "log", value: log.search, "aria-label": `Search the log of ${log.name}` })),
    button("Close", { "data-act": "close-log", "aria-label": "Close the log" }));
}

/** The error with the user's frames, then all of it. @param {LogText | null} known */
function failureOf(known) {
  if (!known?.failure) return [];
  const whole = h("pre", { tabindex: "0", "aria-label": "The whole traceback" }, known.failure);
  if (!known.yours || known.yours === known.failure) return [h("div", { key: "failure", class: "failure" }, whole)];
  return [h("div", { key: "failure", class: "failure" }, h("pre", { tabindex: "0", "aria-label": "Your code in the traceback" }, known.yours),
    h("details", { open: true }, h("summary", {}, "The whole traceback"), whole))];
}

/** @param {NonNullable<State["log"]>} log @param {LogText | null} known */
function printed(log, known) {
  if (!known) return h("p", { class: "quiet", key: "none" }, "Asking the kernel …");
  const all = logLines(known.pieces);
  const search = log.search.trim().toLowerCase();
  const found = search ? all.filter(({ text }) => text.toLowerCase().includes(search)) : all;
  const nothing = known.note || (search && all.length ? "No line has this text." : known.over ? "It has printed nothing." : "It has printed nothing yet.");
  const notes = [search && all.length && `${found.length} of ${count(all.length, "line")}`, known.left && "the beginning is only in %accel_logs", found.length > MOST_LINES && `the last ${MOST_LINES} lines`].filter(Boolean);
  return h("div", { key: "printed" },
    notes.length > 0 && h("p", { class: "quiet", role: "status" }, notes.join(" · ")),
    found.length ? h("pre", { class: "printed", tabindex: "0", "aria-label": "What it has printed" }, found.slice(-MOST_LINES).map(({ text, err }, index) =>
      h("span", { key: `l${index}`, class: err ? "err" : null }, `${text}\n`)))
      : h("p", { class: "quiet" }, nothing));
}
