// The Accounting view: who used the devices, and how much of the time each was idle.

import { h } from "../cockpit/dom.js";
import { cell, empty, nameOf, table } from "../cockpit/draw_parts.js";
import { PAST_STYLE } from "./look.js";

/** @typedef {import("./accounts.js").AccountView} AccountView */
/** @typedef {import("./accounts.js").HeldView} HeldView */

/** @param {import("../cockpit/scene.js").Scene} scene */
export function drawAccounts({ accounts }) {
  if (!accounts) return null; // the answer is on its way
  const { unit, functions, cells, devices, more } = accounts;
  const nothing = !functions.length && empty("Nothing has run yet. The device-seconds of each function and each cell, and the idle share of each device, appear here. A call is counted:", "f.remote()");
  return [
    h("style", { key: "look" }, PAST_STYLE),
    nothing || h("p", { key: "total" }, h("strong", {}, accounts.total)),
    functions.length > 0 && used("By function", "Function", unit, functions),
    cells.length > 0 && used("By cell", "Cell", unit, cells),
    devices.length > 0 && onGrid("By device", ["Device", `Held ${unit}s`, "Idle", "Held share"], devices.map((row) => heldRow(row, unit))),
    more > 0 && h("p", { class: "quiet more", key: "more" }, `and ${more} more rows`),
  ];
}

/** Without columns of devices where none was used. @param {string} title @param {string} what @param {string} unit @param {AccountView[]} rows */
function used(title, what, unit, rows) {
  const failed = rows.some((row) => row.failed);
  const devices = rows.some((row) => row.used);
  const took = `${unit[0].toUpperCase()}${unit.slice(1)}s in all`;
  return onGrid(title, [what, "Runs", ...(failed ? ["Failed"] : []), took, ...(devices ? [`Device-${unit}s`, "Share"] : [])], rows.map((row) =>
    h("tr", { key: row.key }, h("th", { scope: "row" }, row.colour < 0 ? null : h("span", { class: `swatch c${row.colour}`, "aria-hidden": "true" }), nameOf(row.name)),
      number("runs", row.runs), failed && number("failed", row.failed, "state failed"), number(`${unit}s`, row.took), devices && number(`device-${unit}s`, row.used), devices && cell([share(row.share, row.colour), row.shareWords], "share"))));
}

/** Tables of one grid. @param {string} title @param {string[]} columns @param {any[]} rows */
function onGrid(title, columns, rows) {
  const shown = table(title, columns, rows);
  return { ...shown, props: { ...shown.props, class: "scroll accounts" } };
}

/** @param {HeldView} row @param {string} unit */
function heldRow(row, unit) {
  return h("tr", { key: row.key }, h("th", { scope: "row", title: row.title || null }, row.node && h("span", { class: "quiet" }, `${row.node} `), h("span", { class: "label" }, row.label)),
    number(`held ${unit}s`, row.held), number("idle", row.idle), cell([share(row.share, -1), row.shareWords], "share"));
}

/** A number; on a narrow page, where the columns have no heads, with its own. @param {string} head @param {string} words @param {string} [kind] */
function number(head, words, kind) {
  return h("td", { class: "number", "data-head": head }, kind && words ? h("span", { class: kind }, words) : words);
}

/** A bar of the share; its number is beside it. @param {number} part @param {number} colour */
function share(part, colour) {
  return h("span", { class: colour < 0 ? "bar plain" : "bar", "aria-hidden": "true" }, h("span", { class: colour < 0 ? "part" : `part c${colour}`, style: `width:${Math.round(1000 * part) / 10}%` }));
}
