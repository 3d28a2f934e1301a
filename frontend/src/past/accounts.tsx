// Who used the devices: device-seconds by function and by cell, and how much of the time each device was idle.

import { cloneElement } from "preact";

import { cell, empty, nameOf, table } from "../components/parts";
import { colourOf } from "../model/colours";
import { deviceLabels, laneName } from "../model/devices";
import type { Scene } from "../model/scene";
import type { AccountRow, DeviceAccount, Snapshot } from "../model/types";
import { cellWords, count, nodeNames, plain } from "../model/words";
import { PAST_STYLE } from "./look";

/** at: when it was so */
type Account = AccountRow & { at: number };

export type Held = DeviceAccount & { at: number };

interface Accounts {
  since: number;
  functions: Map<string, Account>;
  cells: Map<string, Account>;
  devices: Map<string, Held>;
  known: number;
  held: number;
  at: number;
  leftOut: number;
  hues: Record<string, number>;
}

interface AccountView {
  key: string;
  name: string;
  runs: string;
  failed: string;
  took: string;
  used: string;
  share: number;
  shareWords: string;
  colour: number;
}

/** title: the whole name of its node, or what is not told one by one */
interface HeldView {
  key: string;
  node: string;
  label: string;
  title: string;
  held: string;
  share: number;
  shareWords: string;
  idle: string;
}

interface AccountsView {
  total: string;
  unit: string;
  functions: AccountView[];
  cells: AccountView[];
  devices: HeldView[];
  more: number;
}

const MOST_ACCOUNTS = 50; // of a table
const MOST_UNUSED = 8; // devices that were never held and have a row each
const UNITS = [
  ["hour", 3600, 36_000],
  ["minute", 60, 600],
  ["second", 1, 0],
] as [string, number, number][]; // from so many seconds on

/** The accounts that were known, with the rows of an answer. */
export function withAccounts(before: Accounts | null, answer: any): Accounts {
  const at = answer.time;
  const renewed = (old: Map<string, any> | undefined, rows: any[], keyOf: (row: any) => string) =>
    new Map([...(old ?? []), ...rows.map((row) => [keyOf(row), { ...row, at }] as [string, any])]);
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

/** What is used goes on being used until an answer says more. */
export function accountsView(
  accounts: Accounts | null | undefined,
  snapshot: Snapshot,
  now: number,
): AccountsView | null {
  if (!accounts) return null;
  const used = (row: Account) => row.device_seconds + row.devices * Math.max(0, now - row.at);
  const rows = (map: Map<string, Account>) =>
    [...map].sort(([, a], [, b]) => used(b) - used(a) || b.seconds - a.seconds);
  const [functions, cells] = [rows(accounts.functions), rows(accounts.cells).filter(([, row]) => row.name)];
  const all = functions.reduce((sum, [, row]) => sum + used(row), 0);
  const took = (row: Account) => row.seconds + row.running * Math.max(0, now - row.at);
  const [unit, length] = unitOf(Math.max(all, ...functions.map(([, row]) => took(row))));
  const inUnit = (seconds: number) => quantity(seconds / length);
  const view = ([key, row]: [string, Account], isCell: boolean) => ({
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
 * was held, and a row for many that never were. */
function heldViews(
  accounts: Accounts,
  snapshot: Snapshot,
  now: number,
  inUnit: (seconds: number) => string,
): HeldView[] {
  const labels = new Map([...deviceLabels(snapshot.devices ?? [])].map(([row, label]) => [laneName(row), label]));
  const several = (snapshot.nodes ?? []).length > 1;
  const nodes = new Map(several ? [...nodeNames(snapshot)].map(([id, name]) => [(id ?? "").slice(0, 12), name]) : []);
  const views = [...accounts.devices.values()].map((row) => {
    const held = row.held_seconds + row.devices * Math.max(0, now - row.at);
    const [node, resource, ...id] = row.device.split("/");
    const label =
      labels.get(several ? row.device : `/${resource}/${id.join("/")}`) ?? plain(`${resource} ${id.join("/")}`);
    const share = now > row.since ? Math.min(1, held / (now - row.since)) : 0;
    return {
      key: row.device,
      node: nodes.get(node)?.words ?? "",
      label,
      title: nodes.get(node)?.whole ?? "",
      held: held ? inUnit(held) : "never",
      share,
      shareWords: percent(share),
      idle: now > row.since ? percent(1 - share) : "unknown",
    };
  });
  const order = new Map([...labels.keys()].map((key, at) => [key, at]));
  const place = (view: HeldView) => order.get(view.key) ?? order.get(view.key.slice(view.key.indexOf("/"))) ?? 0;
  views.sort((a, b) => place(a) - place(b));
  const unused = views.filter(({ held }) => held === "never");
  if (unused.length === views.length) return [];
  return unused.length > MOST_UNUSED ? [together(unused), ...views.filter(({ held }) => held !== "never")] : views;
}

function together(unused: HeldView[]): HeldView {
  return {
    ...unused[0],
    key: "unused",
    node: "",
    label: count(unused.length, "device"),
    title: unused.map(({ node, label }) => `${node} ${label}`.trim()).join(", "),
  };
}

/** The unit in which all of a view is said, and how long it is.
 * @param most seconds */
function unitOf(most: number) {
  return UNITS.find(([, , from]) => most >= from) ?? UNITS[0];
}

/** "40 %". */
function percent(share: number) {
  return share > 0 && share < 0.005 ? "< 1 %" : `${Math.round(100 * Math.max(0, share))} %`;
}

/** "12.3", "4711"; "< 0.1" of next to nothing. */
function quantity(value: number) {
  if (value > 0 && value < 0.05) return "< 0.1";
  return value < 100 ? String(Math.round(value * 10) / 10) : String(Math.round(value));
}

// ---- The Accounting view: who used the devices, and how much of the time each was idle.

export function drawAccounts({ accounts }: Scene) {
  if (!accounts) return null; // the answer is on its way
  const { unit, functions, cells, devices, more } = accounts;
  const nothing =
    !functions.length &&
    empty(
      "Nothing has run yet. The device-seconds of each function and each cell, and the idle share of each device, appear here. A call is counted:",
      "f.remote()",
    );
  return [
    <style key="look">{PAST_STYLE}</style>,
    nothing || (
      <p key="total">
        <strong>{accounts.total}</strong>
      </p>
    ),
    functions.length > 0 && used("By function", "Function", unit, functions),
    cells.length > 0 && used("By cell", "Cell", unit, cells),
    devices.length > 0 &&
      onGrid(
        "By device",
        ["Device", `Held ${unit}s`, "Idle", "Held share"],
        devices.map((row) => heldRow(row, unit)),
      ),
    more > 0 && <p class="quiet more" key="more">{`and ${more} more rows`}</p>,
  ];
}

/** Without columns of devices where none was used. */
function used(title: string, what: string, unit: string, rows: AccountView[]) {
  const failed = rows.some((row) => row.failed);
  const devices = rows.some((row) => row.used);
  const took = `${unit[0].toUpperCase()}${unit.slice(1)}s in all`;
  return onGrid(
    title,
    [what, "Runs", ...(failed ? ["Failed"] : []), took, ...(devices ? [`Device-${unit}s`, "Share"] : [])],
    rows.map((row) => (
      <tr key={row.key}>
        <th scope="row">
          {row.colour < 0 ? null : <span class={`swatch c${row.colour}`} aria-hidden="true" />}
          {nameOf(row.name)}
        </th>
        {number("runs", row.runs)}
        {failed && number("failed", row.failed, "state failed")}
        {number(`${unit}s`, row.took)}
        {devices && number(`device-${unit}s`, row.used)}
        {devices && cell([share(row.share, row.colour), row.shareWords], "share")}
      </tr>
    )),
  );
}

/** Tables of one grid. */
function onGrid(title: string, columns: string[], rows: any[]) {
  return cloneElement(table(title, columns, rows), { class: "scroll accounts" });
}

function heldRow(row: HeldView, unit: string) {
  return (
    <tr key={row.key}>
      <th scope="row" title={row.title || undefined}>
        {row.node && <span class="quiet">{`${row.node} `}</span>}
        <span class="label">{row.label}</span>
      </th>
      {number(`held ${unit}s`, row.held)}
      {number("idle", row.idle)}
      {cell([share(row.share, -1), row.shareWords], "share")}
    </tr>
  );
}

/** A number; on a narrow page, where the columns have no heads, with its own. */
function number(head: string, words: string, kind?: string) {
  return (
    <td class="number" data-head={head}>
      {kind && words ? <span class={kind}>{words}</span> : words}
    </td>
  );
}

/** A bar of the share; its number is beside it. */
function share(part: number, colour: number) {
  return (
    <span class={colour < 0 ? "bar plain" : "bar"} aria-hidden="true">
      <span class={colour < 0 ? "part" : `part c${colour}`} style={`width:${Math.round(1000 * part) / 10}%`} />
    </span>
  );
}
