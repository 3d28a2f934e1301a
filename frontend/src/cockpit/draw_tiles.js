// Many devices as a grid of tiles: number, share in its holder's colour, utilisation; a click shows the device's row.

import { h } from "./dom.js";
import { heldWords, takenBar } from "./draw_held.js";
import { between, spark } from "./draw_spark.js";

/** @typedef {import("./devices.js").DeviceView} DeviceView */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./state.js").State} State */

const GAP_PX = 4; // between tiles
const IN_LINE = 8; // tiles of a node

/** @param {Scene} scene @param {State} state */
export function drawTiles(scene, state) {
  const { devices, devicesBefore, deviceTotal, tileGroups: { many, first, last, all, most } } = scene;
  const inSight = many ? state.tiles ?? { row: 40, columns: 20 } : null;
  const lines = (/** @type {number} */ number) => Math.ceil(number / (inSight?.columns ?? 1)) * (inSight?.row ?? 0);
  const lined = devices.some((device) => device.lines);
  const tiles = devices.map((device, index) => knownTile(device, inSight ? devicesBefore + index + 1 : 0, deviceTotal, state));
  const listOf = (/** @type {string} */ label, /** @type {any[]} */ shown) => h("ul", { class: lined ? "tiles lined" : "tiles", "aria-label": label }, shown);
  const around = (/** @type {any[]} */ shown, tag = "li") => [emptyLines(tag, "above", lines(first)), ...shown, emptyLines(tag, "below", lines(all) - lines(last))];
  const list = most ? h("div", { class: "of-nodes", role: "group", "aria-label": "Devices", style: gridOf(most) }, around(ofNodes(devices, tiles, listOf), "div")) : listOf("Devices", around(tiles));
  return h("div", { key: "tiles" },
    inSight ? h("div", { class: "scroll of-tiles", role: "region", tabindex: "0", "aria-label": `${deviceTotal} devices` }, list) : list,
    h("p", { class: "quiet small", key: "holders" }, heldWords(scene), lined && " · Lines: load (filled), memory and power (dotted) of the last two minutes."),
    cardOf(devices.find((device) => device.key === state.hover.bar), state));
}

/** The tiles of each node below its name. @param {DeviceView[]} devices @param {any[]} tiles
 * @param {(label: string, shown: any[]) => any} listOf */
function ofNodes(devices, tiles, listOf) {
  const starts = devices.flatMap(({ nodeKey }, at) => (nodeKey === devices[at - 1]?.nodeKey ? [] : [at]));
  return starts.map((start, at) => {
    const { node, nodeTitle, nodeKey } = devices[start];
    return h("div", { key: nodeKey, class: "of-node" }, h("div", { class: "node quiet small", title: nodeTitle }, node), listOf(`Devices of ${node}`, tiles.slice(start, starts[at + 1])));
  });
}

/** How many tiles are in a line, and how many lines the largest node has; of these the same on a narrow page. @param {number} most tiles of a node */
function gridOf(most) {
  const [wide, narrow] = [Math.min(most, IN_LINE), Math.min(most, IN_LINE / 2)];
  return `--wide:${wide};--lines:${Math.ceil(most / wide)};--narrow:${narrow};--more:${Math.ceil(most / narrow)}`;
}

/** The place of tiles that are not drawn. @param {string} tag @param {string} where @param {number} height */
function emptyLines(tag, where, height) {
  return height > GAP_PX && h(tag, { key: where, class: "gap", "aria-hidden": "true", style: `height:${height - GAP_PX}px` });
}

/** What the tile under the pointer, or with the focus, is about. @param {DeviceView | undefined} device @param {State} state */
function cardOf(device, state) {
  if (!device) return null;
  const { node, label, model, holders, utilisation, memory, facts, reason } = device;
  const held = holders.map((holder) => h("div", { key: holder.key }, h("span", { class: `swatch c${holder.colour}` }), h("strong", {}, holder.name), " ",
    [holder.part, holder.cell && `cell ${holder.cell}`, holder.owner, holder.age].filter(Boolean).join(" · ")));
  return h("div", { class: "hover", key: "hover", style: state.hover.style, "aria-hidden": "true" },
    h("strong", {}, [node, label].filter(Boolean).join(" ")), ` ${device.state}`, held,
    h("div", { class: "quiet small" }, [utilisation?.text, memory?.text, facts, between(device.lines?.utilisation), reason].filter(Boolean).join(" · ") || model));
}

/** The tile as it was drawn last, if nothing in it has changed. @param {DeviceView} device
 * @param {number} place among all, from 1; 0 where all are drawn @param {number} total @param {State} state */
function knownTile(device, place, total, state) {
  const chosen = device.key === state.device;
  const words = tileWords(device);
  const content = [words, chosen, place, device.holders.map((holder) => `${holder.colour}/${holder.fraction}`)].join("\n");
  const known = state.rows.get(`tile ${device.key}`);
  if (known?.content === content && known.of === device.lines) return known.shape;
  const shape = tile(device, words, chosen, place ? { "aria-posinset": place, "aria-setsize": total } : {});
  state.rows.set(`tile ${device.key}`, { content, shape, of: device.lines });
  return shape;
}

/** @param {DeviceView} device @param {string} words @param {boolean} chosen @param {Record<string, number>} places */
function tile(device, words, chosen, places) {
  const number = device.label.replace(/^\S+ /, "");
  const parts = device.holders.map((holder) => h("span", { class: `part c${holder.colour}`, style: `width:${100 * holder.fraction}%` }));
  return h("li", { key: device.key, ...places },
    h("button", { type: "button", class: device.state === "gone" ? "tile gone" : "tile", "data-act": "tile", "data-device": device.key, "data-bar": device.key, "aria-expanded": String(chosen), "aria-label": words },
      h("span", { class: "number" }, number), h("span", { class: "load quiet" }, device.state === "gone" ? "gone" : device.utilisation?.text),
      h("span", { class: "bar" }, parts, !parts.length && takenBar(device)), device.lines && spark(linesIn(device.lines))));
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
