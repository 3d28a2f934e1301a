// Applications of nbaccel.serve: their words, and how they are drawn and stopped.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { sceneOf } from "../src/model/scene.ts";
import { newState } from "../src/model/state.ts";
import { viewOfRuns } from "../src/runs/runs.tsx";
import { curlWords, deploymentWords, replicaWords, requestWords, servedView } from "../src/runs/served.tsx";
import { drawFrame } from "../src/views/frame.tsx";
import { html as drawnHtml, page } from "./page.js";
import { ASKED, NOW, busy } from "./snapshots.js";

const CASES = JSON.parse(readFileSync(new URL("served.json", import.meta.url), "utf8"));

function html(served, { ended = false, state = newState(true), view = "serving" } = {}) {
  const given = viewOfRuns({ served })(NOW, ended);
  return drawnHtml(
    page(
      (view === "brief" ? given.brief(state) : view === "only" ? given.only(state) : given.views.serving(state))
        .flat()
        .filter(Boolean),
    ),
  );
}

const words = (drawn) =>
  drawn
    .replace(/<style.*?<\/style>/s, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ");

test("the words are those of the kernel", () => {
  for (const { record, replicas, requests, deployments, curl } of CASES) {
    assert.equal(replicaWords(record), replicas);
    assert.equal(requestWords(record), requests);
    assert.deepEqual(record.deployments.map(deploymentWords), deployments);
    assert.equal(servedView(record, NOW, false).curl, curl);
  }
  assert.equal(curlWords({ url: "" }), "");
});

test("there is a Serving tab while something is served, and a Runs tab only with runs", () => {
  const tabs = (given) =>
    sceneOf({ ...busy(), runs: viewOfRuns(given) }, ASKED, NOW).tabs.filter(({ id }) =>
      ["runs", "serving"].includes(id),
    );
  assert.deepEqual(
    tabs({ served: CASES.map(({ record }) => record) }).map(({ id, badge }) => [id, badge]),
    [["serving", 2]],
  );
  assert.deepEqual(tabs({ runs: [], served: [] }), []);
});

test("where the chosen tab has gone with its applications, the devices are shown", () => {
  const asked = { ...ASKED, tab: "serving" };
  const scene = sceneOf(busy(), asked, NOW);
  const drawn = drawFrame(scene, { ...newState(true), tab: "serving" });
  assert.match(drawnHtml(page(drawn)), /aria-selected="true"[^>]*data-tab="devices"/);
  assert.deepEqual(scene, sceneOf(busy(), { ...asked, tab: "devices" }, NOW));
});

test("the view shows address, replicas with their places, what is waited for, and the last error", () => {
  const drawn = html([CASES[0].record]);
  const shown = words(drawn);
  for (const said of [
    "http://127.0.0.1:8000/",
    "3 of 4 replicas",
    "◌ waits for 0.5 GPU",
    "starting",
    "0 under way",
    "blocked",
    "ValueError: no",
  ])
    assert.ok(shown.includes(said), said);
  assert.equal(
    servedView(CASES[0].record, NOW, false).deployments[0].replicas[2].place,
    "",
    "one that starts has no place yet",
  );
  assert.ok(drawn.includes('data-act="cancel-run"') && drawn.includes('data-id="served-1/0"'));
});

test("the line for curl is copied as it is without a token, and asked of the kernel that serves with one", () => {
  const copying = (given) => html([{ ...CASES[0].record, ...given }]).match(/<button[^>]*>Copy curl/)?.[0];
  assert.match(copying({ asks_token: false }), /data-act="copy"[^>]*data-text="curl -s http/);
  assert.match(copying({ asks_token: true, owner: "" }), /data-act="curl"[^>]*data-id="served-1"/);
  assert.equal(copying({ asks_token: true, owner: "other" }), undefined);
});

test("an application that has ended, alone or with its cluster, has no Stop and no replica", () => {
  for (const drawn of [html([CASES[1].record]), html([CASES[0].record], { ended: true })]) {
    assert.ok(!drawn.includes("cancel-run") && !drawn.includes("Replicas of"));
  }
});

test("the card of the cluster has a line for it, and its own card nothing else", () => {
  const all = CASES.map(({ record }) => record);
  assert.ok(words(html(all, { view: "brief" })).includes("41.2 requests/s"));
  const own = words(html(all, { view: "only", state: { ...newState(true), only: "served-3" } }));
  assert.ok(own.includes("many") && !own.includes("Diffusion"));
});

test("names and errors of users cannot draw on the page", () => {
  const evil = "<img src=x onerror=alert(1)>";
  const record = structuredClone(CASES[0].record);
  Object.assign(record, { name: evil, why: evil, url: "javascript:alert(1)" });
  Object.assign(record.deployments[0], {
    name: evil,
    message: evil,
    error: { time: 1, type: evil, message: evil, traceback: evil },
  });
  const drawn = html([record]);
  assert.ok(!drawn.includes('href="javascript'));
  assert.ok(!drawn.replace(/="[^"]*"/g, "").includes("<img"));
});
