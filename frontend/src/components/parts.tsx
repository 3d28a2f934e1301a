// What several views are made of.

import { type Given, type Shape } from "./tree";
import type { DeviceView } from "../model/devices";
import type { Levels } from "../model/history";
import type { Scene } from "../model/scene";
import type { State } from "../model/state";
import type { Sort } from "../model/tasks";
import type { Filter } from "../model/types";
import { count } from "../model/words";

/** a head that sorts, or one of words alone; "" heads the column of buttons */
interface Column {
  name: string;
  sort?: string;
}

/** A real table with caption and column heads. On a narrow page each row becomes a block of its own.
 * @param more how many rows there are of which some are drawn */
export function table(
  caption: string,
  columns: (string | Column)[],
  rows: Shape[],
  more: { rows?: number; sort?: Sort; sight?: string } = {},
) {
  const heads = columns.map((column, index) =>
    head(typeof column === "string" ? { name: column } : column, index, more.sort),
  );
  return (
    <div
      class={caption === "Devices" ? "scroll whole" : "scroll"}
      key={caption}
      role="region"
      aria-label={caption}
      tabindex={0}
      data-sight={more.sight}
    >
      <table aria-rowcount={more.rows && more.rows + 1}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>{heads}</tr>
        </thead>
        <tbody>{rows}</tbody>
      </table>
    </div>
  );
}

function head({ name, sort }: Column, index: number, sorted?: Sort) {
  if (!sort)
    return (
      <th scope="col" key={name || `c${index}`}>
        {name || <span class="unseen">Actions</span>}
      </th>
    );
  const way = sorted?.column !== sort ? "none" : sorted.down ? "descending" : "ascending";
  const arrow = { none: "", ascending: " ↑", descending: " ↓" }[way];
  return (
    <th scope="col" key={name} aria-sort={way}>
      <button type="button" class="sorts" data-act="sort" data-column={sort}>
        {name}
        <span aria-hidden="true">{arrow}</span>
      </button>
    </th>
  );
}

/** A name, cut at some 24 characters with the whole in its title. */
export function nameOf(name: string, title: string = name) {
  return (
    <span class={title === name ? "name cut" : "name"} title={title}>
      {name}
    </span>
  );
}

/** Before the words that a person should not miss. */
export const WARNING = <span aria-hidden="true">{"⚠ "}</span>;

export function button(label: string, props: Record<string, any>) {
  return (
    <button type="button" {...props}>
      {label}
    </button>
  );
}

const VERBS = { cancel: "Cancel", kill: "Kill", retry: "Retry" };

/** What cancels a task, kills an actor, or runs a failed task again. An actor, which loses its state, and what is another
 * notebook's only after a question.
 * @param label which one, for ears */
export function endButton(
  act: "cancel" | "kill" | "retry",
  whom: { id: string; name: string; owner: string },
  label: string,
  state: State,
) {
  const { id, name, owner } = whom;
  const verb = VERBS[act];
  const about = { "data-id": id, "data-name": name };
  const whose = owner && ` of ${owner}`;
  const first = { ...about, "aria-label": `${verb} ${name} ${label}${whose}` };
  if (state.asked.has(id)) return button("asked…", { ...first, disabled: true });
  if (!owner && act !== "kill") return button(verb, { ...first, "data-act": act });
  if (state.doubted !== id) return button(`${verb}…`, { ...first, "data-act": "doubt", "data-owner": owner });
  return (
    <span class="ask nowrap">
      {button("Keep", { ...about, "data-act": "keep", "aria-label": `Keep ${name}${whose}` })}{" "}
      {button(`${verb} it`, {
        ...about,
        "data-act": act,
        class: "urgent",
        "aria-label": `${verb} it: ${name}${whose}`,
      })}
    </span>
  );
}

/** What shows where the code of a process is; "" of one that has none. */
export function stackButton(
  whom: { id: string; name: string; pid: string; node: string },
  label: string,
  state: State,
) {
  const { id, name, pid, node } = whom;
  const about = {
    key: "stack",
    "data-act": "stack",
    "data-id": id,
    "data-name": name,
    "data-pid": pid,
    "data-node": node,
  };
  const isOpen = state.log?.id === id && Boolean(state.log.process);
  return pid && button("Stack", { ...about, "aria-expanded": isOpen, "aria-label": `Stack of ${name} ${label}` });
}

/** The open log or stack, below the row that it is of. */
export function logRow(columns: number, scene: Scene, state: State) {
  return (
    <tr key={`log/${state.log?.id}`} class="logrow">
      <td colspan={columns}>{scene.pastViews?.drawLog(state) ?? "Asking the kernel …"}</td>
    </tr>
  );
}

/** What would be here, and the line of code that makes it appear. */
export function empty(text: string, code?: string) {
  return (
    <p class="quiet empty" key="empty">
      {text}
      {code && " "}
      {code && <code>{code}</code>}
    </p>
  );
}

/** How many have no row. */
export function leftOut(number: number, what: string) {
  return (
    number > 0 && (
      <p
        class="quiet small"
        key="left out"
      >{`and ${count(number, `more ${what}`)}: those that are held or in trouble are shown`}</p>
    )
  );
}

/** A state's shape and word; what runs or lives has its function's colour. */
export function stateCell(sign: string, word: string, colour?: number) {
  const own = colour != null && (word === "running" || word === "alive") ? ` ink c${colour}` : "";
  return (
    <td class={`nowrap state ${word}`}>
      <span class={`sign${own}`} aria-hidden="true">
        {sign}
      </span>
      {` ${word}`}
    </td>
  );
}

/** The cell of a row; where the page can show the cell, a click does. */
export function whereCell(words: string, state: State) {
  const owner = words.startsWith("[") ? "" : words.replace(/ \[\d+\].*/, "");
  const shown =
    owner.length > 24
      ? [
          <span class="cut" title={owner}>
            {owner}
          </span>,
          words.slice(owner.length),
        ]
      : [words];
  return cell(
    words && state.goes(words) ? (
      <button type="button" class="goes" data-act="go" data-cell={words} title="Show the cell">
        {shown}
      </button>
    ) : (
      shown
    ),
    "nowrap where",
  );
}

/** Why, unless the row above has said the same. */
export function reason(why: string, above: string | undefined) {
  return why && why === above ? (
    <span class="quiet" title={why}>
      same reason
    </span>
  ) : (
    why
  );
}

export function cell(content: Given, kind?: string) {
  return <td class={kind}>{content}</td>;
}

// ---- Cancelling many tasks: those of a function, of a cell, or all that pass the filter; asked once more before it is done.

/** @param id of the button
 * @param only a function; "" for all */
export function cancelMany(label: string, id: string, filter: Filter, only: string, state: State) {
  const whom = only ? ` ${only}` : ""; // said to ears; for eyes the row says it
  const about = {
    key: id,
    "data-id": id,
    "data-name": label + whom,
    "data-function": only,
    "data-state": filter.state,
    "data-cell": filter.cell,
    "data-text": filter.text,
  };
  if (state.doubted !== id)
    return button(`${label}…`, { ...about, "data-act": "sure", "aria-label": `${label}${whom}…` });
  return (
    <span class="ask nowrap" key={id}>
      {button("Keep", { ...about, key: "keep", "data-act": "keep" })}{" "}
      {button(label, { ...about, key: "do", "data-act": "cancel-many", class: "urgent", "aria-label": label + whom })}
    </span>
  );
}

// ---- A measured value over the last two minutes as a line, without an axis: the words beside it have the number of now.

const HEIGHT = 16;

/** @param filled down to the ground */
function shapeOf(levels: Levels, filled: boolean = false) {
  const points = levels.map((level, at) =>
    level == null ? null : `${at} ${Math.round(10 * (HEIGHT - 1 - level * (HEIGHT - 2))) / 10}`,
  );
  let path = "";
  let began = -1;
  points.forEach((point, at) => {
    if (point != null) path += (points[at - 1] == null ? "M" : "L") + point;
    if (point != null && points[at - 1] == null) began = at;
    if (point != null && points[at + 1] == null && filled) path += `L${at} ${HEIGHT}L${began} ${HEIGHT}Z`;
  });
  return path;
}

/** @param lines one over the other */
export function spark(lines: { levels: Levels; kind: string }[], props: Record<string, any> = {}) {
  const steps = Math.max(2, ...lines.map(({ levels }) => levels.length));
  return (
    <svg class="spark" viewBox={`0 0 ${steps - 1} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" {...props}>
      {lines
        .map(({ levels, kind }) => [
          kind === "area" && <path key="under" class="under" d={shapeOf(levels, true)} />,
          <path key={kind} class={kind} d={shapeOf(levels)} />,
        ])
        .flat()}
    </svg>
  );
}

/** "between 20 % and 97 % in the last two minutes"; "" where nothing was measured. */
export function between(levels: Levels | undefined) {
  const known = (levels ?? []).filter((level) => level != null);
  const percent = (level: number) => `${Math.round(100 * level)} %`;
  return known.length > 1
    ? `between ${percent(Math.min(...known))} and ${percent(Math.max(...known))} in the last two minutes`
    : "";
}

// ---- Who holds many devices: a bar in the holders' colours, and their names beside these colours.

const GROUPS = 8; // names of holders that are told

/** "Held by ■ shard × 128, ■ Model × 2"; of few devices: "■ shard 0, 6 · ■ Model 1". */
export function heldWords(
  { heldBy, deviceTotal, devicesMore, devicesFree, devicesTaken, devicesGone, ended }: Scene,
  few?: boolean,
) {
  if (ended) return [];
  const names = heldBy
    .slice(0, GROUPS)
    .map(({ name, number, colour, where }, at) => [
      at > 0 && (few ? " · " : ", "),
      <span key={name} class="key">
        <span class={`swatch c${colour}`} aria-hidden="true" />
        {"\u00a0"}
        {few ? [nameOf(name), ` ${numbers(where)}`] : `${name}${number > 1 ? ` × ${number}` : ""}`}
      </span>,
    ])
    .flat();
  const more = heldBy.length > GROUPS && ` and ${heldBy.length - GROUPS} more`;
  const others = [
    devicesMore && `of ${deviceTotal} shown`,
    devicesFree && `${devicesFree} free`,
    devicesTaken && `${devicesTaken} taken by others`,
    devicesGone && `${devicesGone} gone`,
  ]
    .filter(Boolean)
    .map((words) => ` · ${words}`)
    .join("");
  return [names.length ? !few && "Held by " : "Nobody holds one", ...names, more, others];
}

/** ["GPU 0", "GPU 6"] is "0, 6": the first line says what they are. */
function numbers(labels: string[]) {
  return labels.map((label) => label.replace(/^\S+ /, "")).join(", ");
}

/** What a bar shows of a device that others have. */
export function takenBar({ state }: DeviceView) {
  return state === "taken" && <span class="part taken" />;
}

export function shareBar({ heldBy, deviceTotal, devicesMore, devicesTaken, devicesGone }: Scene) {
  const part = (kind: string, share: number) => (
    <span
      key={kind}
      class={`part ${kind}`}
      style={`width:${Math.round((1000 * share) / Math.max(deviceTotal + devicesMore - devicesGone, 1)) / 10}%`}
    />
  );
  return (
    <span class="bar" aria-hidden="true">
      {heldBy.map(({ colour, share }) => part(`c${colour}`, share))}
      {devicesTaken > 0 && part("taken", devicesTaken)}
    </span>
  );
}
