// Whether two modules are one program but for the names that it binds itself: `node same_program.js ONE OTHER`.

import { readFileSync } from "node:fs";

import ts from "typescript";

const [one, other] = process.argv.slice(2).map((path) => read(readFileSync(path, "utf8")));
const faults = [];
const [there, back] = [new Map(), new Map()];
const length = Math.max(one.told.length, other.told.length);
for (let at = 0; at < length && faults.length < 5; at += 1) {
  const [a, b] = [one.told[at] ?? ["end", ""], other.told[at] ?? ["end", ""]];
  if (a[0] !== b[0] || (a[0] !== "name" && a[1] !== b[1])) faults.push(`${a.join(" ")} has become ${b.join(" ")}`);
  else if (a[0] === "name") {
    if ((there.get(a[1]) ?? b[1]) !== b[1] || (back.get(b[1]) ?? a[1]) !== a[1]) faults.push(`${a[1]} is ${there.get(a[1])} and ${b[1]}`);
    if (a[1] !== b[1] && !one.bound.has(a[1])) faults.push(`${a[1]} is not the program's own, but has become ${b[1]}`);
    there.set(a[1], b[1]);
    back.set(b[1], a[1]);
  }
}
for (const fault of faults) console.log(fault);
console.log(`${one.told.length} parts compared, ${[...there].filter(([a, b]) => a !== b).length} names are short`);
process.exit(faults.length ? 1 : 0);

/** Everything in a program in its order, and the names that it binds. @param {string} text */
function read(text) {
  const told = [];
  const bound = new Set();
  const source = ts.createSourceFile("program.js", text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS);
  if (source.parseDiagnostics.length) throw new Error(source.parseDiagnostics[0].messageText);
  const name = (node) => told.push(["name", node.text]);
  const visit = (node) => {
    const { parent } = node;
    if (ts.isShorthandPropertyAssignment(node)) {
      told.push(["part", ts.SyntaxKind.PropertyAssignment], ["property", node.name.text]);
      return void name(node.name);
    }
    if (ts.isBindingElement(node) && ts.isObjectBindingPattern(parent) && !node.propertyName && !node.dotDotDotToken) {
      told.push(["part", node.kind], ["property", node.name.text]);
      bound.add(node.name.text);
      name(node.name);
      return void (node.initializer && visit(node.initializer));
    }
    if (ts.isIdentifier(node)) {
      const isProperty = (ts.isPropertyAccessExpression(parent) && parent.name === node) || (ts.isBindingElement(parent) && parent.propertyName === node)
        || ((ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent)) && parent.name === node);
      if (parent.name === node && !isProperty) bound.add(node.text);
      return void told.push([isProperty ? "property" : "name", node.text]);
    }
    if (goesOn(node) || (ts.isVariableDeclarationList(node) && goesOn(parent))) return void ts.forEachChild(node, visit);
    told.push(["part", node.kind]);
    if (ts.isVariableDeclarationList(node)) told.push(["flags", node.flags & ts.NodeFlags.BlockScoped]);
    if (ts.isLiteralExpression(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isTemplateHead(node)) told.push(["text", textOf(node)]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { told, bound };
}

/** What a literal says; the lines of a style sheet are one. */
function textOf(node) {
  const said = node.rawText ?? node.getText();
  const sheet = ts.isTemplateHead(node) ? node : ts.isTemplateMiddleOrTemplateTail(node) ? node.parent.parent.head : node;
  return (sheet.rawText ?? "").startsWith("\n&{") ? said.replace(/(?<=[{};,]|^(?!\n&))\n/g, "") : said;
}

/** Whether a statement declares more of what the one before it declares: `const a = 1; const b = 2;` is `const a = 1, b = 2;`. */
function goesOn(node) {
  const before = ts.isVariableStatement(node) && node.parent.statements?.[node.parent.statements.indexOf(node) - 1];
  const kind = (each) => each.declarationList.flags & ts.NodeFlags.BlockScoped;
  return before && ts.isVariableStatement(before) && kind(before) === kind(node);
}
