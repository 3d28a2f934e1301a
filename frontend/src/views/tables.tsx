// The views that are tables of text: Waiting, Actors, Alerts, Nodes.

import {
  WARNING,
  button,
  cancelMany,
  cell,
  empty,
  endButton,
  leftOut,
  logRow,
  nameOf,
  reason,
  stackButton,
  stateCell,
  table,
  whereCell,
} from "../components/parts";
import type { Given } from "../components/tree";
import type { AlertView, Scene } from "../model/scene";
import type { State } from "../model/state";
import { othersThan, type TaskView } from "../model/tasks";

export function drawWaiting(scene: Scene, state: State) {
  if (!scene.counts.waiting)
    return [
      empty(
        "Nothing waits. A task that finds no free device waits here, with the reason:",
        "train.options(num_gpus=1).remote()",
      ),
    ];
  let above = ""; // the reason that was said last
  const rows = scene.waiting.map(({ task, number, many, ids }) => {
    const never = told(scene.alerts, ids);
    const why = reason(task.why, above);
    above = never ? "" : task.why;
    return (
      <tr key={task.id} data-task={task.id}>
        {nameCell(task, many)}
        {cell(task.asks, "nowrap")}
        {whereCell(task.cell, state)}
        {cell(task.age, "short")}
        {cell(
          never
            ? button("never: see Alerts", { "data-act": "lead", "data-tab": "alerts", "data-aim": never.of })
            : why || <span class="quiet">asked for, not looked at yet</span>,
          "why",
        )}
        {cell(many ? showAll(task, number) : cancel(task, scene, state), "acts")}
      </tr>
    );
  });
  const more = othersThan(scene.counts.waiting, scene.waiting);
  return [
    rows.length > 0 && table("Waiting tasks", ["Task", "Asks for", "Cell", "For", "Why it waits", ""], rows),
    more > 0 && moreLine(`and ${more} more that wait`, state),
    scene.counts.waiting > 1 && !scene.ended && (
      <p key="all">
        {cancelMany("Cancel all that wait", "waiting", { state: "waiting", cell: "", text: "" }, "", state)}
      </p>
    ),
  ];
}

/** The alert that says of one of these tasks that it can never start. */
export function told(alerts: AlertView[], ids: any[]) {
  return alerts.find((alert) => alert.kind === "infeasible" && ids.includes(alert.of));
}

/** Leads to the rows of those that are alike. */
function showAll(task: TaskView, number: number) {
  return button(`Show all ${number || ""}`.trim(), {
    "data-act": "lead",
    "data-state": "waiting",
    "data-text": task.name,
    "aria-label": `Show all ${number || ""} ${task.name} that wait`,
  });
}

/** @param many how many are alike */
function nameCell(task: TaskView, many: string) {
  return (
    <th scope="row">
      {nameOf(task.name)}
      <span class="quiet small below">{many.trim() || `#${task.short}`}</span>
    </th>
  );
}

export function cancel(task: TaskView, scene: Scene, state: State) {
  if (!task.cancellable || scene.ended) return null;
  return endButton("cancel", task, `#${task.short}`, state);
}

export function moreLine(text: string, state: State) {
  return (
    <p class="more" key="unsent">
      <span class="quiet">{`${text} `}</span>
      {!state.wide && button("Show more", { "data-act": "ask-more" })}
    </p>
  );
}

export function drawActors(scene: Scene, state: State) {
  if (!scene.actors.length) return [empty("No actor. A remote class that is called makes one:", "Counter.remote()")];
  const columns = ["Actor", "State", "Devices", "Cell", "Age", "Calls waiting", "Why", ""];
  const rows = scene.actors.flatMap((actor, at) => [
    <tr key={actor.id} data-actor={actor.id}>
      <th scope="row">
        {nameOf(actor.name)}
        <span class="quiet small below">
          {[`#${actor.id.slice(0, 8)}`, actor.pid && `pid ${actor.pid}`].filter(Boolean).join(" · ")}
        </span>
      </th>
      {stateCell(actor.sign, actor.state, actor.colour)}
      {cell(actor.devices, "nowrap")}
      {whereCell(actor.cell, state)}
      {cell(actor.age, "short")}
      <td data-head="calls waiting">{actor.calls}</td>
      {cell(reason(actor.why, scene.actors[at - 1]?.why), "why")}
      {cell(
        actor.alive &&
          !scene.ended && [
            endButton("kill", actor, `#${actor.id.slice(0, 8)}`, state),
            stackButton(actor, `#${actor.id.slice(0, 8)}`, state),
          ],
        "acts",
      )}
    </tr>,
    ...(state.log?.process && state.log.id === actor.id ? [logRow(columns.length, scene, state)] : []),
  ]);
  return [
    table("Actors", columns, rows),
    scene.actorsMore > 0 && <p class="quiet more" key="more">{`and ${scene.actorsMore} more actors`}</p>,
  ];
}

export function drawAlerts(scene: Scene) {
  if (!scene.alerts.length)
    return [
      empty(
        "No alert. Failures, leaks, lost devices and requests that can never be met are told here, such as:",
        "f.options(num_gpus=1000).remote()",
      ),
    ];
  return [
    <ul class="alerts" key="alerts">
      {scene.alerts.map((alert) =>
        alertItem(alert, alert.title, <span class="quiet nowrap">{`· ${alert.age} ago`}</span>),
      )}
    </ul>,
  ];
}

/** An alert, which leads to what it is about. */
export function alertItem({ key, message, shows, leads }: AlertView, title: string, more?: Given) {
  return (
    <li key={key} {...leads}>
      <div>
        <strong>
          {WARNING}
          {title}
        </strong>
        {` ${message} `}
        {more}
      </div>
      {leads && button(shows ?? "", leads)}
    </li>
  );
}

export function drawNodes(scene: Scene) {
  const said = scene.nodes.some((node) => node.why);
  const rows = scene.nodes.map((node) => (
    <tr key={node.key} data-at={node.key}>
      <th scope="row">{nameOf(node.name, node.title)}</th>
      {stateCell(node.sign, node.state)}
      {cell(node.role)}
      {cell(node.resources)}
      {said && cell(node.why, "why")}
    </tr>
  ));
  return [
    table("Nodes", ["Node", "State", "Role", "Resources", ...(said ? ["Why"] : [])], rows),
    leftOut(scene.nodesMore, "node"),
  ];
}
