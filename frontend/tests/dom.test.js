// Drawing changes only what differs. The page is a small stand-in with the few functions that drawing uses.

import assert from "node:assert/strict";
import { test } from "node:test";

import { draw, h } from "../src/cockpit/dom.js";
import { Element } from "./page.js";

test("a tree is drawn, text as text", () => {
  const root = new Element("div");
  draw(root, [h("p", { class: "a", hidden: false }, "<b>", h("b", {}, "x"))]);
  assert.equal(root.html(), '<p class="a">&lt;b&gt;<b>x</b></p>');
});

test("rows keep their elements when others come and go", () => {
  const root = new Element("ul");
  const list = (...names) => draw(root, names.map((name) => h("li", { key: name }, name)));
  list("a", "b", "c");
  const [a, , c] = root.childNodes;
  list("c", "new", "a");
  assert.equal(root.html(), "<li>c</li><li>new</li><li>a</li>");
  assert.equal(root.childNodes[0], c);
  assert.equal(root.childNodes[2], a);
});

test("an element that goes does not move those after it", () => {
  const root = new Element("ul");
  const list = (...names) => draw(root, names.map((name) => h("li", { key: name }, name)));
  list("a", "b", "c", "d");
  Element.changes = 0;
  list("b", "d");
  assert.equal(root.html(), "<li>b</li><li>d</li>");
  assert.equal(Element.changes, 2); // two go, and nothing is put into another place: that would take its focus
});

test("an element that takes another one's place does not move those after it", () => {
  const root = new Element("div");
  draw(root, [h("p", { key: "old" }), h("ul", { key: "list" })]);
  Element.changes = 0;
  draw(root, [h("b", { key: "new" }), h("ul", { key: "list" })]);
  assert.equal(root.html(), "<b></b><ul></ul>");
  assert.equal(Element.changes, 2); // one goes, one comes
});

test("nothing is touched when nothing differs", () => {
  const root = new Element("div");
  const shapes = () => [h("p", { class: "x" }, "one"), h("p", { key: "k" }, "two")];
  draw(root, shapes());
  Element.changes = 0;
  draw(root, shapes());
  assert.equal(Element.changes, 0);
});

test("an attribute that is gone is removed", () => {
  const root = new Element("div");
  draw(root, [h("button", { disabled: true }, "x")]);
  assert.equal(root.html(), '<button disabled="">x</button>');
  draw(root, [h("button", { disabled: false }, "x")]);
  assert.equal(root.html(), "<button>x</button>");
});

test("a number and its unit stay on one line; code and printed lines stay as they are", () => {
  const root = new Element("div");
  const words = ["waits 2 s, took 1 min 05 s", "34 % of 80 GiB", "4 GPUs and 1 CPU", "3 sets", "2 shards"];
  draw(root, words.map((each) => h("p", {}, each)));
  assert.deepEqual(root.childNodes.map((each) => each.html().replace(/<\/?p>/g, "")), [
    "waits 2\u00a0s, took 1\u00a0min 05\u00a0s", "34\u00a0% of 80\u00a0GiB", "4\u00a0GPUs and 1\u00a0CPU", "3 sets", "2 shards",
  ]);
  draw(root, [h("pre", {}, h("span", {}, "it took 2 s\n")), h("pre", {}, "for 3 h"), h("code", {}, "x = 2 % s")]);
  assert.match(root.html(), /it took 2 s\n.*for 3 h.*x = 2 % s/s);
  const before = Element.changes;
  draw(root, [h("pre", {}, h("span", {}, "it took 2 s\n")), h("pre", {}, "for 3 h"), h("code", {}, "x = 2 % s")]);
  assert.equal(Element.changes, before);
});
