// The Devices view: one table row for each device, with a bar in its holders' colours.

import { between, empty, endButton, heldWords, leftOut, nameOf, spark, table, takenBar } from "../components/parts";
import { h } from "../components/tree";
import type { DeviceView, HolderView, MeterView } from "../model/devices";
import type { Lines } from "../model/history";
import type { Scene } from "../model/scene";
import type { State } from "../model/state";

const MOST_ROWS = 8; // devices with a row each; more are tiles

export function drawDevices(scene: Scene, state: State) {
  if (!scene.deviceTotal) {
    return [empty(`${scene.noDevice}${scene.advice && " This counts two logical ones:"}`, scene.advice)];
  }
  if (scene.deviceTotal + scene.devicesMore <= MOST_ROWS)
    return [models(scene), deviceTable(scene.devices, scene, state)];
  return [
    models(scene),
    drawTiles(scene, state),
    leftOut(scene.devicesMore, "device"),
    scene.chosenDevice && deviceTable([scene.chosenDevice], scene, state),
  ];
}

/** What the devices are, said once where they are alike; else each row says it. */
function models({ sameModel, deviceTotal, devices }: Scene) {
  if (!sameModel) return null;
  return <p class="quiet small models" key="models">{`${deviceTotal} × ${devices[0].model}`}</p>;
}

function deviceTable(devices: DeviceView[], scene: Scene, state: State) {
  const measured = devices.some((device) => device.utilisation || device.memory);
  const several = devices.some((device) => device.node);
  const said = scene.sameModel;
  const held = !scene.ended && devices.some((device) => device.holders.length || device.reason);
  const columns = [
    "Device",
    ...(several ? ["Node"] : []),
    scene.ended ? "State" : "In use",
    ...(measured ? ["Load, memory, power"] : []),
    ...(held ? ["Held by"] : []),
  ];
  return table(
    "Devices",
    columns,
    devices.map((device) => deviceLine(device, { several, measured, said, held }, scene, state)),
  );
}

function deviceLine(
  device: DeviceView,
  { several, measured, said, held }: { several: boolean; measured: boolean; said: boolean; held: boolean },
  scene: Scene,
  state: State,
) {
  return (
    <tr key={device.key} data-device={device.label} data-at={device.key}>
      <th scope="row" title={device.title || undefined}>
        <span class="label">{device.label}</span>
        {!said && <span class="quiet small model">{device.model}</span>}
      </th>
      {several && (
        <td class="quiet short" title={device.nodeTitle}>
          {device.node}
        </td>
      )}
      <td class="use">
        {!scene.ended && useBar(device)}
        <span class="nowrap">
          <span class="sign" aria-hidden="true">
            {device.sign}
          </span>
          {` ${device.state}`}
        </span>
      </td>
      {measured && (
        <td class="load" title={device.facts}>
          {meter("utilisation", device, device.utilisation)}
          {meter("memory", device, device.memory)}
          {device.power && meter("power", device, device.power)}
        </td>
      )}
      {held && <td class="holders">{holderList(device, scene, state)}</td>}
    </tr>
  );
}

function useBar(device: DeviceView) {
  const parts = device.holders.map((holder) => (
    <span key={holder.key} class={`part c${holder.colour}`} style={`width:${100 * holder.fraction}%`} />
  ));
  return (
    <div class="bar" role="img" aria-label={`${device.label}: ${device.use}`} title={device.use}>
      {parts}
      {!parts.length && takenBar(device)}
    </div>
  );
}

/** A measured value with its last two minutes; without these as a bar. */
function meter(what: "utilisation" | "memory" | "power", device: DeviceView, value: MeterView) {
  if (!value) return <div class="measure quiet small">{`${what} unknown`}</div>;
  const percent = Math.min(100, Math.max(0, Math.round(value.percent)));
  const name = `${device.label} ${what}`;
  const levels = device.lines?.[what];
  const said = { title: [what, between(levels)].filter(Boolean).join(": ") };
  const drawn = levels ? (
    spark([{ levels, kind: what === "power" ? "line" : "area" }])
  ) : (
    <span class="part" style={`width:${percent}%`} />
  );
  const scale =
    what === "power"
      ? { role: "img" as const, "aria-label": `${name} ${value.text}` }
      : {
          role: "meter" as const,
          "aria-label": name,
          "aria-valuemin": 0,
          "aria-valuemax": 100,
          "aria-valuenow": percent,
          "aria-valuetext": value.text,
        };
  return (
    <div class="measure" {...said}>
      {what === "power" && !levels ? null : (
        <div class={levels ? "trend" : "bar"} {...scale}>
          {drawn}
        </div>
      )}
      <span class="small">{value.text}</span>
    </div>
  );
}

function holderList(device: DeviceView, scene: Scene, state: State) {
  const list = device.holders.map((holder) => holderLine(holder, device, scene, state));
  return [list.length > 0 && <ul>{list}</ul>, device.reason && <span class="quiet">{device.reason}</span>];
}

function holderLine(holder: HolderView, device: DeviceView, scene: Scene, state: State) {
  const { part, cell, owner, age } = holder;
  const facts = [part, cell && `cell ${cell}`].filter(Boolean).join(" · ");
  const whose = owner && [
    cell ? " of " : facts && " · ",
    <span class="cut" title={owner}>
      {owner}
    </span>,
  ];
  return (
    <li key={holder.key} title={holder.pid}>
      <span class={`swatch c${holder.colour}`} aria-hidden="true" />
      <span class="who">
        {nameOf(holder.name)}
        <span class="quiet facts">
          {facts}
          {whose}
          {(facts || owner) && age && " · "}
          {age}
        </span>
      </span>
      {(holder.taskId || holder.actorId) && stop(holder, device, state)}
    </li>
  );
}

function stop(holder: HolderView, device: DeviceView, state: State) {
  const act = holder.taskId ? "cancel" : "kill";
  return endButton(
    act,
    { id: holder.taskId || holder.actorId, name: holder.name, owner: holder.owner },
    `on ${device.label}`,
    state,
  );
}

// ---- Many devices as a grid of tiles: number, share in its holder's colour, utilisation; a click shows the device's row.

const GAP_PX = 4; // between tiles
const IN_LINE = 8; // tiles of a node

function drawTiles(scene: Scene, state: State) {
  const {
    devices,
    devicesBefore,
    deviceTotal,
    tileGroups: { many, first, last, all, most },
  } = scene;
  const inSight = many ? (state.tiles ?? { row: 40, columns: 20 }) : null;
  const lines = (number: number) => Math.ceil(number / (inSight?.columns ?? 1)) * (inSight?.row ?? 0);
  const lined = devices.some((device) => device.lines);
  const tiles = devices.map((device, index) =>
    knownTile(device, inSight ? devicesBefore + index + 1 : 0, deviceTotal, state),
  );
  const listOf = (label: string, shown: any[]) => (
    <ul class={lined ? "tiles lined" : "tiles"} aria-label={label}>
      {shown}
    </ul>
  );
  const around = (shown: any[], tag = "li") => [
    emptyLines(tag, "above", lines(first)),
    ...shown,
    emptyLines(tag, "below", lines(all) - lines(last)),
  ];
  const list = most ? (
    <div class="of-nodes" role="group" aria-label="Devices" style={gridOf(most)}>
      {around(ofNodes(devices, tiles, listOf), "div")}
    </div>
  ) : (
    listOf("Devices", around(tiles))
  );
  return (
    <div key="tiles">
      {inSight ? (
        <div class="scroll of-tiles" role="region" tabindex={0} aria-label={`${deviceTotal} devices`}>
          {list}
        </div>
      ) : (
        list
      )}
      <p class="quiet small" key="holders">
        {heldWords(scene)}
        {lined && " · Lines: load (filled), memory and power (dotted) of the last two minutes."}
      </p>
      {cardOf(
        devices.find((device) => device.key === state.hover.bar),
        state,
      )}
    </div>
  );
}

/** The tiles of each node below its name. */
function ofNodes(devices: DeviceView[], tiles: any[], listOf: (label: string, shown: any[]) => any) {
  const starts = devices.flatMap(({ nodeKey }, at) => (nodeKey === devices[at - 1]?.nodeKey ? [] : [at]));
  return starts.map((start, at) => {
    const { node, nodeTitle, nodeKey } = devices[start];
    return (
      <div key={nodeKey} class="of-node">
        <div class="node quiet small" title={nodeTitle}>
          {node}
        </div>
        {listOf(`Devices of ${node}`, tiles.slice(start, starts[at + 1]))}
      </div>
    );
  });
}

/** How many tiles are in a line, and how many lines the largest node has; of these the same on a narrow page.
 * @param most tiles of a node */
function gridOf(most: number) {
  const [wide, narrow] = [Math.min(most, IN_LINE), Math.min(most, IN_LINE / 2)];
  return `--wide:${wide};--lines:${Math.ceil(most / wide)};--narrow:${narrow};--more:${Math.ceil(most / narrow)}`;
}

/** The place of tiles that are not drawn. */
function emptyLines(tag: string, where: string, height: number) {
  return (
    height > GAP_PX && h(tag, { key: where, class: "gap", "aria-hidden": "true", style: `height:${height - GAP_PX}px` })
  );
}

/** What the tile under the pointer, or with the focus, is about. */
function cardOf(device: DeviceView | undefined, state: State) {
  if (!device) return null;
  const { node, label, model, holders, utilisation, memory, facts, reason } = device;
  const held = holders.map((holder) => (
    <div key={holder.key}>
      <span class={`swatch c${holder.colour}`} />
      <strong>{holder.name}</strong>{" "}
      {[holder.part, holder.cell && `cell ${holder.cell}`, holder.owner, holder.age].filter(Boolean).join(" · ")}
    </div>
  ));
  return (
    <div class="hover" key="hover" style={state.hover.style} aria-hidden="true">
      <strong>{[node, label].filter(Boolean).join(" ")}</strong>
      {` ${device.state}`}
      {held}
      <div class="quiet small">
        {[utilisation?.text, memory?.text, facts, between(device.lines?.utilisation), reason]
          .filter(Boolean)
          .join(" · ") || model}
      </div>
    </div>
  );
}

/** The tile as it was drawn last, if nothing in it has changed.
 * @param place among all, from 1; 0 where all are drawn */
function knownTile(device: DeviceView, place: number, total: number, state: State) {
  const chosen = device.key === state.device;
  const words = tileWords(device);
  const content = [words, chosen, place, device.holders.map((holder) => `${holder.colour}/${holder.fraction}`)].join(
    "\n",
  );
  const known = state.rows.get(`tile ${device.key}`);
  if (known?.content === content && known.of === device.lines) return known.shape;
  const shape = tile(device, words, chosen, place ? { "aria-posinset": place, "aria-setsize": total } : {});
  state.rows.set(`tile ${device.key}`, { content, shape, of: device.lines });
  return shape;
}

function tile(device: DeviceView, words: string, chosen: boolean, places: Record<string, number>) {
  const number = device.label.replace(/^\S+ /, "");
  const parts = device.holders.map((holder) => (
    <span class={`part c${holder.colour}`} style={`width:${100 * holder.fraction}%`} />
  ));
  return (
    <li key={device.key} {...places}>
      <button
        type="button"
        class={device.state === "gone" ? "tile gone" : "tile"}
        data-act="tile"
        data-device={device.key}
        data-bar={device.key}
        aria-expanded={chosen}
        aria-label={words}
      >
        <span class="number">{number}</span>
        <span class="load quiet">{device.state === "gone" ? "gone" : device.utilisation?.text}</span>
        <span class="bar">
          {parts}
          {!parts.length && takenBar(device)}
        </span>
        {device.lines && spark(linesIn(device.lines))}
      </button>
    </li>
  );
}

function linesIn({ utilisation, memory, power }: Lines) {
  return [
    { levels: utilisation, kind: "area" },
    { levels: memory, kind: "line" },
    { levels: power, kind: "dots" },
  ];
}

/** "GPU 3, held: train, cell [7] line 3, 83 %". */
function tileWords(device: DeviceView) {
  const holders = device.holders.map((holder) =>
    [holder.name, holder.part, holder.cell && `cell ${holder.cell}`, holder.owner].filter(Boolean).join(" "),
  );
  const facts = [
    device.utilisation?.text,
    device.memory?.text,
    device.facts,
    between(device.lines?.utilisation),
    device.reason,
  ].filter(Boolean);
  return `${[device.node, device.label].filter(Boolean).join(" ")}, ${device.state}${holders.length ? `: ${holders.join("; ")}` : ""}${facts.map((fact) => `, ${fact}`).join("")}`;
}
