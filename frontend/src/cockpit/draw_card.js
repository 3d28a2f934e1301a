// The compact form, which is the cluster's card: four lines. Below the first two, which all views have, who holds the
// devices, and the one thing that is most worth knowing.

import { h } from "./dom.js";
import { button, nameOf } from "./draw_parts.js";
import { heldWords, shareBar, takenBar } from "./draw_held.js";
import { othersThan } from "./task_rows.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./devices.js").DeviceView} DeviceView */

const MOST_CHIPS = 8; // devices that are told one by one
const NAMED_IN_FULL = 4; // of more chips the kind of device is said by the first line
const CHIP = 140; // pixels in which a chip can be read; with less for each, who holds several devices is named once

/** @param {Scene} scene @param {State} state */
export function drawCard(scene, state) {
  return [
    h("div", { key: "strip", class: "one-line strip", role: "group", "aria-label": "Devices" }, strip(scene, state)),
    h("div", { key: "most", class: "one-line most" }, mostUrgent(scene, state)),
  ];
}

/** @param {Scene} scene @param {State} state @returns {any} */
function strip(scene, state) {
  const { deviceTotal, devicesMore, devices, ended } = scene;
  if (!deviceTotal) return h("span", { class: "has quiet", title: `${scene.noDevice} ${scene.advice}` }, scene.noDevice, scene.advice && [" This counts two logical ones: ", h("code", {}, scene.advice)]);
  if (ended) return h("span", { class: "has quiet" }, `It had ${deviceTotal + devicesMore} × ${scene.sameModel || deviceTotal === 1 ? devices[0].model : "devices"}.`);
  const few = deviceTotal + devicesMore <= MOST_CHIPS;
  if (!few || state.room < CHIP * deviceTotal) return [!few && shareBar(scene), h("span", { class: few ? "has few" : "has", title: scene.heldBy.map(({ name, number, where }) => `${name} ${few ? `on ${where.join(", ")}` : `× ${number}`}`).join(", ") }, heldWords(scene, few))];
  return devices.map((device) => deviceChip(device, deviceTotal));
}

/** "GPU 0 ▆ train". @param {DeviceView} device @param {number} total */
function deviceChip(device, total) {
  const { label, holders, state, reason } = device;
  const said = holders.map(({ name, part, cell, owner, age }) => [name, ...[part, [cell && `cell ${cell}`, owner].filter(Boolean).join(" of "), age].filter(Boolean)].join(" · "));
  const held = holders.map((holder, at) => [at > 0 && ", ", h("span", { key: holder.key, class: "name" }, holder.name),
    h("span", { class: "quiet" }, said[at].slice(holder.name.length))]).flat();
  return h("span", { key: device.key, class: total > NAMED_IN_FULL ? "device many" : "device", "data-device": label, title: [label, ...(holders.length ? said : [reason || state])].join(", ") },
    h("span", { class: "label" }, total > NAMED_IN_FULL ? label.replace(/^\S+ /, "") : label),
    h("span", { class: "bar", "aria-hidden": "true" }, holders.map((holder) => h("span", { class: `part c${holder.colour}`, style: `width:${100 * holder.fraction}%` })), !holders.length && takenBar(device)),
    h("span", { class: "has" }, holders.length ? held : h("span", { class: "quiet" }, reason ? `${state}: ${reason}` : state)));
}

/** An alert, why a task waits, how far training is, a node that comes or goes; else that there is no such thing.
 * @param {Scene} scene @param {State} state @returns {any} */
function mostUrgent(scene, state) {
  const { alerts, nodes, ended } = scene;
  const [alert] = alerts;
  if (alert) {
    const more = alerts.length > 1 && button(`and ${alerts.length - 1} more`, { "data-act": "tab", "data-tab": "alerts" });
    return [h(alert.leads ? "button" : "span", { class: "has alert", title: alert.message, ...alert.leads }, h("strong", {}, "⚠ Attention:"), ` ${alert.message}`), more];
  }
  const [line] = scene.waiting;
  if (line) return waits(line, othersThan(scene.counts.waiting, [line]));
  const training = scene.runs?.brief(state) ?? [];
  if (training.length) return training.slice(0, 2); // its style and the first line
  const moving = nodes.find(({ moves }) => moves);
  if (moving) return h("span", { class: "has", title: moving.why }, h("span", { class: "sign", "aria-hidden": "true" }, `${moving.sign} `), nameOf(moving.name, moving.title), ` ${moving.state} `, h("span", { class: "quiet" }, moving.why));
  if (ended) return h("span", { class: "quiet" }, scene.endedAt);
  if (scene.taskTotal) return h("span", { class: "quiet" }, "Nothing waits, and nothing needs attention.");
  return h("span", { class: "has quiet", title: "f.remote()" }, "No task yet. A call makes one: ", h("code", {}, "f.remote()"));
}

/** @param {import("./task_rows.js").Waiting} line @param {number} others that wait for other reasons */
function waits({ task, many }, others) {
  const why = task.why || task.asks;
  return [
    h("span", { class: "has", title: why }, h("span", { class: "sign", "aria-hidden": "true" }, "◌ "), many, nameOf(task.name), ` waits ${task.age}: `, h("span", { class: "quiet" }, why)),
    others > 0 && button(`and ${others} more`, { "data-act": "tab", "data-tab": "waiting" }),
  ];
}
