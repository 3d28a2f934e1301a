// Bundles the sources into the files that Python sends to pages: `npm run build`.
//
//   src/widget/widget.ts ──► ../nbaccel/notebook/static/cockpit.js   the widget: first load
//   src/past/past.ts     ──► ../nbaccel/notebook/static/past.js      sent when a view of the past is opened
//   src/runs/runs.tsx    ──► ../nbaccel/notebook/static/runs.js      sent with the first run
//   src/runs/stored.tsx  ──► ../nbaccel/notebook/static/stored.js    of the page without JupyterLab
//
// A later module is a function of the widget's parts, so that no code is sent twice. The files are committed: installing
// needs no Node. `--check` says which of them is not what the sources make.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build, type BuildOptions, type Plugin } from "esbuild";

import { PARTS } from "./src/widget/modules";

const MODULES = [
  { file: "cockpit", entry: "src/widget/widget.ts", mostBytes: 110_000 },
  { file: "past", entry: "src/past/past.ts", returned: "viewOfPast", mostBytes: 60_000 },
  { file: "stored", entry: "src/runs/stored.tsx", returned: "showStored", mostBytes: 30_000 },
  { file: "runs", entry: "src/runs/runs.tsx", returned: "viewOfRuns", mostBytes: 60_000 },
];

/** What a later module imports of other folders and of Preact are parts that it is given; esbuild refuses another name. */
const parts: Plugin = {
  name: "parts",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(\.\.\/|preact)/ }, ({ path }) => ({ path, namespace: "parts" }));
    onLoad({ filter: /.*/, namespace: "parts" }, () => ({
      contents: `export const { ${Object.keys(PARTS).join()} } = parts;`,
    }));
  },
};

async function bundled({ entry, returned, mostBytes }: (typeof MODULES)[number]): Promise<string> {
  const head = `// nbaccel's front end, built from frontend/${entry} by "npm run build". Change it there.\n`;
  const whole: BuildOptions = { format: "esm", banner: { js: head } };
  const later: BuildOptions = {
    format: "iife",
    globalName: "module",
    plugins: [parts],
    banner: { js: `${head}export default function (parts) {` },
    footer: { js: `return module.${returned}; }` },
  };
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    mangleProps: /^innerHTML$/, // Preact cannot make HTML of a text
    bundle: true,
    minify: true,
    write: false,
    charset: "utf8",
    target: "es2022",
    legalComments: "none",
    ...(returned ? later : whole),
  });
  const [{ text, contents }] = outputFiles ?? [];
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
