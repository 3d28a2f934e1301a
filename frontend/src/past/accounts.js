// Who used the devices: device-seconds by function and by cell, and how much of the time each device was idle.

import { colourOf } from "../cockpit/colours.js";
import { deviceLabels } from "../cockpit/device_labels.js";
import { laneName } from "../cockpit/lanes.js";
import { nodeNames } from "../cockpit/node_names.js";
import { cellWords } from "../cockpit/owners.js";
import { count, plain } from "../cockpit/words.js";

/** @typedef {import("../cockpit/types.js").Snapshot} Snapshot */
/** @typedef {{name: string, job: number, runs: number, failed: number, seconds: number, device_seconds: number, devices: number, running: number, at: number}} Account at: when it was so */
/** @typedef {{device: string, since: number, held_seconds: number, devices: number, at: number}} Held */
/** @typedef {{since: number, functions: Map<string, Account>, cells: Map<string, Account>, devices: Map<string, Held>, known: number, held: number, at: number, leftOut: number, hues: Record<string, number>}} Accounts */
/** @typedef {{key: string, name: string, runs: string, failed: string, took: string, used: string, share: number, shareWords: string, colour: number}} AccountView */
/** @typedef {{key: string, node: string, label: string, title: string, held: string, share: number, shareWords: string, idle: string}} HeldView title: the whole name of its node, or what is not told one by one */
/** @typedef {{total: string, unit: string, functions: AccountView[], cells: AccountView[], devices: HeldView[], more: number}} AccountsView */

const MOST_ACCOUNTS = 50; // of a table
const MOST_UNUSED = 8; // devices that were never held and have a row each
const UNITS = /** @type {[string, number, number][]} */ ([["hour", 3600, 36_000], ["minute", 60, 600], ["second", 1, 0]]); // from so many seconds on

/** The accounts that were known, with the rows of an answer. @param {Accounts | null} before @param {any} answer @returns {Accounts} */
export function withAccounts(before, answer) {
  const at = answer.time;
  const renewed = (/** @type {Map<string, any> | undefined} */ old, /** @type {any[]} */ rows, /** @type {(row: any) => string} */ keyOf) =>
    new Map([...(old ?? []), ...rows.map((row) => /** @type {[string, any]} */ ([keyOf(row), { ...row, at }]))]);
  return {
    since: answer.seq,
    functions: renewed(before?.functions, answer.functions, (row) => row.name),
    cells: renewed(before?.cells, answer.cells, (row) => `${row.job} ${row.name}`),
    devices: renewed(before?.devices, answer.devices, (row) => row.device),
    known: answer.known_seconds,
    held: answer.held_seconds,
    at,
    leftOut: before ? before.leftOut : answer.left_out,
    hues: { ...before?.hues, ...answer.hues },
  };
}

/** What is used goes on being used until an answer says more. @param {Accounts | null | undefined} accounts
 * @param {Snapshot} snapshot @param {number} now @returns {AccountsView | null} */
export function accountsView(accounts, snapshot, now) {
  if (!accounts) return null;
  const used = (/** @type {Account} */ row) => row.device_seconds + row.devices * Math.max(0, now - row.at);
  const rows = (/** @type {Map<string, Account>} */ map) => [...map].sort(([, a], [, b]) => used(b) - used(a) || b.seconds - a.seconds);
  const [functions, cells] = [rows(accounts.functions), rows(accounts.cells).filter(([, row]) => row.name)];
  const all = functions.reduce((sum, [, row]) => sum + used(row), 0);
  const took = (/** @type {Account} */ row) => row.seconds + row.running * Math.max(0, now - row.at);
  const [unit, length] = unitOf(Math.max(all, ...functions.map(([, row]) => took(row))));
  const inUnit = (/** @type {number} */ seconds) => quantity(seconds / length);
  const view = (/** @type {[string, Account]} */ [key, row], /** @type {boolean} */ isCell) => ({
    key,
    name: isCell ? cellWords(snapshot, { job: row.job, cell: row.name }) : plain(row.name),
    runs: String(row.runs),
    failed: row.failed ? String(row.failed) : "",
    took: inUnit(took(row)),
    used: all > 0 ? inUnit(used(row)) : "",
    share: all > 0 ? used(row) / all : 0,
    shareWords: percent(all > 0 ? used(row) / all : 0),
    colour: isCell ? -1 : colourOf({ ...snapshot, hues: accounts.hues }, row.name),
  });
  const holding = [...accounts.devices.values()].reduce((sum, row) => sum + row.devices, 0);
  const passed = Math.max(0, now - accounts.at);
  const known = accounts.known + passed * accounts.devices.size;
  const idle = known > 0 ? `, devices idle ${percent(1 - (accounts.held + passed * holding) / known)} of the time` : "";
  return {
    total: `${inUnit(all)} device-${unit}s in all${idle}`,
    unit,
    functions: functions.slice(0, MOST_ACCOUNTS).map((row) => view(row, false)),
    cells: cells.slice(0, MOST_ACCOUNTS).map((row) => view(row, true)),
    devices: heldViews(accounts, snapshot, now, inUnit),
    more: accounts.leftOut + Math.max(0, functions.length - MOST_ACCOUNTS) + Math.max(0, cells.length - MOST_ACCOUNTS),
  };
}

/** How long each device was held: the least used first, those that are about equal in the order of devices. None where none
 * was held, and a row for many that never were.
 * @param {Accounts} accounts @param {Snapshot} snapshot @param {number} now @param {(seconds: number) => string} inUnit @returns {HeldView[]} */
function heldViews(accounts, snapshot, now, inUnit) {
  const labels = new Map([...deviceLabels(snapshot.devices ?? [])].map(([row, label]) => [laneName(row), label]));
  const several = (snapshot.nodes ?? []).length > 1;
  const nodes = new Map(several ? [...nodeNames(snapshot)].map(([id, name]) => [(id ?? "").slice(0, 12), name]) : []);
  const views = [...accounts.devices.values()].map((row) => {
    const held = row.held_seconds + row.devices * Math.max(0, now - row.at);
    const [node, resource, ...id] = row.device.split("/");
    const label = labels.get(several ? row.device : `/${resource}/${id.join("/")}`) ?? plain(`${resource} ${id.join("/")}`);
    const share = now > row.since ? Math.min(1, held / (now - row.since)) : 0;
    return { key: row.device, node: nodes.get(node)?.words ?? "", label, title: nodes.get(node)?.whole ?? "", held: held ? inUnit(held) : "never", share,
      shareWords: percent(share), idle: now > row.since ? percent(1 - share) : "unknown" };
  });
  const order = new Map([...labels.keys()].map((key, at) => [key, at]));
  const place = (/** @type {HeldView} */ view) => order.get(view.key) ?? order.get(view.key.slice(view.key.indexOf("/"))) ?? 0;
  views.sort((a, b) => place(a) - place(b));
  const unused = views.filter(({ held }) => held === "never");
  if (unused.length === views.length) return [];
  return unused.length > MOST_UNUSED ? [together(unused), ...views.filter(({ held }) => held !== "never")] : views;
}

/** @param {HeldView[]} unused @returns {HeldView} */
function together(unused) {
  return { ...unused[0], key: "unused", node: "", label: count(unused.length, "device"), title: unused.map(({ node, label }) => `${node} ${label}`.trim()).join(", ") };
}

/** The unit in which all of a view is said, and how long it is. @param {number} most seconds */
function unitOf(most) {
  return UNITS.find(([, , from]) => most >= from) ?? UNITS[0];
}

/** "40 %". @param {number} share */
function percent(share) {
  return share > 0 && share < 0.005 ? "< 1 %" : `${Math.round(100 * Math.max(0, share))} %`;
}

/** "12.3", "4711"; "< 0.1" of next to nothing. @param {number} value */
function quantity(value) {
  if (value > 0 && value < 0.05) return "< 0.1";
  return value < 100 ? String(Math.round(value * 10) / 10) : String(Math.round(value));
}
