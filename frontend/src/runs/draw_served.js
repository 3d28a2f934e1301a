// The Serving view: a line for each application, opened with its address, its deployments, their replicas and the last error.

import { h } from "../cockpit/dom.js";
import { button, cell, nameOf, table } from "../cockpit/draw_parts.js";
import { head } from "./run_head.js";
import { servedView } from "./served_views.js";

/** @typedef {import("./types.js").Given} Given */
/** @typedef {import("./types.js").Served} Served */
/** @typedef {import("./types.js").State} State */
/** @typedef {import("./served_views.js").ServedView} ServedView */

const COLUMNS = ["Replica", "State", "Requests", "Process", "Age"];
const OPEN_SERVED = 3;

/** @param {Given} given @param {number} now @param {boolean} ended @param {State} state */
export function drawServed({ served = [] }, now, ended, state) {
  const rows = served.map((each, index) => {
    const view = servedView(each, now, ended);
    const open = (index < OPEN_SERVED) !== state.open.has(view.id);
    const name = h("button", { type: "button", class: "opens", "data-act": "group", "data-function": view.id, "aria-expanded": String(open) },
      h("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "), nameOf(view.name));
    return h("li", { key: view.id }, head(view, state, name, true), open && h("div", { class: "run" }, servedDetails(view)));
  });
  return [h("ul", { class: "runs", key: "served", "aria-label": "Applications" }, rows)];
}

/** One application with all that is known of it, for its own card. @param {Served} served @param {number} now @param {boolean} ended @param {State} state */
export function drawOneServed(served, now, ended, state) {
  const view = servedView(served, now, ended);
  return [head(view, state, nameOf(view.name), true), h("div", { class: "run", key: "run" }, servedDetails(view))];
}

/** @param {ServedView} view */
function servedDetails(view) {
  return [
    view.why && h("p", { key: "why", class: view.state === "failed" ? "attention" : "" },
      view.state === "failed" && h("strong", {}, h("span", { "aria-hidden": "true" }, "⚠ "), "Attention: "), view.why),
    view.url && view.curl && h("p", { key: "url" }, h("a", { href: view.url, target: "_blank", rel: "noopener" }, view.url), " ", h("code", { class: "quiet" }, view.curl), " ", copyButton(view)),
    ...view.deployments.map((each) => deployment(each)),
    ...view.errors.map(({ name, words, ago, traceback }) => h("details", { key: `error ${name}` },
      h("summary", {}, h("span", { class: "state failed" }, "✕ "), `last error of ${name}, ${ago} ago: ${words}`), h("pre", { class: "quiet" }, traceback))),
  ];
}

/** A token is in no record: the kernel that serves gives the line with it. @param {ServedView} view */
function copyButton({ id, name, owner, curl, asksToken }) {
  const label = `Copy curl of ${name}`;
  if (!asksToken) return button("Copy curl", { "aria-label": label, "data-act": "copy", "data-text": curl, "data-name": "the line" });
  return !owner && button("Copy curl", { "aria-label": label, "data-act": "curl", "data-id": id, "data-name": name });
}

/** @param {ServedView["deployments"][number]} given */
function deployment({ name, words, why, replicas, blocked }) {
  return h("div", { key: `of ${name}` },
    h("p", {}, h("strong", {}, name), ` ${words}`),
    why && h("p", { class: "quiet" }, `◌ ${why}`),
    replicas.length > 0 && table(`Replicas of ${name}`, COLUMNS, replicas.map(({ id, place, state, underWay, pid, age }) => h("tr", { key: id },
      cell(place), cell(state), cell(underWay), cell(pid == null ? "" : `pid ${pid}`), cell(age)))),
    blocked && h("pre", { class: "quiet" }, blocked));
}
