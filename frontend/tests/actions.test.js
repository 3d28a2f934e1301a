// Ending what belongs to another notebook, and asking the kernel for what passes a filter.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cancelMany, endButton } from "../src/components/parts.tsx";
import { findKey, finder, foundNow, takeFound } from "../src/model/finding.ts";
import { newState } from "../src/model/state.ts";
import { shapes, words } from "./page.js";

const acts = (shape) =>
  shapes(shape)
    .map((each) => each.props["data-act"])
    .filter(Boolean);

test("one's own task is cancelled by one click, another's only after a question", () => {
  const state = newState(true);
  assert.deepEqual(acts(endButton("cancel", { id: "a", name: "train", owner: "" }, "#1", state)), ["cancel"]);
  const other = { id: "b", name: "train", owner: "b.ipynb" };
  const first = endButton("cancel", other, "#2", state);
  assert.deepEqual([acts(first), words(first)], [["doubt"], "Cancel…"]);
  state.doubted = "b";
  const asked = endButton("cancel", other, "#2", state);
  assert.deepEqual([acts(asked), words(asked)], [["keep", "cancel"], "Keep Cancel it"]);
  state.asked.add("b");
  assert.deepEqual(acts(endButton("cancel", other, "#2", state)), []);
});

test("an actor is killed only after a question, one's own too", () => {
  const state = newState(true);
  const own = { id: "c1", name: "Keeper", owner: "" };
  const first = endButton("kill", own, "#c1", state);
  assert.deepEqual([acts(first), words(first), first.props["aria-label"]], [["doubt"], "Kill…", "Kill Keeper #c1"]);
  state.doubted = "c1";
  const asked = endButton("kill", own, "#c1", state);
  assert.deepEqual([acts(asked), words(asked)], [["keep", "kill"], "Keep Kill it"]);
  assert.deepEqual(
    asked.props.children.filter((each) => each.props).map((each) => each.props["aria-label"]),
    ["Keep Keeper", "Kill it: Keeper"],
  );
  const others = endButton("kill", { ...own, owner: "b.ipynb" }, "#c1", state);
  assert.equal(others.props.children.at(-1).props["aria-label"], "Kill it: Keeper of b.ipynb");
});

test("many tasks are cancelled by a second click that names them", () => {
  const state = newState(true);
  const asked = () => cancelMany("Cancel all", "group/shard", { state: "", cell: "[7]", text: "" }, "shard", state);
  assert.deepEqual([acts(asked()), words(asked())], [["sure"], "Cancel all…"]);
  state.doubted = "group/shard";
  assert.deepEqual([acts(asked()), words(asked())], [["keep", "cancel-many"], "Keep Cancel all"]);
  const last = asked().props.children.at(-1).props;
  assert.deepEqual([last["data-function"], last["data-cell"]], ["shard", "[7]"]);
  assert.equal(last["aria-label"], "Cancel all shard");
});

test("a filter is asked of the kernel when it changes, and only where it is seen", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const sent = [];
  const state = newState(true);
  const { find, end } = finder({ send: (message) => sent.push(message) }, state);
  find();
  assert.equal(sent.length, 0, "nothing is filtered");
  state.filter = { state: "failed", cell: "", text: "" };
  find();
  assert.equal(sent.length, 0, "another tab is open");
  state.tab = "tasks";
  find();
  assert.deepEqual(sent, [{ say: "find", id: state.id, key: findKey(state), filter: state.filter, limit: 200 }]);
  find();
  find();
  assert.equal(sent.length, 1, "the same is asked again in a second");
  context.mock.timers.tick(1000);
  assert.equal(sent.length, 2);
  state.found = { key: "another", tasks: [], total: 0 };
  assert.equal(foundNow(state), null, "the answer to what was asked before");
  state.found = { key: findKey(state), tasks: [], total: 0 };
  assert.equal(foundNow(state), state.found);
  end();
});

test("tasks of an open function are asked for when others come into view, and no more once it is closed", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const sent = [];
  const state = newState(true);
  state.tab = "tasks";
  const { find, moved, end } = finder({ send: (message) => sent.push(message) }, state);
  moved();
  state.open.add("shard");
  state.asks.set("shard", 249).set("closed", 0);
  moved();
  moved();
  const key = JSON.stringify([state.filter, "shard", 249]);
  assert.deepEqual(sent, [
    { say: "find", id: state.id, key, function: "shard", skip: 249, by_state: true, filter: state.filter, limit: 200 },
  ]);
  context.mock.timers.tick(2000);
  assert.equal(sent.length, 1, "nothing has changed");
  find();
  context.mock.timers.tick(1000);
  assert.equal(sent.length, 2, "the cluster has");
  takeFound({ key, tasks: [], total: 7 }, state);
  assert.equal(state.pages.get("shard").skip, 249);
  assert.equal(state.found, null, "no filter was answered");
  state.open.clear();
  moved();
  find();
  context.mock.timers.tick(2000);
  assert.equal(sent.length, 2);
  state.open.add("shard");
  moved();
  assert.equal(sent.length, 3, "it is open again");
  end();
});

test("a failed task whose call is kept has a button that runs it again", () => {
  const state = newState(true);
  const failed = { id: "a", name: "train", owner: "" };
  assert.deepEqual(
    [acts(endButton("retry", failed, "#1", state)), words(endButton("retry", failed, "#1", state))],
    [["retry"], "Retry"],
  );
  assert.deepEqual(acts(endButton("retry", { ...failed, owner: "b.ipynb" }, "#1", state)), ["doubt"]);
});
