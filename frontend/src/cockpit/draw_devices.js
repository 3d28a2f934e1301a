// The Devices view: one table row for each device, with a bar in its holders' colours.

import { h } from "./dom.js";
import { empty, endButton, leftOut, nameOf, table } from "./draw_parts.js";
import { takenBar } from "./draw_held.js";
import { between, spark } from "./draw_spark.js";
import { drawTiles } from "./draw_tiles.js";

/** @typedef {import("./devices.js").DeviceView} DeviceView */
/** @typedef {import("./devices.js").HolderView} HolderView */
/** @typedef {import("./devices.js").MeterView} MeterView */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./state.js").State} State */

const MOST_ROWS = 8; // devices with a row each; more are tiles

/** @param {Scene} scene @param {State} state */
export function drawDevices(scene, state) {
  if (!scene.deviceTotal) {
    return [empty(`${scene.noDevice}${scene.advice && " This counts two logical ones:"}`, scene.advice)];
  }
  if (scene.deviceTotal + scene.devicesMore <= MOST_ROWS) return [models(scene), deviceTable(scene.devices, scene, state)];
  return [models(scene), drawTiles(scene, state), leftOut(scene.devicesMore, "device"), scene.chosenDevice && deviceTable([scene.chosenDevice], scene, state)];
}

/** What the devices are, said once where they are alike; else each row says it. @param {Scene} scene */
function models({ sameModel, deviceTotal, devices }) {
  if (!sameModel) return null;
  return h("p", { class: "quiet small models", key: "models" }, `${deviceTotal} × ${devices[0].model}`);
}

/** @param {DeviceView[]} devices @param {Scene} scene @param {State} state */
function deviceTable(devices, scene, state) {
  const measured = devices.some((device) => device.utilisation || device.memory);
  const several = devices.some((device) => device.node);
  const said = scene.sameModel;
  const held = !scene.ended && devices.some((device) => device.holders.length || device.reason);
  const columns = ["Device", ...(several ? ["Node"] : []), scene.ended ? "State" : "In use", ...(measured ? ["Load, memory, power"] : []), ...(held ? ["Held by"] : [])];
  return table("Devices", columns, devices.map((device) => deviceLine(device, { several, measured, said, held }, scene, state)));
}

/** @param {DeviceView} device @param {{several: boolean, measured: boolean, said: boolean, held: boolean}} shown @param {Scene} scene @param {State} state */
function deviceLine(device, { several, measured, said, held }, scene, state) {
  return h(
    "tr",
    { key: device.key, "data-device": device.label, "data-at": device.key },
    h("th", { scope: "row", title: device.title || null }, h("span", { class: "label" }, device.label), !said && h("span", { class: "quiet small model" }, device.model)),
    several && h("td", { class: "quiet short", title: device.nodeTitle }, device.node),
    h("td", { class: "use" }, !scene.ended && useBar(device), h("span", { class: "nowrap" }, h("span", { class: "sign", "aria-hidden": "true" }, device.sign), ` ${device.state}`)),
    measured && h("td", { class: "load", title: device.facts }, meter("utilisation", device, device.utilisation), meter("memory", device, device.memory), device.power && meter("power", device, device.power)),
    held && h("td", { class: "holders" }, holderList(device, scene, state)),
  );
}

/** @param {DeviceView} device */
function useBar(device) {
  const parts = device.holders.map((holder) =>
    h("span", { key: holder.key, class: `part c${holder.colour}`, style: `width:${100 * holder.fraction}%` }),
  );
  return h("div", { class: "bar", role: "img", "aria-label": `${device.label}: ${device.use}`, title: device.use }, parts, !parts.length && takenBar(device));
}

/** A measured value with its last two minutes; without these as a bar. @param {"utilisation" | "memory" | "power"} what
 * @param {DeviceView} device @param {MeterView} value */
function meter(what, device, value) {
  if (!value) return h("div", { class: "measure quiet small" }, `${what} unknown`);
  const percent = Math.min(100, Math.max(0, Math.round(value.percent)));
  const name = `${device.label} ${what}`;
  const levels = device.lines?.[what];
  const said = { title: [what, between(levels)].filter(Boolean).join(": ") };
  const drawn = levels ? spark([{ levels, kind: what === "power" ? "line" : "area" }]) : h("span", { class: "part", style: `width:${percent}%` });
  const scale = what === "power" ? { role: "img", "aria-label": `${name} ${value.text}` }
    : { role: "meter", "aria-label": name, "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": percent, "aria-valuetext": value.text };
  return h("div", { class: "measure", ...said }, what === "power" && !levels ? null : h("div", { class: levels ? "trend" : "bar", ...scale }, drawn),
    h("span", { class: "small" }, value.text));
}

/** @param {DeviceView} device @param {Scene} scene @param {State} state */
function holderList(device, scene, state) {
  const list = device.holders.map((holder) => holderLine(holder, device, scene, state));
  return [list.length > 0 && h("ul", {}, list), device.reason && h("span", { class: "quiet" }, device.reason)];
}

/** @param {HolderView} holder @param {DeviceView} device @param {Scene} scene @param {State} state */
function holderLine(holder, device, scene, state) {
  const { part, cell, owner, age } = holder;
  const facts = [part, cell && `cell ${cell}`].filter(Boolean).join(" · ");
  const whose = owner && [cell ? " of " : facts && " · ", h("span", { class: "cut", title: owner }, owner)];
  return h("li", { key: holder.key, title: holder.pid },
    h("span", { class: `swatch c${holder.colour}`, "aria-hidden": "true" }),
    h("span", { class: "who" }, nameOf(holder.name), h("span", { class: "quiet facts" }, facts, whose, (facts || owner) && age && " · ", age)),
    (holder.taskId || holder.actorId) && stop(holder, device, state));
}

/** @param {HolderView} holder @param {DeviceView} device @param {State} state */
function stop(holder, device, state) {
  const act = holder.taskId ? "cancel" : "kill";
  return endButton(act, { id: holder.taskId || holder.actorId, name: holder.name, owner: holder.owner }, `on ${device.label}`, state);
}
