// Bundles the page into ../bundle, with a digest of these sources in its first line: a test compares the two.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const OUT = "../bundle";
const LIBRARIES = ["sigma", "@sigma/edge-curve", "graphology", "graphology-utils", "events"];

function digest() {
  const hash = createHash("sha256");
  const sources = readdirSync(".").filter((name) => /\.(js|mjs|css)$|^package\.json$/.test(name));
  for (const name of sources.sort()) hash.update(`${name}\0`).update(readFileSync(name));
  return hash.digest("hex");
}

function licences() {
  const parts = LIBRARIES.map((name) => {
    const folder = `node_modules/${name}`;
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const { version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const text = readFileSync(`${folder}/${file}`, "utf8").replace(/\r/g, "").replace(/[ \t]+$/gm, "").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return `report.js contains these libraries.\n\n${parts.join(`\n${"-".repeat(79)}\n\n`)}`;
}

const banner = `/* psidag report; sigma.js, graphology and events, MIT licence. Sources ${digest()} */`;
mkdirSync(OUT, { recursive: true });
await build({
  entryPoints: { report: "main.js" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2020"],
  charset: "utf8",
  legalComments: "none",
  banner: { js: banner },
  outdir: OUT,
});
await build({
  entryPoints: { report: "report.css" },
  minify: true,
  charset: "utf8",
  outdir: OUT,
});
writeFileSync(`${OUT}/LICENSES.txt`, licences());
