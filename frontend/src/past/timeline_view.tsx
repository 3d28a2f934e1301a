// The Timeline view: lanes of bars as SVG below an axis that stays in sight; the cells as bands, and a strip of how many waited.

import { button, empty, nameOf } from "../components/parts";
import type { Shape } from "../components/tree";
import type { Scene } from "../model/scene";
import { LAST_MINUTE, WHOLE_RUN, type State } from "../model/state";
import { PAST_STYLE } from "./look";
import type { Bar, Timeline } from "./timeline";

/** from seconds since the left edge to pixels */
type Place = (seconds: number) => number;

const TRACK = 20;
const GAP = 8;
const DEPTH = 28; // height of the strip
const BAND = 15;
const AXIS = 18;
const MOST_NAMES = 8;
const LETTER = 6.6; // pixels, of a lane's name
const GUTTER_STEP = 16; // pixels: the gutter does not move with every letter
const MOST_GUTTER = 190;

export function drawTimeline({ timeline, ended }: Scene, state: State) {
  if (!timeline) return [];
  const choice = (window: number, label: string) =>
    button(label, {
      "data-act": "window",
      "data-window": window,
      "aria-pressed": !state.range && state.window === window,
    });
  const zoom = (sign: string, by: number, label: string) =>
    button(sign, { "data-act": "zoom", "data-by": by, "aria-label": label, title: label });
  const tools = (
    <div class="filters" key="tools" role="group" aria-label="Timeline">
      {choice(LAST_MINUTE, "Last minute")}
      {choice(WHOLE_RUN, "Whole run")}
      {zoom("+", 0.5, "Zoom in")}
      {zoom("−", 2, "Zoom out")}
      {state.range && button("Follow", { key: "follow", "data-act": "follow", title: "Show what happens now" })}
      {button("Save as Chrome trace", { key: "trace", "data-act": "trace" })}
    </div>
  );
  const ran = timeline.lanes.some((lane) => lane.bars.length) || timeline.depth.most > 0;
  if (!ran && !state.range && (ended || state.window === WHOLE_RUN))
    return [
      empty(
        "No task has run yet. A lane for each device is drawn here, with a bar for each run of a task:",
        "f.remote()",
      ),
    ];
  const hint = (
    <p class="quiet small" key="hint">
      Drag to look closer, Ctrl and the wheel or + and − to zoom, arrow keys to move, 0 to go back.
    </p>
  );
  const quiet = !ran && (
    <p class="quiet" key="quiet">
      {"Nothing ran in this time. A call makes a bar here: "}
      <code>f.remote()</code>
    </p>
  );
  return [
    <style key="look">{PAST_STYLE}</style>,
    tools,
    quiet,
    ...(ran || state.range ? [lanes(timeline, state), names(timeline), hint, hoverCard(timeline, state)] : []),
  ];
}

/** Whose bars these are, those with the most runs first. */
function names({ lanes: all }: Timeline) {
  const runs: Map<string, { runs: number; colour: number }> = new Map();
  for (const bar of all.flatMap((lane) => lane.bars)) {
    runs.set(bar.of, {
      runs: (runs.get(bar.of)?.runs ?? 0) + bar.number,
      colour: runs.get(bar.of)?.colour ?? bar.colour,
    });
  }
  const named = [...runs].sort((a, b) => b[1].runs - a[1].runs).slice(0, MOST_NAMES);
  return (
    <p class="line small" key="names">
      {named.map(([name, { runs: number, colour }]) => (
        <span key={name} class="nowrap">
          <span class={`swatch c${colour}`} aria-hidden="true" /> {nameOf(name)}
          {number > 1 && ` × ${number}`}
        </span>
      ))}
    </p>
  );
}

/** The room for the longest name, on a narrow page for the beginning of it. */
function gutter({ lanes: all, depth }: Timeline, width: number) {
  const longest = Math.max(
    ...all.map(({ label }) => label.length),
    ...(depth.most > 0 ? [depth.words.length] : []),
    "cells".length,
  );
  return Math.min(GUTTER_STEP * Math.ceil((longest * LETTER + 14) / GUTTER_STEP), MOST_GUTTER, Math.round(0.3 * width));
}

function lanes(timeline: Timeline, state: State) {
  const width = state.room;
  const left = gutter(timeline, width);
  state.lanes = { width, left, right: width - 10 };
  const scale = (width - 10 - left) / timeline.seconds;
  const x = (seconds: number) => round(left + seconds * scale);
  let top = 4;
  const drawn: Shape[] = [];
  let node = "" as string | undefined;
  for (const lane of timeline.lanes) {
    if (lane.node && lane.node !== node) {
      drawn.push(
        <text key={`node ${lane.node}`} x={4} y={top + BAND / 2} class="tick-label" dominant-baseline="central">
          {lane.node}
          <title>{lane.nodeTitle}</title>
        </text>,
      );
      top += BAND;
    }
    node = lane.node;
    const y = top;
    const height = lane.tracks * TRACK;
    top += height + GAP;
    drawn.push(
      <g key={lane.key}>
        {laneLabel(lane.label, left, y + height / 2)}
        <line x1={left} x2={width - 10} y1={y + height + GAP / 2} y2={y + height + GAP / 2} class="rule" />
        {lane.bars.map((bar) => barShape(bar, x, y))}
      </g>,
    );
  }
  if (timeline.depth.most > 0) {
    drawn.push(strip(timeline, x, left, top));
    top += DEPTH + GAP;
  }
  const ticks = timeline.ticks.map((tick) => (
    <line key={tick.label} x1={x(tick.at)} x2={x(tick.at)} y1={0} y2={top} class="tick" />
  ));
  return (
    <div class="scroll" key="lanes" tabindex={0} role="region" aria-label="Timeline">
      {axis(timeline, x, left, width)}
      <svg viewBox={`0 0 ${width} ${top}`} role="img" aria-label={timeline.words} class="timeline">
        {ticks}
        {drawn}
      </svg>
    </div>
  );
}

/** Ticks and the cells' bands, which stay in sight above many lanes. */
function axis({ ticks, bands }: Timeline, x: Place, left: number, width: number) {
  const tracks = Math.max(0, ...bands.map((band) => band.track + 1));
  const height = AXIS + tracks * BAND;
  const labels = apartFrom(ticks, x).map((tick) => (
    <text
      key={tick.label}
      x={Math.min(x(tick.at), width - 10)}
      y={12}
      class="tick-label"
      text-anchor={tick.label === "now" ? "end" : "middle"}
    >
      {tick.label}
    </text>
  ));
  const drawn = bands.map((band) => {
    const [from, y] = [x(band.from), AXIS + band.track * BAND];
    const wide = Math.max(2, round(x(band.to) - from));
    return (
      <g key={band.label}>
        <rect x={from} y={y} width={wide} height={BAND - 2} rx={2} class="band">
          <title>{`cell ${band.label}`}</title>
        </rect>
        {wide > 7 * band.label.length + 4 && (
          <text x={from + 4} y={y + BAND / 2 - 1} class="tick-label" dominant-baseline="central">
            {band.label}
          </text>
        )}
      </g>
    );
  });
  return (
    <div class="axis" key="axis">
      <svg viewBox={`0 0 ${width} ${height}`} class="timeline" aria-hidden="true">
        {tracks > 0 && laneLabel("cells", left, AXIS + (tracks * BAND) / 2 - 1)}
        {labels}
        {drawn}
      </svg>
    </div>
  );
}

/** The ticks whose labels have room beside each other, from the last moment on. */
function apartFrom(ticks: Timeline["ticks"], x: Place) {
  if (ticks.length < 2) return ticks;
  const room = 7 * Math.max(...ticks.map(({ label }) => label.length)) + 4;
  const every = Math.ceil(room / Math.max(1, x(ticks[0].at) - x(ticks[1].at)));
  return ticks.filter((_, index) => index % every === 0);
}

/** A lane's name, whose end is cut where it does not fit. */
function laneLabel(label: string, left: number, y: number) {
  const most = Math.floor((left - 12) / LETTER);
  const short = label.length > most ? `${label.slice(0, most - 1)}…` : label;
  return (
    <text x={left - 10} y={y} class="lane" text-anchor="end" dominant-baseline="central">
      {short}
      {short !== label && <title>{label}</title>}
    </text>
  );
}

/** How many waited, as steps. */
function strip({ depth, seconds }: Timeline, x: Place, left: number, top: number) {
  const y = (waiting: number) => round(top + DEPTH - (waiting / depth.most) * (DEPTH - 4));
  const steps = depth.steps.map(({ at, waiting }) => `H${x(at)}V${y(waiting)}`).join("");
  return (
    <g key="depth">
      {laneLabel("waiting", left, top + DEPTH / 2 - 6)}
      <text x={left - 10} y={top + DEPTH / 2 + 8} class="tick-label" text-anchor="end" dominant-baseline="central">
        {depth.words}
      </text>
      <path class="depth" d={`M${x(0)} ${y(0)}${steps}H${x(seconds)}V${y(0)}Z`}>
        <title>{`${depth.words} waited`}</title>
      </path>
    </g>
  );
}

function barShape(bar: Bar, x: Place, y: number) {
  const left = x(bar.from);
  const width = Math.max(1.5, round(x(bar.to) - left));
  const top = y + bar.track * TRACK;
  const name = bar.state === "failed" ? `✕ ${bar.name}` : bar.name;
  const room = Math.floor((width - 10) / 7); // characters
  const shown = name.length <= room ? name : room > 4 ? `${name.slice(0, room - 1)}…` : "";
  return (
    <g key={bar.key}>
      <rect
        x={left}
        y={top + 1}
        width={width}
        height={TRACK - 2}
        rx={2}
        class={`run c${bar.colour} ${bar.state}`}
        data-bar={bar.key}
      />
      {shown && (
        <text x={left + 6} y={top + TRACK / 2} class={`bar-name c${bar.colour}`} dominant-baseline="central">
          {shown}
        </text>
      )}
    </g>
  );
}

/** What is known of the bar under the pointer. */
function hoverCard({ lanes: all }: Timeline, { hover }: State) {
  const lane = hover.bar ? all.find((each) => each.bars.some((bar) => bar.key === hover.bar)) : null;
  const bar = lane?.bars.find((each) => each.key === hover.bar);
  if (!lane || !bar) return null;
  return (
    <div class="hover" key="hover" style={hover.style}>
      <div>
        <span class={`swatch c${bar.colour}`} aria-hidden="true" />
        <span class="name">{bar.name}</span>
      </div>
      {[[lane.node, lane.label].filter(Boolean).join(" · "), ...bar.facts].map((fact) => (
        <div key={fact} class="quiet small">
          {fact}
        </div>
      ))}
    </div>
  );
}

function round(value: number) {
  return Math.round(value * 10) / 10;
}
