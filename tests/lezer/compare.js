// Compares which queries parse: those of all our corpora, by Timberline's parser and by the LogQL grammar of Grafana's editor.
// The two are written by different people for the same language. A query that Loki answered, or that Timberline accepts, must
// have no error node in the grammar's tree; one that Timberline refuses with a syntax error must have one.
//
// What the grammar does not know stands in differences.json, each with a reason:
// - {"refuses": PATTERN, "instead": TEXT}: the query without that, with TEXT in its place, must be fine for the grammar;
// - {"accepts": PATTERN}: such a query is fine for the grammar, and an error for Timberline.
// An entry that explains no difference of any query fails as well.
//
//   node compare.js VERDICTS      VERDICTS is the program of crates/logql/examples/verdicts.rs

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { parser } from "@grafana/lezer-logql";

const GENERATED = 4000;
const root = fileURLToPath(new URL("../../", import.meta.url));
const verdicts = process.argv[2];
if (!verdicts) throw new Error("usage: node compare.js VERDICTS");

const read = (path) => readFileSync(root + path, "utf8");
const run = (parameters, input) =>
  execFileSync(verdicts, parameters, { input, encoding: "utf8", maxBuffer: 1 << 30 });

// Each source gives queries; `answered` are those that Loki answered.
const sources = {
  "recorded answers": () =>
    JSON.parse(gunzipSync(readFileSync(root + "conformance/logql/golden.json.gz")).toString())
      .map(({ params, status }) => ({ query: params.query, answered: status === 200 }))
      .filter(({ query }) => query),
  "recorded errors": () =>
    read("crates/logql/tests/data/recorded.tsv").split("\n").filter((line) => line && !line.startsWith("#"))
      .map((line) => line.split("\t").map(unescape))
      .map(([kind, , query]) => ({ query, answered: kind === "accept" })),
  "cases of the language": () => folder("crates/logql/tests/data", /^query\n([^]*?)\n---\n/),
  "cases of the engine": () => folder("crates/query/tests/cases", /^query.*\n([^]*)\n.*\n---\n/),
  "recorded queries with a token left out, or two exchanged": () => {
    const queries = sources["recorded answers"]().filter(({ answered }) => answered);
    const texts = queries.flatMap(({ query }) => damaged(query));
    return [...new Set(texts)].map((query) => ({ query, answered: false }));
  },
  "generated": () =>
    run(["--generate", String(GENERATED)]).split("\0").filter(Boolean).map((query) => ({ query, answered: false })),
};

function folder(path, pattern) {
  const parts = readdirSync(root + path).filter((name) => name.endsWith(".txt")).sort()
    .flatMap((name) => read(`${path}/${name}`).split(/^=== /m));
  return parts.map((part) => part.match(pattern)).filter(Boolean).map((match) => ({ query: match[1], answered: false }));
}

function damaged(query) {
  const tokens = query.match(/"(?:\\.|[^"\\])*"|`[^`]*`|#.*|\[[^\]]*\]|[\p{L}\p{N}_.]+|--[a-z-]+|[|!=<>]?[=~>]|\s+|./gsu);
  const solid = [...tokens.keys()].filter((at) => tokens[at].trim());
  const without = (at) => tokens.toSpliced(at, 1, " ").join("");
  const exchanged = (one, other) => tokens.with(one, tokens[other]).with(other, tokens[one]).join("");
  return [...solid.map(without), ...solid.slice(1).map((at, before) => exchanged(solid[before], at))];
}

function unescape(text) {
  return text.replace(/\\(.)/g, (_, c) => ({ n: "\n", t: "\t" })[c] ?? c);
}

// Where the first error node of the grammar's tree begins, or -1.
function firstError(query) {
  let found = -1;
  parser.parse(query).iterate({
    enter: (node) => {
      if (node.type.isError && found < 0) found = node.from;
    },
  });
  return found;
}

const differences = JSON.parse(read("tests/lezer/differences.json")).map(({ refuses, instead, accepts, reason }) => {
  if (!reason || (refuses === undefined) !== (instead === undefined) || (refuses === undefined) === (accepts === undefined)) {
    throw new Error(`not a description of a difference: ${refuses ?? accepts}`);
  }
  return { refuses: refuses && new RegExp(refuses, "gsu"), instead, accepts: accepts && new RegExp(accepts, "su"), used: 0 };
});

// True if the entries explain why the grammar refuses the query. Counts those without which they would not.
function explainsRefusal(query) {
  const without = (omitted) =>
    differences.filter((entry) => entry.refuses && entry !== omitted)
      .reduce((text, entry) => text.replace(entry.refuses, entry.instead), query);
  const rewritten = without(null);
  if (firstError(rewritten) >= 0) return false;
  for (const entry of differences) {
    const text = without(entry);
    if (entry.refuses && text !== rewritten && firstError(text) >= 0) entry.used += 1;
  }
  return true;
}

function explainsAcceptance(query) {
  const entries = differences.filter((entry) => entry.accepts?.test(query));
  for (const entry of entries) entry.used += 1;
  return entries.length > 0;
}

const failures = [];
for (const [name, queries] of Object.entries(sources)) {
  const list = queries();
  if (list.length < 20) throw new Error(`${name}: only ${list.length} queries`);
  const ours = run([], list.map(({ query }) => query + "\0").join("")).split("\n");
  const counts = { accept: 0, syntax: 0, refuse: 0, listed: 0 };
  list.forEach(({ query, answered }, at) => {
    const kind = ours[at].split(":")[0];
    counts[kind] += 1;
    if (answered && kind !== "accept") failures.push(`Loki answered, Timberline refuses (${ours[at]}):\n  ${query}`);
    const error = firstError(query);
    const grammar = kind === "accept" && error >= 0 ? "refuses" : kind === "syntax" && error < 0 ? "accepts" : null;
    if (!grammar) return;
    if (grammar === "refuses" ? explainsRefusal(query) : explainsAcceptance(query)) {
      counts.listed += 1;
      return;
    }
    const place = grammar === "refuses" ? ` at character ${error}, before ${JSON.stringify(query.slice(error, error + 20))}` : "";
    failures.push(`the grammar ${grammar}${place}, Timberline: ${ours[at]}:\n  ${query}`);
  });
  console.log(`${name}: ${list.length} queries, ${counts.accept} accepted, ${counts.syntax} refused by syntax, ` +
    `${counts.refuse} by meaning; ${counts.listed} differ as listed`);
}
for (const { refuses, accepts, used } of differences) {
  if (!used) failures.push(`differences.json: explains no difference: ${refuses ?? accepts}`);
}
if (failures.length > 0) {
  console.error(failures.join("\n"));
  console.error(`${failures.length} failures`);
  process.exit(1);
}
