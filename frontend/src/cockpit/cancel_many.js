// Cancelling many tasks: those of a function, of a cell, or all that pass the filter; asked once more before it is done.

import { h } from "./dom.js";
import { button } from "./draw_parts.js";

/** @typedef {import("./types.js").Filter} Filter */

/** @param {string} label @param {string} id of the button @param {Filter} filter @param {string} only a function; "" for all
 * @param {import("./state.js").State} state */
export function cancelMany(label, id, filter, only, state) {
  const whom = only ? ` ${only}` : ""; // said to ears; for eyes the row says it
  const about = { key: id, "data-id": id, "data-name": label + whom, "data-function": only, "data-state": filter.state, "data-cell": filter.cell, "data-text": filter.text };
  if (state.doubted !== id) return button(`${label}…`, { ...about, "data-act": "sure", "aria-label": `${label}${whom}…` });
  return h("span", { class: "ask nowrap", key: id }, button("Keep", { ...about, key: "keep", "data-act": "keep" }), " ",
    button(label, { ...about, key: "do", "data-act": "cancel-many", class: "urgent", "aria-label": label + whom }));
}
