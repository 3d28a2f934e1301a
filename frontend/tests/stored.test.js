// The list of stored runs, and runs beside each other.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

import { Window } from "happy-dom";

import { parametersOf, smoothed, valueAt } from "../src/runs/compared.tsx";
import { showStored } from "../src/runs/stored.tsx";

const run = (name, more = {}) => ({
  name,
  kind: "run",
  path: `/home/ana/nbaccel_results/${name}`,
  state: "finished",
  started_at: 1000,
  ended_at: 1065,
  reports: 3,
  metrics: { loss: 0.25, timestamp: 7 },
  config: { lr: 0.1 },
  ...more,
});
const RUNS = [
  run("newest", { state: "running" }),
  run("broken", { state: "failed", error: "ValueError: no <b>room</b>\nat all", metrics: {} }),
  run("sweep", { kind: "experiment", trials: 4, trials_ended: 3, metric: "loss", config: { lr: 0.5 } }),
];
const curve = (...values) => ({ name: "loss", points: values.map((value, at) => [at, 10 * at, value]) });
const COMPARED = [
  run("newest", { curves: [curve(1, 0.5, 0.25)], config: { lr: 0.1, net: { size: 3 }, seed: 7 } }),
  run("sweep", { curves: [curve(2, 1)], config: { lr: 0.5, net: { size: 4 }, seed: 7 } }),
];

const trial = (name, lr, ...values) =>
  run(name, {
    kind: "trial",
    path: `/home/ana/sweep/a_${name}`,
    state: "pruned",
    config: { lr },
    curves: [curve(...values)],
  });
const TRIALS = [trial("00001", 0.1, 1, 0.5), trial("00000", 0.5, 3, 2, 1)];

/** The view over these runs, what was asked of the server, and ways to act on it. */
async function shown(given = {}) {
  const { document, Event } = new Window();
  const place = document.createElement("div");
  document.body.append(place);
  const asked = [];
  let runs = RUNS;
  const end = showStored(place, {
    list: async (experiment) =>
      experiment ? { runs: experiment === "sweep" ? TRIALS : [], total: 2 } : { runs, total: runs.length },
    curves: async (names) => {
      asked.push(["curves", ...names]);
      return [...COMPARED.filter((each) => names.includes(each.name)), ...TRIALS];
    },
    note: async (name, text) => {
      asked.push(["note", name, text]);
      runs = runs.map((each) => (each.name === name ? { ...each, note: text } : each));
    },
    remove: async (name) => {
      asked.push(["remove", name]);
      runs = runs.filter((each) => each.name !== name);
    },
    ...given,
  });
  const settle = () => wait(0);
  await settle();
  const named = (label) => place.querySelector(`[aria-label="${label}"]`);
  return {
    place,
    asked,
    end,
    names: () => [...place.querySelectorAll("tr[data-run]")].map((row) => row.dataset.run),
    text: () => place.textContent.replaceAll("\u00a0", " "),
    async click(label) {
      const found =
        named(label) ?? [...place.querySelectorAll("button")].find((each) => each.textContent.trim() === label);
      found.click();
      await settle();
    },
    async choose(label) {
      const box = named(label);
      box.checked = !box.checked;
      box.dispatchEvent(new Event("change", { bubbles: true }));
      await settle();
    },
    async type(selector, value, event) {
      const field = place.querySelector(selector);
      field.value = value;
      field.dispatchEvent(new Event(event, { bubbles: true }));
      await settle();
    },
  };
}

test("the list has each run with its state, how far it came, its metrics and why it failed", async () => {
  const view = await shown();
  assert.deepEqual(view.names(), ["newest", "broken", "sweep"]);
  const rows = [...view.place.querySelectorAll("tr[data-run]")].map((row) => row.textContent.replaceAll("\u00a0", " "));
  assert.match(rows[0], /● running.*3 reports.*loss 0.25 with lr 0.1/);
  assert.match(rows[1], /✕ failed.*1 min 05 s.*ValueError: no <b>room<\/b>/);
  assert.match(rows[2], /experiment.*3 of 4 trials ended.*loss 0.25 with lr 0.5/);
  assert.match(view.text(), /3 of 3 runs/);
  view.end();
  assert.equal(view.place.childNodes.length, 0);
});

test("runs are filtered by state and by words of their metrics and parameters", async () => {
  const view = await shown();
  await view.type("input[type=search]", "LR 0.5", "input");
  assert.deepEqual(view.names(), ["sweep"]);
  await view.type("input[type=search]", "", "input");
  await view.type("select", "failed", "change");
  assert.deepEqual(view.names(), ["broken"]);
  await view.type("input[type=search]", "no such", "input");
  assert.match(view.text(), /No run passes the filter/);
});

test("a run is deleted after a question, but none that is under way, and not by who may only look", async () => {
  const view = await shown();
  assert.equal(view.place.querySelector('[aria-label="Delete newest"]'), null);
  await view.click("Delete broken");
  await view.click("Keep broken");
  assert.deepEqual(view.asked, []);
  await view.click("Delete broken");
  await view.click("Delete it: broken with its checkpoints");
  assert.deepEqual(view.asked, [["remove", "broken"]]);
  assert.deepEqual(view.names(), ["newest", "sweep"]);
  assert.match(view.text(), /Deleted broken\./);
  const looking = await shown({ remove: undefined });
  assert.equal(looking.place.querySelector('[aria-label^="Delete"]'), null);
});

test("a run's details have its note, which is written there and begins in the list", async () => {
  const view = await shown();
  const details = () => view.place.querySelector(".details")?.textContent.replaceAll("\u00a0", " ");
  await view.click("Details of broken");
  assert.match(details(), /ValueError: no <b>room<\/b>.*at all.*Config: lr 0.1.*nbaccel_results\/broken/s);
  await view.type("textarea", "too few <b>workers</b>\nsee the log", "input");
  assert.match(view.place.querySelector(".details").textContent, /34 of 4000 characters, not saved/);
  await view.click("Save the note");
  assert.deepEqual(view.asked, [["note", "broken", "too few <b>workers</b>\nsee the log"]]);
  assert.match(view.text(), /Saved the note of broken\./);
  const row = view.place.querySelector('[data-run="broken"]');
  assert.match(row.textContent, /too few <b>workers<\/b>/);
  assert.equal(row.textContent.includes("see the log"), false);
  await view.type("input[type=search]", "see the log", "input");
  assert.deepEqual(view.names(), ["broken"]);
  await view.click("Details of broken");
  assert.equal(details(), undefined);
});

test("a note that is not saved stays in its field, and who may only look reads it", async () => {
  const refused = await shown({ note: () => Promise.reject(new Error("The folder of sweep cannot be written.")) });
  await refused.click("Details of sweep");
  await refused.type("textarea", "unsaved", "input");
  await refused.click("Save the note");
  assert.match(refused.text(), /The folder of sweep cannot be written/);
  await refused.click("Details of sweep");
  await refused.click("Details of sweep");
  assert.equal(refused.place.querySelector("textarea").value, "unsaved");
  const noted = [run("noted", { note: "first line\nsecond line" })];
  const looking = await shown({ note: undefined, list: async () => ({ runs: noted, total: 1 }) });
  await looking.click("Details of noted");
  assert.equal(looking.place.querySelector("textarea"), null);
  assert.match(looking.place.querySelector(".details").textContent, /first line\nsecond line/);
});

test("what the server refuses stands below the list, which stays", async () => {
  const view = await shown({ remove: () => Promise.reject(new Error("sweep is under way: stop it first.")) });
  await view.click("Delete sweep");
  await view.click("Delete it: sweep with its checkpoints");
  assert.match(view.place.querySelector('[role="status"]').textContent, /sweep is under way/);
  assert.equal(view.names().length, 3);
  const none = await shown({ list: async () => ({ runs: [], total: 0 }) });
  assert.match(none.text(), /No run is stored yet/);
});

test("chosen runs are overlaid, with their last values and the parameters that differ", async () => {
  const view = await shown();
  await view.choose("Choose sweep to compare");
  assert.equal(view.text().includes("Compare"), false);
  await view.choose("Choose newest to compare");
  await view.click("Compare 2 runs");
  assert.deepEqual(view.asked, [["curves", "sweep", "newest"]]);
  assert.equal(view.place.querySelectorAll(".compare svg .curve-line").length, 2);
  assert.match(view.place.querySelector(".values").textContent.replaceAll("\u00a0", " "), /sweep 1.*newest 0.25/);
  const differing = view.place.querySelector(".compare table").textContent;
  assert.match(differing, /lr0\.50\.1/);
  assert.match(differing, /net\/size43/);
  assert.equal(differing.includes("seed"), false);
  assert.match(view.text(), /1 parameter the same in all of them/);
  await view.click("By time");
  assert.match(view.place.querySelector(".compare svg").textContent.replaceAll("\u00a0", " "), /0 s5 s10 s15 s20 s/);
  await view.choose("Choose sweep to compare");
  assert.equal(view.place.querySelector(".compare"), null);
});

test("the trials of an experiment are listed, and compared as runs are", async () => {
  const view = await shown();
  assert.equal(view.place.querySelector('[aria-label="Trials of newest"]'), null);
  await view.choose("Choose newest to compare");
  await view.click("Trials of sweep");
  assert.deepEqual(view.names(), ["sweep/a_00001", "sweep/a_00000"]);
  assert.match(view.text(), /2 of 2 trials/);
  assert.match(
    view.place.querySelector("tr[data-run]").textContent.replaceAll("\u00a0", " "),
    /00001.*⊘ pruned.*lr 0.1/,
  );
  await view.choose("Choose 00000 to compare");
  await view.choose("Choose 00001 to compare");
  await view.click("Compare 2 trials");
  assert.deepEqual(view.asked, [["curves", "sweep/a_00000", "sweep/a_00001"]]);
  assert.equal(view.place.querySelectorAll(".compare svg .curve-line").length, 2);
  assert.match(view.place.querySelector(".compare svg").getAttribute("aria-label"), /loss of 2 trials/);
  assert.match(view.place.querySelector(".compare table").textContent, /lr0\.50\.1/);
  await view.click("Details of 00001");
  assert.equal(view.place.querySelector("textarea"), null);
  assert.equal(view.place.querySelector('[aria-label^="Delete"]'), null);
  await view.click("Back to all runs");
  assert.deepEqual(view.names(), ["newest", "broken", "sweep"]);
  assert.equal(view.place.querySelector(".compare"), null);
});

test("a smoothed line begins at the first value, and a place has the value of the nearest report", () => {
  const points = [
    [0, 1],
    [1, 0],
    [5, 0],
  ];
  assert.deepEqual(
    smoothed(points).map(([, value]) => Math.round(100 * value) / 100),
    [1, 0.8, 0.64],
  );
  assert.deepEqual(
    [null, 0.4, 0.6, 4].map((at) => valueAt([[0, 7], [1, 8], [5, 9]], at)), // prettier-ignore
    [9, 7, 8, 9],
  );
});

test("what a journal could not hold is its text among the parameters", () => {
  const { differs } = parametersOf([
    run("a", { config: { model: { __repr__: "<A>" } } }),
    run("b", { config: { model: { __repr__: "<B>" } } }),
  ]);
  assert.deepEqual(differs, [{ name: "model", values: ["<A>", "<B>"] }]);
});
