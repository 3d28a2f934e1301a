// Who holds many devices: a bar in the holders' colours, and their names beside these colours.

import { h } from "./dom.js";
import { nameOf } from "./draw_parts.js";

/** @typedef {import("./scene.js").Scene} Scene */

const GROUPS = 8; // names of holders that are told

/** "Held by ■ shard × 128, ■ Model × 2"; of few devices: "■ shard 0, 6 · ■ Model 1".
 * @param {Scene} scene @param {boolean} [few] */
export function heldWords({ heldBy, deviceTotal, devicesMore, devicesFree, devicesTaken, devicesGone, ended }, few) {
  if (ended) return [];
  const names = heldBy.slice(0, GROUPS).map(({ name, number, colour, where }, at) => [
    at > 0 && (few ? " · " : ", "), h("span", { key: name, class: "key" }, h("span", { class: `swatch c${colour}`, "aria-hidden": "true" }), "\u00a0",
      few ? [nameOf(name), ` ${numbers(where)}`] : `${name}${number > 1 ? ` × ${number}` : ""}`)]).flat();
  const more = heldBy.length > GROUPS && ` and ${heldBy.length - GROUPS} more`;
  const others = [devicesMore && `of ${deviceTotal} shown`, devicesFree && `${devicesFree} free`, devicesTaken && `${devicesTaken} taken by others`, devicesGone && `${devicesGone} gone`].filter(Boolean).map((words) => ` · ${words}`).join("");
  return [names.length ? !few && "Held by " : "Nobody holds one", ...names, more, others];
}

/** ["GPU 0", "GPU 6"] is "0, 6": the first line says what they are. @param {string[]} labels */
function numbers(labels) {
  return labels.map((label) => label.replace(/^\S+ /, "")).join(", ");
}

/** What a bar shows of a device that others have. @param {import("./devices.js").DeviceView} device */
export function takenBar({ state }) {
  return state === "taken" && h("span", { class: "part taken" });
}

/** @param {Scene} scene */
export function shareBar({ heldBy, deviceTotal, devicesMore, devicesTaken, devicesGone }) {
  const part = (/** @type {string} */ kind, /** @type {number} */ share) => h("span", { key: kind, class: `part ${kind}`, style: `width:${Math.round(1000 * share / Math.max(deviceTotal + devicesMore - devicesGone, 1)) / 10}%` });
  return h("span", { class: "bar", "aria-hidden": "true" }, heldBy.map(({ colour, share }) => part(`c${colour}`, share)), devicesTaken > 0 && part("taken", devicesTaken));
}
