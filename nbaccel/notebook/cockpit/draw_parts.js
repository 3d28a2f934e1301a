// What several views are made of.

import { h } from "./dom.js";

/** @typedef {import("./dom.js").Shape} Shape */
/** @typedef {import("./dom.js").Given} Given */
/** @typedef {import("./state.js").State} State */

/** A real table with caption and column heads; "" heads the column of buttons.
 * @param {string} caption @param {string[]} columns @param {Shape[]} rows */
export function table(caption, columns, rows) {
  const heads = columns.map((name, index) => h("th", { scope: "col", key: name || `c${index}` }, name || h("span", { class: "unseen" }, "Actions")));
  return h("div", { class: "scroll", key: caption, role: "region", "aria-label": caption, tabindex: "0" },
    h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)));
}

/** @param {string} label @param {Record<string, any>} props */
export function button(label, props) {
  return h("button", { type: "button", ...props }, label);
}

const VERBS = { cancel: "Cancel", kill: "Kill" };

/** What cancels a task or kills an actor; one of another notebook is ended only after a question.
 * @param {"cancel" | "kill"} act @param {{id: string, name: string, owner: string}} whom @param {string} label which one, for ears @param {State} state */
export function endButton(act, whom, label, state) {
  const { id, name, owner } = whom;
  const about = { "data-id": id, "data-name": name };
  if (state.asked.has(id)) return button("asked…", { ...about, "aria-label": `${VERBS[act]} ${name} ${label}`, disabled: true });
  if (!owner) return button(VERBS[act], { ...about, "data-act": act, "aria-label": `${VERBS[act]} ${name} ${label}` });
  if (state.doubted !== id) {
    return button(`${VERBS[act]}…`, { ...about, "data-act": "doubt", "data-owner": owner, "aria-label": `${VERBS[act]} ${name} ${label} of ${owner}` });
  }
  return h("span", { class: "ask nowrap" },
    button("Keep", { ...about, "data-act": "keep", "aria-label": `Keep ${name} of ${owner}` }), " ",
    button(`${VERBS[act]} it`, { ...about, "data-act": act, class: "urgent", "aria-label": `${VERBS[act]} ${name} of ${owner} all the same` }));
}

/** @param {string} text */
export function chip(text) {
  return h("span", { class: "chip" }, text);
}

/** What a view says that has nothing to show. @param {string} text */
export function empty(text) {
  return h("p", { class: "quiet empty", key: "empty" }, text);
}

/** A state's shape and word. @param {string} sign @param {string} word */
export function stateCell(sign, word) {
  return h("td", { class: `nowrap state ${word}` }, h("span", { class: "sign", "aria-hidden": "true" }, sign), ` ${word}`);
}

/** @param {Given} content @param {string} [kind] */
export function cell(content, kind) {
  return h("td", kind ? { class: kind } : {}, content);
}
