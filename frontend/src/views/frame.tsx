// The frame around the views: title, counts, tabs; and the compact form, which is the cluster's card.

import { WARNING, button, empty, heldWords, nameOf, shareBar, takenBar } from "../components/parts";
import { h, type Given } from "../components/tree";
import type { DeviceView } from "../model/devices";
import type { AlertView, Scene } from "../model/scene";
import type { State } from "../model/state";
import { othersThan, type Waiting } from "../model/tasks";
import { count, stateSign } from "../model/words";
import { drawDevices } from "./devices";
import { alertItem, drawActors, drawAlerts, drawNodes, drawWaiting, told } from "./tables";
import { drawTasks } from "./tasks";

const NARROW = 700; // pixels, as in the style: the counts have a line of their own
const LETTER = 7.1; // pixels of a letter of the first line in a wide font
const BUTTONS = 28; // letters have the width of those that stand to the right
const MOST_IN_BADGE = 999; // the first line has the number

const VIEWS: Record<string, (scene: Scene, state: State) => Given[]> = {
  devices: drawDevices,
  waiting: drawWaiting,
  tasks: drawTasks,
  actors: drawActors,
  timeline: (scene, state) => scene.pastViews?.drawTimeline(scene, state) ?? loading(scene),
  accounting: (scene) => (scene.accounts ? scene.pastViews?.drawAccounts(scene) : null) ?? loading(scene),
  alerts: drawAlerts,
  nodes: drawNodes,
};

/** Everything inside the root. */
export function drawFrame(scene: Scene, state: State) {
  const body = state.details
    ? [tabs(scene, state), panel(scene, state)]
    : state.listed
      ? drawListed(scene, state)
      : drawCard(scene, state);
  return [header(scene, state), ...body, statusLine(state)];
}

/** The card of one run or experiment. */
export function drawOnly(scene: Scene, state: State) {
  const shown = scene.runs?.only(state).flat() ?? [];
  return [...(shown.length ? shown : drawEmpty("Waiting for news of it …")), statusLine(state)];
}

/** What was done. */
function statusLine(state: State) {
  return (
    <p class="said" key="said" role="status" aria-live="polite">
      {state.said}
    </p>
  );
}

/** What is shown before the first snapshot. */
export function drawEmpty(words: string) {
  return [
    <p class="quiet" key="none">
      {words}
    </p>,
  ];
}

/** While the module that draws the past is on its way. */
function loading(scene: Scene) {
  return [empty(scene.ended ? "This view was not opened before the end." : "Asking the kernel …")];
}

function header(scene: Scene, state: State) {
  return (
    <header key="header">
      <div class="line top">
        {firstLine(scene, state)}
        {scene.ended && <span class="chip">{scene.ended}</span>}
        {scene.alerts.length > 0 && (
          <button type="button" key="alerts" class="chip urgent" data-act="tab" data-tab="alerts">
            {WARNING}
            {count(scene.alerts.length, "alert")}
          </button>
        )}
        <button type="button" key="details" data-act="details" aria-expanded={state.details} class="aside">
          Details<span aria-hidden="true">{state.details ? " ▴" : " ▾"}</span>
        </button>
      </div>
      <div class="one-line quiet" title={scene.title.join(" · ")}>
        <span class="has">{secondLine(scene, state).join(" · ")}</span>
      </div>
    </header>
  );
}

/** What else is busy; the card, which names no models, also says where there is no such hardware. */
function secondLine(scene: Scene, state: State) {
  if (!scene.resources.length) return scene.title;
  return state.details || state.listed ? scene.resources : [...scene.resources, ...scene.unrealDevices];
}

/** "2 of 2 GPUs busy · 3 running · 1 failed": what one wants to know. A count shows its tasks. */
function firstLine({ busy, counts, title }: Scene, state: State) {
  const there = Object.entries(counts).filter(([, number]) => number);
  const said = there.map(([word, number]) => `${number} ${word}`);
  const beside = state.room > NARROW ? busy.join(" · ").length + BUTTONS : 0;
  const fits = (said.join(" · ").length + beside) * LETTER < state.room; // else signs stand for the words, so that one line has them all
  const between = (at: number, dot = " · ") => (
    <span key={`dot${at}`} class="quiet dot">
      {dot}
    </span>
  );
  const shown = there.flatMap(([word, number], at) => [
    at > 0 && between(at, fits ? " · " : "\u2002"),
    <button
      type="button"
      key={word}
      class={`count ${word}`}
      data-act="lead"
      data-state={word}
      title={`Show the ${word} tasks`}
      aria-label={said[at]}
    >
      {fits ? said[at] : `${stateSign(word)} ${number}`}
    </button>,
  ]);
  return (
    <span class="first" title={title.join(" · ")}>
      {busy.length > 0 && [<strong key="busy">{busy.join(" · ")}</strong>, between(-1)]}
      <span class="counts" key="counts">
        {shown.length ? shown : <span class="quiet">no task yet</span>}
      </span>
    </span>
  );
}

function tabs(scene: Scene, state: State) {
  return (
    <div class="tabs" role="tablist" aria-label="Views" key="tabs">
      {scene.tabs.map(({ id, label, badge, urgent, failed }) => {
        const chosen = id === scene.tab;
        const bad = failed && badge > 0;
        return (
          <button
            type="button"
            key={id}
            role="tab"
            id={`${state.id}-${id}`}
            aria-selected={chosen}
            aria-label={bad ? `${label}, ${badge} failed` : undefined}
            aria-controls={`${state.id}-panel`}
            tabindex={chosen ? 0 : -1}
            data-act="tab"
            data-tab={id}
          >
            {urgent && WARNING}
            {label}
            {badge > 0 && [
              " ",
              <span class={bad ? "badge failed" : "badge"}>
                {bad && "✕ "}
                {badge > MOST_IN_BADGE ? `${MOST_IN_BADGE}+` : String(badge)}
              </span>,
            ]}
          </button>
        );
      })}
    </div>
  );
}

function panel(scene: Scene, state: State) {
  const view = VIEWS[scene.tab];
  return (
    <div
      role="tabpanel"
      id={`${state.id}-panel`}
      aria-labelledby={`${state.id}-${scene.tab}`}
      tabindex={-1}
      key={`panel-${scene.tab}`}
      class="panel"
    >
      {(view?.(scene, state) ?? scene.runs?.views[scene.tab]?.(state) ?? drawDevices(scene, state)).flat()}
    </div>
  );
}

// ---- The compact form, which is the cluster's card: four lines. Below the first two, which all views have, who holds the
// devices, and the one thing that is most worth knowing.

const MOST_CHIPS = 8; // devices that are told one by one
const NAMED_IN_FULL = 4; // of more chips the kind of device is said by the first line
const CHIP = 140; // pixels in which a chip can be read; with less for each, who holds several devices is named once

function drawCard(scene: Scene, state: State) {
  return [
    <div key="strip" class="one-line strip" role="group" aria-label="Devices">
      {strip(scene, state)}
    </div>,
    <div key="most" class="one-line most">
      {mostUrgent(scene, state)}
    </div>,
  ];
}

function strip(scene: Scene, state: State): any {
  const { deviceTotal, devicesMore, devices, ended } = scene;
  if (!deviceTotal)
    return (
      <span class="has quiet" title={`${scene.noDevice} ${scene.advice}`}>
        {scene.noDevice}
        {scene.advice && [" This counts two logical ones: ", <code>{scene.advice}</code>]}
      </span>
    );
  if (ended)
    return (
      <span class="has quiet">{`It had ${deviceTotal + devicesMore} × ${scene.sameModel || deviceTotal === 1 ? devices[0].model : "devices"}.`}</span>
    );
  const few = deviceTotal + devicesMore <= MOST_CHIPS;
  if (!few || state.room < CHIP * deviceTotal)
    return [
      !few && shareBar(scene),
      <span
        class={few ? "has few" : "has"}
        title={scene.heldBy
          .map(({ name, number, where }) => `${name} ${few ? `on ${where.join(", ")}` : `× ${number}`}`)
          .join(", ")}
      >
        {heldWords(scene, few)}
      </span>,
    ];
  return devices.map((device) => deviceChip(device, deviceTotal));
}

/** "GPU 0 ▆ train". */
function deviceChip(device: DeviceView, total: number) {
  const { label, holders, state, reason } = device;
  const said = holders.map(({ name, part, cell, owner, age }) =>
    [name, ...[part, [cell && `cell ${cell}`, owner].filter(Boolean).join(" of "), age].filter(Boolean)].join(" · "),
  );
  const held = holders
    .map((holder, at) => [
      at > 0 && ", ",
      <span key={holder.key} class="name">
        {holder.name}
      </span>,
      <span class="quiet">{said[at].slice(holder.name.length)}</span>,
    ])
    .flat();
  return (
    <span
      key={device.key}
      class={total > NAMED_IN_FULL ? "device many" : "device"}
      data-device={label}
      title={[label, ...(holders.length ? said : [reason || state])].join(", ")}
    >
      <span class="label">{total > NAMED_IN_FULL ? label.replace(/^\S+ /, "") : label}</span>
      <span class="bar" aria-hidden="true">
        {holders.map((holder) => (
          <span class={`part c${holder.colour}`} style={`width:${100 * holder.fraction}%`} />
        ))}
        {!holders.length && takenBar(device)}
      </span>
      <span class="has">
        {holders.length ? held : <span class="quiet">{reason ? `${state}: ${reason}` : state}</span>}
      </span>
    </span>
  );
}

/** An alert, why a task waits, how far training is, a node that comes or goes; else that there is no such thing. */
function mostUrgent(scene: Scene, state: State): any {
  const { alerts, nodes, ended } = scene;
  const [alert] = alerts;
  if (alert) {
    const more =
      alerts.length > 1 && button(`and ${alerts.length - 1} more`, { "data-act": "tab", "data-tab": "alerts" });
    return [
      h(
        alert.leads ? "button" : "span",
        { class: "has alert", title: alert.message, ...alert.leads },
        <strong>⚠ Attention:</strong>,
        ` ${alert.message}`,
      ),
      more,
    ];
  }
  const [line] = scene.waiting;
  if (line) return waits(line, othersThan(scene.counts.waiting, [line]));
  const training = scene.runs?.brief(state) ?? [];
  if (training.length) return training.slice(0, 2); // its style and the first line
  const moving = nodes.find(({ moves }) => moves);
  if (moving)
    return (
      <span class="has" title={moving.why}>
        <span class="sign" aria-hidden="true">{`${moving.sign} `}</span>
        {nameOf(moving.name, moving.title)}
        {` ${moving.state} `}
        <span class="quiet">{moving.why}</span>
      </span>
    );
  if (ended) return <span class="quiet">{scene.endedAt}</span>;
  if (scene.taskTotal) return <span class="quiet">Nothing waits, and nothing needs attention.</span>;
  return (
    <span class="has quiet" title="f.remote()">
      {"No task yet. A call makes one: "}
      <code>f.remote()</code>
    </span>
  );
}

/** @param others that wait for other reasons */
function waits({ task, many }: Waiting, others: number) {
  const why = task.why || task.asks;
  return [
    <span class="has" title={why}>
      <span class="sign" aria-hidden="true">
        {"◌ "}
      </span>
      {many}
      {nameOf(task.name)}
      {` waits ${task.age}: `}
      <span class="quiet">{why}</span>
    </span>,
    others > 0 && button(`and ${others} more`, { "data-act": "tab", "data-tab": "waiting" }),
  ];
}

// ---- Where there is room for more than the card's four lines, as in a panel: a row for each device, then the runs, the nodes
// that come and go, what waits, and the alerts.

const WAITING_SHOWN = 3;
const ALERTS_SHOWN = 2;

function drawListed(scene: Scene, state: State) {
  const alerts = scene.alerts.slice(0, ALERTS_SHOWN);
  const moving = scene.nodes
    .filter((node) => node.moves)
    .map((node) => (
      <li key={node.key}>
        {signOf(node.sign)}
        {nameOf(node.name, node.title)}
        {` ${node.state} `}
        <span class="quiet">{node.why}</span>
      </li>
    ));
  const said = alerts.map((alert) => alertItem(alert, "Attention:"));
  return [
    ...drawDevices(scene, state),
    ...(scene.runs?.brief(state) ?? []),
    list("lines", "Nodes that come and go", moving),
    list("lines", "Waiting tasks", waiting(scene, alerts)),
    list("alerts", "Alerts", [...said, ...moreOf(scene.alerts.length - said.length, "alerts")]),
  ];
}

/** The groups that no alert tells of. */
function waiting(scene: Scene, alerts: AlertView[]) {
  const all = scene.waiting;
  const untold = all.filter(({ ids }) => !told(alerts, ids));
  const shown = untold.slice(0, WAITING_SHOWN);
  const lines = shown.map(({ task, many }) => (
    <li key={task.id}>
      {signOf("◌")}
      {many}
      {nameOf(task.name)}
      {` waits ${task.age}: `}
      <span class="quiet">{task.why || task.asks}</span>
    </li>
  ));
  const known = all.filter((group) => !untold.includes(group) || shown.includes(group));
  return [...lines, ...moreOf(othersThan(scene.counts.waiting, known), "waiting")];
}

function signOf(mark: string) {
  return <span class="sign" aria-hidden="true">{`${mark} `}</span>;
}

/** @param tab that has them */
function moreOf(number: number, tab: string) {
  return number > 0 ? [<li key="more">{button(`and ${number} more`, { "data-act": "tab", "data-tab": tab })}</li>] : [];
}

function list(kind: string, label: string, lines: any[]) {
  return (
    lines.length > 0 && (
      <ul class={kind} key={label} aria-label={label}>
        {lines}
      </ul>
    )
  );
}
