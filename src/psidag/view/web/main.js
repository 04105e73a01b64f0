// Puts the parts of the page together.

import { drawNoise, drawTrace } from "./charts.js";
import { startDetails } from "./details.js";
import { count, find, make, number, percent, plural } from "./dom.js";
import { startDrawing } from "./drawing.js";
import { around, degree, edgeName, hubs, readModel, why } from "./model.js";
import { startSaving } from "./saving.js";
import { startSearch } from "./search.js";
import { makeTable } from "./table.js";
import { startTheme } from "./theme.js";

const LARGE = 400;
const PART = 70;
const HUBS = 4;

startTheme();
const model = readModel(find("data").textContent);
const large = model.d > LARGE;
const drawing = tryToDraw();
let part = null;

const details = startDetails(model, {
  choose,
  chooseEdge,
  clear,
  explore: (v) => (draw(around(model, [v], PART, keeper())), choose(v)),
  list: (name) => (find("edges").scrollIntoView(), edgeTable.search(name)),
});

function tryToDraw() {
  try {
    return startDrawing(model, { onNode: choose, onEdge: chooseEdge, onHover: hover, onNothing: () => clear() });
  } catch (error) {
    find("fallback").hidden = false;
    find("fallback").textContent = "This browser cannot draw with WebGL, so there is no picture; search, lists and tables work all the same.";
    find("drawing").hidden = true;
    document.querySelector(".canvas").classList.add("blank");
    return null;
  }
}

function draw(shown) {
  part = shown;
  drawing?.show(shown);
  find("scope").textContent = shown ? `Draw all ${count(model.d)}` : "Draw the hubs only";
  find("scope").hidden = !shown && !large;
  tell();
}

function choose(v) {
  if (drawing && !drawing.has(v)) draw(around(model, [v], PART, keeper()));
  drawing?.choose(v);
  drawing?.goTo(v);
  details.show(v);
  window.psidag.chosen = model.nodes.name[v];
}

function chooseEdge(k) {
  const ends = [model.edges.source[k], model.edges.target[k]];
  if (drawing && !ends.every(drawing.has)) draw(around(model, ends, PART, keeper()));
  drawing?.chooseEdge(k);
  details.showEdge(k);
  window.psidag.chosen = edgeName(model, k);
}

// What is under the mouse, in a corner of the picture.
function hover(k) {
  const box = find("hover");
  box.hidden = k === null;
  if (k === null) return;
  const error = model.edges.error?.[k];
  const support = model.edges.connection?.[k];
  const parts = [`weight ${number(model.edges.weight[k])}${error == null ? "" : ` ± ${number(error)}`}`];
  if (support != null) parts.push(`in ${percent(support)} of the resampled tables`);
  box.replaceChildren(make("b", {}, edgeName(model, k)), ` ${parts.join(", ")}. ${why(model, k)}`);
}

function clear() {
  drawing?.choose(null);
  details.empty(large ? "Search for a name, or choose one of the hubs. Its surroundings are drawn then." : "Search for a name, or choose a variable or an edge in the picture.", hubs(model, 6).filter((v) => degree(model, v) > 0).sort((a, b) => degree(model, b) - degree(model, a)));
  window.psidag.chosen = null;
}

// The slider: at least so strong, in steps of equally many edges; or supported at least so often.
function threshold() {
  const share = Number(find("slider").value) / 100;
  if (share === 0) return 0;
  if (find("measure").value === "support") return share;
  return model.strength[Math.max(0, Math.ceil(model.m * (1 - share)) - 1)] ?? 0;
}

function keeper() {
  const least = threshold();
  const values = find("measure").value === "support" ? model.edges.connection : model.strength;
  return (k) => values[k] >= least;
}

function filter() {
  const supported = find("measure").value === "support";
  find("slider-label").textContent = supported ? "Only edges supported by" : "Only edges of strength";
  find("threshold").textContent = supported ? `≥ ${percent(threshold())}` : `≥ ${number(threshold())}`;
  drawing?.keep(keeper());
  tell();
}

function tell() {
  const keeps = keeper();
  let kept = 0;
  for (let k = 0; k < model.m; k++) if (keeps(k)) kept++;
  const drawn = drawing?.counts() ?? { nodes: 0, edges: 0 };
  window.psidag.edges = drawing ? drawn.edges : kept;
  const parts = [];
  if (part) parts.push(`${count(drawn.nodes)} of ${plural(model.d, "variable")}`);
  parts.push(`${count(drawing ? drawn.edges : kept)} of ${plural(model.m, "edge")}`);
  find("shown").textContent = parts.join(", ");
}

function startSummary() {
  find("lead").append(...model.lead.map((text, k) => make("p", { class: k ? "" : "first" }, text)));
  const marks = { distrust: "Distrust", beware: "Beware", fine: "Fine" };
  for (const { level, title, text, names } of model.remarks) {
    const chosen = names.slice(0, 8).map((name) => make("button", { type: "button", class: "link", onclick: () => (find("graph").scrollIntoView(), choose(model.index.get(name))) }, name));
    const rest = names.length > 8 ? [make("span", { class: "hint" }, `and ${count(names.length - 8)} more`)] : [];
    const list = names.length ? [make("p", { class: "names" }, ...chosen, ...rest)] : [];
    find("remarks").append(make("li", { class: level }, make("span", { class: "mark" }, marks[level]), make("div", {}, make("h3", {}, title), make("p", {}, text), ...list)));
  }
  if (!model.warnings.length) return;
  const box = find("warnings");
  box.hidden = false;
  box.querySelector("summary").textContent = `${plural(model.warnings.length, "warning")} given while learning`;
  box.querySelector("ul").append(...model.warnings.map((text) => make("li", {}, text)));
}

function startLegend() {
  const entries = [
    ["edge positive", "more of it gives more"],
    ["edge negative", "more of it gives less"],
    ...(model.edges.directed ? [["edge plain", "no head: direction open"]] : []),
  ];
  find("legend").append(...entries.map(([look, text]) => make("li", {}, make("span", { class: look, "aria-hidden": "true" }), text)));
  find("keys").textContent = "Drag to move, scroll or pinch to zoom. With the keyboard: arrow keys move, + and − zoom, 0 fits, Escape lets go of the chosen variable.";
  find("drawing").setAttribute("aria-label", `Drawing of the graph: ${plural(model.d, "variable")}, ${plural(model.m, "edge")}, causes before their effects`);
}

function startEdgeTable() {
  const { nodes, edges } = model;
  const numeric = (key, title, extra = {}) => ({ key, title, value: (k) => edges[key][k], text: (k) => number(edges[key][k]), ...extra });
  const name = (key, title) => ({ key, title, names: true, value: (k) => nodes.name[edges[key][k]], text: (k) => nodes.name[edges[key][k]] });
  const share = (key, title) => ({ key, title, value: (k) => edges[key][k], text: (k) => percent(edges[key][k]) });
  const columns = [name("source", model.edges.directed ? "From" : "Cause"), name("target", model.edges.directed ? "To" : "Effect")];
  columns.push({ key: "because", title: "Direction", wide: true, text: (k) => model.labels[edges.because?.[k]] ?? "–", value: (k) => model.labels[edges.because?.[k]] ?? "" });
  columns.push({ ...numeric("weight", "Weight"), text: (k) => `${number(edges.weight[k])}${model.directed(k) ? "" : "?"}` });
  if (edges.error) columns.push(numeric("error", "Std. error", { wide: true, hint: "given the graph" }));
  columns.push({ ...numeric("standardised", "Std. weight", { hint: "standardised: between variables of variance one" }), value: (k) => model.strength[k] });
  if (edges.support) columns.push({ ...share("connection", "Support"), hint: "share of the resampled tables that join the two" }, { ...share("support", "This way"), wide: true }, { ...share("reverse", "Reversed"), wide: true });
  return makeTable(find("edge-table"), {
    id: "edge",
    label: "Edges",
    columns,
    size: model.m,
    sorted: { key: "standardised", falling: true },
    choose: chooseEdge,
  });
}

function startNodeTable() {
  const { nodes } = model;
  const numeric = (key, title, hint, extra = {}) => ({ key, title, hint, value: (v) => nodes[key][v], text: (v) => number(nodes[key][v]), ...extra });
  const columns = [
    { key: "name", title: "Variable", names: true, value: (v) => nodes.name[v], text: (v) => nodes.name[v] },
    { key: "causes", title: "Causes", wide: true, value: (v) => model.parents[v].length, text: (v) => count(model.parents[v].length) },
    { key: "explained", title: "Explained", hint: "share of the variance that the causes explain", value: (v) => nodes.explained[v], text: (v) => percent(nodes.explained[v]) },
    numeric("noise", "Noise sd", "standard deviation of the residuals"),
  ];
  if (nodes.skewness) {
    columns.push(
      numeric("variance_ratio", "Variance ratio", "residual variance over the typical one", { wide: true }),
      numeric("skewness", "Skewness", "of the residuals; 0 if normal", { wide: true }),
      numeric("excess_kurtosis", "Exc. kurtosis", "of the residuals; 0 if normal", { wide: true }),
      numeric("normality_p", "p normal", "Jarque–Bera", { wide: true }),
      numeric("nonlinearity_p", "p linear", "Ramsey's RESET"),
    );
  }
  makeTable(find("node-table"), {
    id: "node",
    label: "Variables",
    columns,
    size: model.d,
    sorted: nodes.skewness ? { key: "nonlinearity_p", falling: false } : { key: "explained", falling: true },
    choose: (v) => (find("graph").scrollIntoView(), choose(v)),
  });
}

// What to do next: a sentence, and where there is one, the command.
function startNext() {
  find("next").append(...model.next.map(([text, command]) => make("li", {}, text, ...(command ? [make("code", {}, command)] : []))));
}

window.psidag = { ready: null, edges: 0, chosen: null, screen: (name) => drawing.screen(model.index.get(name)), edgeScreen: (k) => drawing.edgeScreen(k) };
find("scope").addEventListener("click", () => draw(part ? null : start()));
find("slider").addEventListener("input", filter);
find("measure").addEventListener("change", filter);
find("measure-field").hidden = !model.edges.support;
find("zoom-in").addEventListener("click", () => drawing?.zoom(false));
find("zoom-out").addEventListener("click", () => drawing?.zoom(true));
find("fit-view").addEventListener("click", () => drawing?.reset());

const start = () => (large ? around(model, hubs(model, HUBS), PART) : null);

startSummary();
startNext();
startLegend();
draw(start());
filter();
clear();
startSearch(model, choose);
const edgeTable = startEdgeTable();
startNodeTable();
startSaving(model, drawing);
drawTrace(find("trace"), model.trace);
drawNoise(find("noise"), model);
find("facts").append(...model.facts.flatMap(([key, text]) => [make("dt", {}, key), make("dd", {}, text)]));
requestAnimationFrame(() => (window.psidag.ready = performance.now()));
