// What several views are made of.

import { h } from "./dom.js";
import { count } from "./words.js";

/** @typedef {import("./dom.js").Shape} Shape */
/** @typedef {import("./dom.js").Given} Given */
/** @typedef {import("./state.js").State} State */

/** @typedef {{name: string, sort?: string}} Column a head that sorts, or one of words alone; "" heads the column of buttons */

/** A real table with caption and column heads. On a narrow page each row becomes a block of its own.
 * @param {string} caption @param {(string | Column)[]} columns @param {Shape[]} rows
 * @param {{rows?: number, sort?: import("./task_rows.js").Sort, sight?: string}} [more] how many rows there are of which some are drawn */
export function table(caption, columns, rows, more = {}) {
  const heads = columns.map((column, index) => head(typeof column === "string" ? { name: column } : column, index, more.sort));
  return h("div", { class: caption === "Devices" ? "scroll whole" : "scroll", key: caption, role: "region", "aria-label": caption, tabindex: "0", "data-sight": more.sight ?? null },
    h("table", { "aria-rowcount": more.rows && more.rows + 1 }, h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)));
}

/** @param {Column} column @param {number} index @param {import("./task_rows.js").Sort} [sorted] */
function head({ name, sort }, index, sorted) {
  if (!sort) return h("th", { scope: "col", key: name || `c${index}` }, name || h("span", { class: "unseen" }, "Actions"));
  const way = sorted?.column !== sort ? "none" : sorted.down ? "descending" : "ascending";
  const arrow = { none: "", ascending: " ↑", descending: " ↓" }[way];
  return h("th", { scope: "col", key: name, "aria-sort": way },
    h("button", { type: "button", class: "sorts", "data-act": "sort", "data-column": sort }, name, h("span", { "aria-hidden": "true" }, arrow)));
}

/** A name, cut at some 24 characters with the whole in its title. @param {string} name @param {string} [title] */
export function nameOf(name, title = name) {
  return h("span", { class: title === name ? "name cut" : "name", title }, name);
}

/** Before the words that a person should not miss. */
export const WARNING = h("span", { "aria-hidden": "true" }, "⚠ ");

/** @param {string} label @param {Record<string, any>} props */
export function button(label, props) {
  return h("button", { type: "button", ...props }, label);
}

const VERBS = { cancel: "Cancel", kill: "Kill", retry: "Retry" };

/** What cancels a task, kills an actor, or runs a failed task again. An actor, which loses its state, and what is another
 * notebook's only after a question.
 * @param {"cancel" | "kill" | "retry"} act @param {{id: string, name: string, owner: string}} whom @param {string} label which one, for ears @param {State} state */
export function endButton(act, whom, label, state) {
  const { id, name, owner } = whom;
  const verb = VERBS[act];
  const about = { "data-id": id, "data-name": name };
  const whose = owner && ` of ${owner}`;
  const first = { ...about, "aria-label": `${verb} ${name} ${label}${whose}` };
  if (state.asked.has(id)) return button("asked…", { ...first, disabled: true });
  if (!owner && act !== "kill") return button(verb, { ...first, "data-act": act });
  if (state.doubted !== id) return button(`${verb}…`, { ...first, "data-act": "doubt", "data-owner": owner });
  return h("span", { class: "ask nowrap" },
    button("Keep", { ...about, "data-act": "keep", "aria-label": `Keep ${name}${whose}` }), " ",
    button(`${verb} it`, { ...about, "data-act": act, class: "urgent", "aria-label": `${verb} it: ${name}${whose}` }));
}

/** What would be here, and the line of code that makes it appear. @param {string} text @param {string} [code] */
export function empty(text, code) {
  return h("p", { class: "quiet empty", key: "empty" }, text, code && " ", code && h("code", {}, code));
}

/** How many have no row. @param {number} number @param {string} what */
export function leftOut(number, what) {
  return number > 0 && h("p", { class: "quiet small", key: "left out" }, `and ${count(number, `more ${what}`)}: those that are held or in trouble are shown`);
}

/** A state's shape and word; what runs or lives has its function's colour. @param {string} sign @param {string} word @param {number} [colour] */
export function stateCell(sign, word, colour) {
  const own = colour != null && (word === "running" || word === "alive") ? ` ink c${colour}` : "";
  return h("td", { class: `nowrap state ${word}` }, h("span", { class: `sign${own}`, "aria-hidden": "true" }, sign), ` ${word}`);
}

/** The cell of a row; where the page can show the cell, a click does. @param {string} words @param {State} state */
export function whereCell(words, state) {
  const owner = words.startsWith("[") ? "" : words.replace(/ \[\d+\].*/, "");
  const shown = owner.length > 24 ? [h("span", { class: "cut", title: owner }, owner), words.slice(owner.length)] : [words];
  return cell(words && state.goes(words) ? h("button", { type: "button", class: "goes", "data-act": "go", "data-cell": words, title: "Show the cell" }, shown) : shown, "nowrap where");
}

/** Why, unless the row above has said the same. @param {string} why @param {string | undefined} above */
export function reason(why, above) {
  return why && why === above ? h("span", { class: "quiet", title: why }, "same reason") : why;
}

/** @param {Given} content @param {string} [kind] */
export function cell(content, kind) {
  return h("td", kind ? { class: kind } : {}, content);
}
