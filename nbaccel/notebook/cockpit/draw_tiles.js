// Many devices as a grid of tiles: number, share in its holder's colour, utilisation; a click shows the device's row.

import { h } from "./dom.js";
import { between, spark } from "./draw_spark.js";

/** @typedef {import("./devices.js").DeviceView} DeviceView */
/** @typedef {import("./state.js").State} State */

const GROUPS = 8; // names of holders that are told

/** @param {DeviceView[]} devices @param {State} state */
export function drawTiles(devices, state) {
  return h("div", { key: "tiles" },
    h("ul", { class: "tiles", "aria-label": "Devices" }, devices.map((device) => knownTile(device, state))),
    h("p", { class: "quiet small", key: "holders" }, heldBy(devices), devices.some((device) => device.lines) && " · Lines: load (filled), memory and power (dotted) of the last two minutes."));
}

/** The tile as it was drawn last, if nothing in it has changed. @param {DeviceView} device @param {State} state */
function knownTile(device, state) {
  const chosen = device.key === state.device;
  const words = tileWords(device);
  const content = [words, chosen, device.holders.map((holder) => `${holder.colour}/${holder.fraction}`)].join("\n");
  const known = state.rows.get(`tile ${device.key}`);
  if (known?.content === content && known.of === device.lines) return known.shape;
  const shape = tile(device, words, chosen);
  state.rows.set(`tile ${device.key}`, { content, shape, of: device.lines });
  return shape;
}

/** @param {DeviceView} device @param {string} words @param {boolean} chosen */
function tile(device, words, chosen) {
  const number = device.label.replace(/^\S+ /, "");
  const parts = device.holders.map((holder) => h("span", { class: `part c${holder.colour}`, style: `width:${100 * holder.fraction}%` }));
  return h("li", { key: device.key },
    h("button", { type: "button", class: "tile", "data-act": "tile", "data-device": device.key, "aria-expanded": String(chosen), "aria-label": words, title: words },
      h("span", { class: "number" }, h("span", {}, number), h("span", { class: "quiet" }, device.utilisation?.text ?? "")),
      h("span", { class: "bar" }, parts), device.lines && spark(linesIn(device.lines))));
}

/** @param {import("./readings.js").Lines} lines */
function linesIn({ utilisation, memory, power }) {
  return [{ levels: utilisation, kind: "area" }, { levels: memory, kind: "line" }, { levels: power, kind: "dots" }];
}

/** "GPU 3, held: train, cell [7] line 3, 83 %". @param {DeviceView} device */
function tileWords(device) {
  const holders = device.holders.map((holder) => [holder.name, holder.part, holder.cell && `cell ${holder.cell}`, holder.owner].filter(Boolean).join(" "));
  const facts = [device.utilisation?.text, device.memory?.text, device.facts, between(device.lines?.utilisation), device.reason].filter(Boolean);
  return `${[device.node, device.label].filter(Boolean).join(" ")}, ${device.state}${holders.length ? `: ${holders.join("; ")}` : ""}${facts.map((fact) => `, ${fact}`).join("")}`;
}

/** "Held by shard × 128, Model × 2". @param {DeviceView[]} devices */
function heldBy(devices) {
  /** @type {Map<string, number>} */
  const numbers = new Map();
  for (const device of devices) for (const { name } of device.holders) numbers.set(name, (numbers.get(name) ?? 0) + 1);
  const sorted = [...numbers].sort((a, b) => b[1] - a[1]);
  const names = sorted.slice(0, GROUPS).map(([name, number]) => (number > 1 ? `${name} × ${number}` : name));
  if (sorted.length > GROUPS) names.push(`and ${sorted.length - GROUPS} more`);
  return names.length ? `Held by ${names.join(", ")}` : "Nobody holds one.";
}
