// Drawing changes only what differs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { draw, h } from "../src/components/tree.ts";
import { changes, html, page } from "./page.js";

const list = (...names) => names.map((name) => h("li", { key: name }, name));

test("a tree is drawn, text as text", () => {
  assert.equal(
    html(page([h("p", { class: "a", hidden: false }, "<b>", h("b", {}, "x"))])),
    '<p class="a">&lt;b&gt;<b>x</b></p>',
  );
});

test("rows keep their elements when others come and go", () => {
  const root = page(list("a", "b", "c"), "ul");
  const [a, , c] = root.childNodes;
  draw(root, list("c", "new", "a"));
  assert.equal(html(root), "<li>c</li><li>new</li><li>a</li>");
  assert.equal(root.childNodes[0], c);
  assert.equal(root.childNodes[2], a);
});

test("an element that goes does not move those after it", () => {
  const root = page(list("a", "b", "c", "d"), "ul");
  assert.equal(
    changes(root, () => draw(root, list("b", "d"))),
    2,
  ); // two go, and nothing is put into another place: that would take its focus
  assert.equal(html(root), "<li>b</li><li>d</li>");
});

test("an element that takes another one's place does not move those after it", () => {
  const root = page([h("p", { key: "old" }), h("ul", { key: "list" })]);
  assert.equal(
    changes(root, () => draw(root, [h("b", { key: "new" }), h("ul", { key: "list" })])),
    2,
  ); // one goes, one comes
  assert.equal(html(root), "<b></b><ul></ul>");
});

test("nothing is touched when nothing differs", () => {
  const described = () => [h("p", { class: "x" }, "one"), h("p", { key: "k" }, "two")];
  const root = page(described());
  assert.equal(
    changes(root, () => draw(root, described())),
    0,
  );
});

test("an attribute that is gone is removed", () => {
  const root = page([h("button", { disabled: true, "data-id": "a", "aria-label": "b" }, "x")]);
  assert.equal(html(root), '<button disabled="" data-id="a" aria-label="b">x</button>');
  draw(root, [h("button", { disabled: false, "data-id": undefined, "aria-label": null }, "x")]);
  assert.equal(html(root), "<button>x</button>");
});

test("a field shows what is described also after the person has typed", () => {
  const field = () => [h("input", { value: "described" })];
  const root = page(field());
  root.firstChild.value = "typed";
  draw(root, field());
  assert.equal(root.firstChild.value, "described");
});

test("a number and its unit stay on one line; code and printed lines stay as they are", () => {
  const said = ["waits 2 s, took 1 min 05 s", "34 % of 80 GiB", "4 GPUs and 1 CPU", "3 sets", "2 shards"];
  assert.deepEqual(
    [...page(said.map((each) => h("p", {}, each))).childNodes].map((each) => each.textContent),
    [
      "waits 2\u00a0s, took 1\u00a0min 05\u00a0s",
      "34\u00a0% of 80\u00a0GiB",
      "4\u00a0GPUs and 1\u00a0CPU",
      "3 sets",
      "2 shards",
    ],
  );
  const code = () => [
    h("pre", {}, h("span", {}, "it took 2 s\n")),
    h("pre", {}, "for 3 h"),
    h("code", {}, "x = 2 % s"),
  ];
  const root = page(code());
  assert.match(html(root), /it took 2 s\n.*for 3 h.*x = 2 % s/s);
  assert.equal(
    changes(root, () => draw(root, code())),
    0,
  );
});
