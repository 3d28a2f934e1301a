// Load, memory and power of the last two minutes, from the letters of the answers.

import { laneName } from "./lanes.js";

/** @typedef {(number | null)[]} Levels from 0 to 1, the newest last; null where nothing is known */
/** @typedef {{utilisation: Levels, memory: Levels, power: Levels}} Lines power as a share of the most that any device drew */
/** @typedef {{since: number, origin: number, step: number, first: number, watts: number, lines: Map<string, Lines>}} Readings */

const KEPT_S = 120;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const MOST_DEVICES = 128; // lines of more devices cost more than anybody reads

/** Whether the devices are measured, and few enough for lines. @param {import("./types.js").Snapshot} snapshot */
export function hasLines(snapshot) {
  const devices = snapshot.devices ?? [];
  return devices.length <= MOST_DEVICES && devices.some((row) => row.metrics);
}

/** Whether devices that tell how much they are used have no line yet. @param {Readings} readings @param {import("./types.js").Snapshot | null} snapshot */
export function lacksLines({ lines }, snapshot) {
  const isLine = (/** @type {Levels} */ levels) => levels.filter((level) => level != null).length > 1;
  const tell = (snapshot?.devices ?? []).some(({ metrics }) => (metrics?.utilisation_percent ?? metrics?.memory_used_bytes) != null);
  return tell && ![...lines.values()].some(({ utilisation, memory, power }) => [utilisation, memory, power].some(isLine));
}

/** The readings that were known and those of an answer. @param {Readings | null} before @param {any} answer @returns {Readings} */
export function withReadings(before, answer) {
  const same = before?.origin === answer.origin && before?.step === answer.step_s ? before : null;
  const end = answer.first + answer.steps;
  const first = Math.max(end - Math.round(KEPT_S / answer.step_s), same ? same.first : answer.first);
  /** @type {Map<string, Lines>} */
  const lines = new Map();
  answer.devices.forEach((/** @type {string} */ ending, /** @type {number} */ index) => {
    const name = answer.prefix + ending;
    const known = same?.lines.get(name);
    const line = (/** @type {keyof Lines} */ part, scale = 1) => Array.from({ length: end - first }, (_, at) => {
      const step = first + at - answer.first;
      const old = step < 0 ? known?.[part][first + at - (same?.first ?? 0)] : null;
      if (step < 0) return old == null ? null : old * scale;
      const level = LETTERS.indexOf(answer[part][index * answer.steps + step]);
      return level < 0 ? null : level / (LETTERS.length - 1);
    });
    const all = { utilisation: line("utilisation"), memory: line("memory"), power: line("power", same ? same.watts / answer.power_watts : 1) };
    lines.set(name, all).set(name.slice(name.indexOf("/")), all); // a snapshot of one node leaves its name out
  });
  return { since: answer.seq, origin: answer.origin, step: answer.step_s, first, watts: answer.power_watts, lines };
}

/** The lines of a device; null while nothing is known.
 * @param {Readings | null | undefined} readings @param {import("./types.js").DeviceRow} row @returns {Lines | null} */
export function linesOf(readings, row) {
  return readings?.lines.get(laneName(row)) ?? null;
}
