// Bundles the sources into the files that Python sends to pages: `node build.js [--check]`.
//
//   src/cockpit/widget.js ──► ../nbaccel/notebook/static/cockpit.js   the widget: first load
//   src/past/past.js      ──► ../nbaccel/notebook/static/past.js      sent when a view of the past is opened
//   src/runs/runs.js      ──► ../nbaccel/notebook/static/runs.js      sent with the first run
//
// A later module is a function of the widget's parts, so that no code is sent twice. The files are committed: installing
// needs no Node. `--check` says which of them is not what the sources make.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { PARTS } from "./src/cockpit/second.js";

const MODULES = [
  { file: "cockpit", entry: "src/cockpit/widget.js", mostBytes: 110_000 },
  { file: "past", entry: "src/past/past.js", returned: "viewOfPast", mostBytes: 60_000 },
  { file: "runs", entry: "src/runs/runs.js", returned: "viewOfRuns", mostBytes: 60_000 },
];

/** What a later module imports of the cockpit, or of Preact, are parts that it is given; esbuild refuses another name. */
const parts = {
  name: "parts",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(\.\.\/cockpit\/|preact)/ }, ({ path }) => ({ path, namespace: "parts" }));
    onLoad({ filter: /.*/, namespace: "parts" }, () => ({ contents: `export const { ${Object.keys(PARTS)} } = parts;` }));
  },
};

/** @param {typeof MODULES[number]} module @returns {Promise<string>} the text of its file */
async function bundled({ entry, returned, mostBytes }) {
  const head = `// nbaccel's front end, built from frontend/${entry} by "npm run build". Change it there.\n`;
  const whole = { format: "esm", banner: { js: head } };
  const later = {
    format: "iife", globalName: "module", plugins: [parts],
    banner: { js: `${head}export default function (parts) {` }, footer: { js: `return module.${returned}; }` },
  };
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    mangleProps: /^innerHTML$/, // Preact cannot make HTML of a text
    bundle: true, minify: true, write: false, charset: "utf8", target: "es2022", legalComments: "none",
    .../** @type {any} */ (returned ? later : whole),
  });
  const [{ text, contents }] = outputFiles;
  if (contents.length > mostBytes) throw new Error(`${entry} makes ${contents.length} bytes, more than ${mostBytes}.`);
  return text;
}

for (const module of MODULES) {
  const file = new URL(`../nbaccel/notebook/static/${module.file}.js`, import.meta.url);
  const text = await bundled(module);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(`${fileURLToPath(file)} is not what its sources make: npm --prefix frontend run build`);
    process.exitCode = 1;
  }
}
