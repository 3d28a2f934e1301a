// The Accounting view: who used the devices, and how much of the time each was idle.

import { h } from "../cockpit/dom.js";
import { cell, empty, nameOf, table } from "../cockpit/draw_parts.js";

/** @typedef {import("./accounts.js").AccountView} AccountView */
/** @typedef {import("./accounts.js").HeldView} HeldView */

/** @param {import("../cockpit/scene.js").Scene} scene */
export function drawAccounts({ accounts }) {
  if (!accounts) return null; // the answer is on its way
  const { functions, cells, devices, more } = accounts;
  const nothing = !functions.length && empty("Who used the devices is told here: device-seconds by function and by cell, and the idle share of each device. A call is counted here:", "f.remote()");
  return [
    nothing || h("p", { key: "total" }, h("strong", {}, accounts.total)),
    functions.length > 0 && used("By function", "Function", functions),
    cells.length > 0 && used("By cell", "Cell", cells),
    devices.length > 0 && onGrid("By device", ["Device", "Held", "Held share"], devices.map(heldRow)),
    more > 0 && h("p", { class: "quiet more", key: "more" }, `and ${more} more rows`),
  ];
}

/** @param {string} title @param {string} what @param {AccountView[]} rows */
function used(title, what, rows) {
  const failed = rows.some((row) => row.failed);
  return onGrid(title, [what, "Runs", ...(failed ? ["Failed"] : []), "Took in all", "Device-seconds", "Share"], rows.map((row) =>
    h("tr", { key: row.key }, h("th", { scope: "row" }, row.colour < 0 ? null : h("span", { class: `swatch c${row.colour}`, "aria-hidden": "true" }), nameOf(row.name)),
      number("runs", row.runs), failed && number("failed", row.failed), number("took", row.took), number("device-s", row.used), cell(share(row.share, row.colour), "share"))));
}

/** Tables of one grid. @param {string} title @param {string[]} columns @param {any[]} rows */
function onGrid(title, columns, rows) {
  const shown = table(title, columns, rows);
  return { ...shown, props: { ...shown.props, class: "scroll accounts" } };
}

/** @param {HeldView} row */
function heldRow(row) {
  return h("tr", { key: row.key }, h("th", { scope: "row" }, h("span", { class: "label" }, row.label)), number("held", row.held),
    cell([share(row.share, -1), h("span", { class: "small" }, ` idle ${row.idle}`)], "share"));
}

/** A number; on a narrow page, where the columns have no heads, with its own. @param {string} head @param {string} words */
function number(head, words) {
  return h("td", { class: "number", "data-head": head }, words);
}

/** A bar of the share; its number is in the next cell. @param {number} part @param {number} colour */
function share(part, colour) {
  return h("span", { class: colour < 0 ? "bar plain" : "bar", "aria-hidden": "true" }, h("span", { class: colour < 0 ? "part" : `part c${colour}`, style: `width:${Math.round(1000 * part) / 10}%` }));
}
