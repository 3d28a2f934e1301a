// The Tasks view: one row for each task, or for many of one function; only rows in sight are drawn.

import {
  button,
  cancelMany,
  cell,
  empty,
  endButton,
  logRow,
  nameOf,
  reason,
  stackButton,
  stateCell,
  table,
  whereCell,
} from "../components/parts";
import type { Scene } from "../model/scene";
import type { State } from "../model/state";
import { FACTS, STATES, grouped, tasksInSight, type Group, type Row, type TaskView } from "../model/tasks";
import { cancel, moreLine } from "./tables";

export function drawTasks(scene: Scene, state: State) {
  state.order = [scene.tasks, ...[...(scene.pages?.values() ?? [])].map((page) => page.shown)]
    .flat()
    .map((task) => task.id);
  const inRows = state.sort.column !== "";
  const rows: Row[] = inRows
    ? scene.tasks.map((task) => ({ task, inGroup: false }))
    : grouped(scene.tasks, state.open, scene.functions, scene.pages);
  const counted = new Map(inRows ? [] : scene.functions.map((each) => [each.subject, each.total]));
  const here =
    scene.tasks.filter((task) => !counted.has(task.subject)).length +
    [...counted.values()].reduce((sum, each) => sum + each, 0);
  const all = scene.foundInAll ? scene.tasksFound : scene.taskTotal;
  const unsent = scene.foundInAll || inRows || scene.taskTotal > scene.taskRows ? all - here : 0;
  return [
    filters(scene, state),
    rows.length ? tableOf(rows, scene, state) : nothingFound(scene),
    unsent > 0 && moreLine(`${here} of ${all} tasks are here`, state),
  ];
}

/** One of FACTS, and its place there. */
interface Fact {
  name: string;
  at: number;
}

function tableOf(rows: Row[], scene: Scene, state: State) {
  const facts = FACTS.map(({ name }, at) => ({ name, at })).filter(({ at }) =>
    scene.tasks.some((task) => task.facts[at]),
  );
  const columns = [
    { name: "Task", sort: "task" },
    { name: "State", sort: "state" },
    { name: "Devices", sort: "devices" },
    "Cell",
    { name: "Started", sort: "started" },
    { name: "Took", sort: "took" },
    ...facts.map(({ name }) => name),
    "",
  ];
  const { first, last, above, below, asks } = tasksInSight(rows, state.scrolled);
  for (const [subject, skip] of asks) state.asks.set(subject, skip);
  const drawn = rows.slice(first, last).flatMap((row, at) => {
    if ("group" in row) return [groupRow(row.group, columns.length, scene, state)];
    if ("gap" in row) return [gapRow(`gap/${row.subject}/${row.from}`, row.gap * state.scrolled.row)];
    const before = rows[first + at - 1];
    const shapes = knownRow(
      row.task,
      row.inGroup,
      before && "task" in before ? before.task.why : "",
      facts,
      columns.length,
      scene,
      state,
    );
    return state.log?.id === row.task.id ? [...shapes, logRow(columns.length, scene, state)] : shapes;
  });
  return table("Tasks", columns, [gapRow("above", above), ...drawn, gapRow("below", below)].filter(Boolean), {
    rows: rows.reduce((sum, row) => sum + ("gap" in row ? row.gap : 1), 0),
    sort: state.sort,
  });
}

/** The place of rows that are not drawn. */
function gapRow(where: string, height: number): any {
  return height > 0 && <tr key={where} class="gap" aria-hidden="true" style={`height:${Math.round(height)}px`} />;
}

function nothingFound(scene: Scene) {
  if (!scene.taskTotal) return empty("No task yet. A remote function that is called makes one:", "f.remote()");
  return empty(scene.foundInAll ? "No task passes the filter." : "No task of these rows passes the filter.");
}

function groupRow(group: Group, columns: number, scene: Scene, state: State) {
  const { subject, total, open, done, failed, others, listed } = group;
  const partly =
    !group.counted && (scene.foundInAll ? scene.tasksFound > scene.tasks.length : scene.taskTotal > scene.taskRows); // others of it may be left out
  const part = (kind: string, number: number) =>
    number > 0 && <span key={kind} class={`part ${kind}`} style={`width:${(100 * number) / total}%`} />;
  const words = [
    ...(partly ? [] : [`${done} of ${total}`]),
    ...others,
    ...(partly && done ? [`${done} finished`] : []),
    ...(listed < total ? [`${listed} of them are still listed`] : []),
  ];
  return (
    <tr key={`group/${subject}`} class="group" data-function={subject}>
      <th scope="row" colspan={columns}>
        <button type="button" class="opens" data-act="group" data-function={subject} aria-expanded={open}>
          <span aria-hidden="true">{open ? "▾ " : "▸ "}</span>
          {nameOf(subject)}
        </button>
        {!partly && (
          <span class="bar" aria-hidden="true">
            {part(`c${group.colour}`, done)}
            {part("failed", failed)}
          </span>
        )}
        <span class="quiet">
          {partly && `of the newest ${total}: `}
          {words
            .map((each, at) => [
              at > 0 && " · ",
              each.endsWith(" failed") ? (
                <span key={each} class="state failed">
                  {each}
                </span>
              ) : (
                each
              ),
            ])
            .flat()}
        </span>
        {!scene.ended && group.live && cancelMany("Cancel all", `group/${subject}`, state.filter, subject, state)}
      </th>
    </tr>
  );
}

/** The row, and the line below it, as drawn last if nothing in them has changed: of hundreds, few change between two snapshots.
 * @param above the reason of the row above
 * @param facts those that have a column */
function knownRow(
  task: TaskView,
  inGroup: boolean,
  above: string,
  facts: Fact[],
  columns: number,
  scene: Scene,
  state: State,
): any[] {
  const content = [
    ...Object.values(task),
    inGroup,
    above === task.why,
    columns,
    scene.ended,
    state.asked.has(task.id),
    state.doubted === task.id,
    state.log?.id === task.id && (state.log.process ? "stack" : "log"),
  ].join("\n");
  const known = state.rows.get(task.id);
  if (known?.content === content) return known.shape;
  const row = taskRow(task, inGroup, facts, scene, state);
  const shape = task.why ? [row, reasonRow(task, above, columns)] : [row];
  state.rows.set(task.id, { content, shape });
  return shape;
}

/** Why it waits or failed, on a line of its own. */
function reasonRow(task: TaskView, above: string, columns: number) {
  return (
    <tr key={`why/${task.id}`} class="reason">
      <td colspan={columns}>
        <span class="quiet" title={task.why}>
          {reason(task.why, above)}
        </span>
      </td>
    </tr>
  );
}

function taskRow(task: TaskView, inGroup: boolean, facts: Fact[], scene: Scene, state: State) {
  const below = [`#${task.short}`, task.pid && `pid ${task.pid}`].filter(Boolean).join(" · ");
  return (
    <tr key={task.id} data-task={task.id} class={inGroup ? "inner" : undefined}>
      <th scope="row">
        {nameOf(task.name)}
        <span class="quiet small below">{below}</span>
      </th>
      {stateCell(task.sign, task.state, task.colour)}
      {cell(task.devices || task.asks, task.devices ? "nowrap" : "quiet nowrap")}
      {whereCell(task.cell, state)}
      {cell(task.started, "nowrap")}
      {tookCell(task.took)}
      {facts.map(({ name, at }) => (
        <td key={name} class="nowrap" data-head={name.toLowerCase()}>
          {task.facts[at]}
        </td>
      ))}
      {cell(
        [
          cancel(task, scene, state),
          task.retryable && state.retries && !scene.ended && endButton("retry", task, `#${task.short}`, state),
          task.state === "running" && !scene.ended && stackButton(task, `#${task.short}`, state),
          logs(task, scene, state),
        ],
        "acts",
      )}
    </tr>
  );
}

/** How long it takes, and below it how far it is. */
function tookCell(took: string) {
  const [time, ...far] = took.split(" · ");
  return cell(
    [time, far.length > 0 && [" ", <span class="quiet small below">{far.join(" · ")}</span>]].flat(),
    "short",
  );
}

function logs(task: TaskView, scene: Scene, state: State) {
  if (task.state === "waiting" || scene.ended) return null;
  return button("Log", {
    key: "log",
    "data-act": "logs",
    "data-id": task.id,
    "data-name": task.name,
    "aria-expanded": state.log?.id === task.id && !state.log.process,
    "aria-label": `Log of ${task.name} #${task.short}`,
  });
}

function filters(scene: Scene, state: State) {
  const { filter } = state;
  const option = (value: string, label: string, chosen: string) => (
    <option key={value || "all"} value={value} selected={value === chosen}>
      {label}
    </option>
  );
  return (
    <div class="filters" role="group" aria-label="Filter tasks" key="filters">
      <label>
        {"State "}
        <select data-filter="state" value={filter.state}>
          {option("", "all", filter.state)}
          {STATES.map((word) => option(word, `${word} (${scene.counts[word] ?? 0})`, filter.state))}
        </select>
      </label>
      <label>
        {"Cell "}
        <select data-filter="cell" value={filter.cell}>
          {option("", "all", filter.cell)}
          {scene.cells.map((name) => option(name, name, filter.cell))}
        </select>
      </label>
      <label>
        {"Text "}
        <input type="search" data-filter="text" value={filter.text} placeholder="name, id, reason" />
      </label>
      {(filter.state || filter.cell || filter.text) &&
        !scene.ended &&
        scene.tasks.some((task) => task.cancellable) &&
        cancelMany("Cancel all of these", "these", filter, "", state)}
      {!scene.ended &&
        button("Notify me", {
          "data-act": "notices",
          class: "aside",
          "aria-pressed": state.notices,
          title: "A notice of the browser when a task of more than a minute ends or fails",
        })}
      {state.sort.column && button("In the usual order", { "data-act": "sort", "data-column": "" })}
    </div>
  );
}
