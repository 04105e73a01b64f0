// What is known of the chosen variable: its equation, its causes and its effects.

import { find, make, number, percent, plural } from "./dom.js";
import { edgeName, why } from "./model.js";

const MOST = 25;
const TERMS = 12;

const dot = (role) => make("span", { class: `dot ${role}`, "aria-hidden": "true" });

export function startDetails(model, { choose, chooseEdge, clear, explore, list }) {
  const panel = find("details");
  const { nodes, edges } = model;

  function equation(v) {
    const parts = [make("b", {}, nodes.name[v]), " = "];
    model.parents[v].slice(0, TERMS).forEach((k, position) => {
      const weight = edges.weight[k];
      const sign = position ? (weight < 0 ? " − " : " + ") : weight < 0 ? "−" : "";
      parts.push(`${sign}${number(Math.abs(weight))} · `, make("i", {}, nodes.name[edges.source[k]]));
    });
    const rest = model.parents[v].length - TERMS;
    if (rest > 0) parts.push(` + ${plural(rest, "more term")}`);
    const constant = nodes.intercept[v];
    if (!model.parents[v].length) parts.push(number(constant));
    else parts.push(`${constant < 0 ? " − " : " + "}${number(Math.abs(constant))}`);
    return make("p", { class: "equation" }, ...parts, ` + noise (sd ${number(nodes.noise[v])})`);
  }

  function edgeList(title, numbers, other, className) {
    if (!numbers.length) return make("div", { class: className }, make("h4", {}, dot(className), title), make("p", { class: "hint" }, "none"));
    const items = numbers.slice(0, MOST).map((k) =>
      make(
        "li",
        {},
        make("button", { type: "button", class: "link", onclick: () => choose(other[k]) }, nodes.name[other[k]]),
        make("button", { type: "button", class: edges.weight[k] < 0 ? "weight negative" : "weight positive", title: "weight ± standard error: choose this edge", onclick: () => chooseEdge(k) }, weightText(k)),
      ),
    );
    return make("div", { class: className }, make("h4", {}, dot(className), `${title} (${numbers.length})`), make("ul", {}, ...items), ...more(numbers));
  }

  // Edges without a known direction, whichever way they stand.
  function joined(v) {
    const open = [...model.parents[v], ...model.children[v]].filter((k) => !model.directed(k)).sort((a, b) => a - b);
    const other = Object.fromEntries(open.map((k) => [k, edges.source[k] === v ? edges.target[k] : edges.source[k]]));
    return open.length ? [edgeList("Joined, direction open", open, other, "open")] : [];
  }

  function weightText(k) {
    const error = edges.error?.[k];
    const support = edges.connection?.[k];
    return `${number(edges.weight[k])}${model.directed(k) ? "" : "?"}${error == null ? "" : ` ± ${number(error)}`}${support == null ? "" : ` · ${percent(support)}`}`;
  }

  const more = (numbers) => (numbers.length > MOST ? [make("p", { class: "hint" }, `and ${plural(numbers.length - MOST, "weaker one")}`)] : []);

  function stats(v) {
    const entries = [["mean", number(nodes.mean[v])], ["sd", number(nodes.sd[v])], ["explained by causes", percent(nodes.explained[v])]];
    if (nodes.nonlinearity_p?.[v] != null) entries.push(["p of linearity", number(nodes.nonlinearity_p[v])]);
    return make("dl", { class: "stats" }, ...entries.map(([key, value]) => make("div", {}, make("dt", {}, key), make("dd", {}, value))));
  }

  function edgeStats(k) {
    const entries = [["weight", number(edges.weight[k])]];
    if (edges.error?.[k] != null) entries.push(["± standard error", number(edges.error[k])]);
    entries.push(["standardised", number(edges.standardised[k])]);
    if (edges.probability?.[k] != null) entries.push(["direction right with", percent(edges.probability[k])]);
    if (edges.evidence?.[k] != null) entries.push(["evidence (score difference)", number(edges.evidence[k])]);
    if (edges.connection?.[k] != null) entries.push(["joined in", percent(edges.connection[k])], ["this way in", percent(edges.support[k])], ["other way in", percent(edges.reverse[k])]);
    return make("dl", { class: "stats" }, ...entries.map(([key, value]) => make("div", {}, make("dt", {}, key), make("dd", {}, value))));
  }

  function meaning(k) {
    const [from, to] = [nodes.name[edges.source[k]], nodes.name[edges.target[k]]];
    const amount = `${number(Math.abs(edges.weight[k]))} ${edges.weight[k] < 0 ? "less" : "more"}`;
    if (model.directed(k)) return `One unit more of ${from} gives ${amount} of ${to}, its other causes held fixed.`;
    return `${from} and ${to} are joined. If ${from} is the cause, one unit more of it gives ${amount} of ${to}; it could as well be the other way round.`;
  }

  return {
    showEdge(k) {
      panel.replaceChildren(
        make("div", { class: "head" }, make("h3", {}, edgeName(model, k)), make("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: clear }, "✕")),
        make("p", { class: "equation" }, meaning(k)),
        edgeStats(k),
        make("h4", {}, model.directed(k) ? "Why this way?" : "Why no direction?"),
        make("p", { class: "why" }, why(model, k), edges.derived?.[k] ? " It follows from other directions." : ""),
        make(
          "div",
          { class: "actions" },
          ...[edges.source[k], edges.target[k]].map((v) => make("button", { type: "button", onclick: () => choose(v) }, nodes.name[v])),
        ),
      );
      panel.scrollTop = 0;
    },
    show(v) {
      panel.replaceChildren(
        make("div", { class: "head" }, make("h3", {}, dot("chosen"), nodes.name[v]), make("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: clear }, "✕")),
        equation(v),
        stats(v),
        edgeList("Causes", model.parents[v].filter(model.directed), edges.source, "cause"),
        edgeList("Effects", model.children[v].filter(model.directed), edges.target, "effect"),
        ...joined(v),
        make(
          "div",
          { class: "actions" },
          make("button", { type: "button", onclick: () => explore(v) }, "Draw its surroundings"),
          make("button", { type: "button", onclick: () => list(nodes.name[v]) }, "Its edges in the table"),
        ),
      );
      panel.scrollTop = 0;
    },
    empty(hint, suggestions) {
      const names = suggestions.map((v) => make("li", {}, make("button", { type: "button", class: "link", onclick: () => choose(v) }, nodes.name[v]), make("span", { class: "weight" }, plural(model.parents[v].length + model.children[v].length, "edge"))));
      panel.replaceChildren(make("h3", {}, "Nothing chosen"), make("p", { class: "hint" }, hint), make("h4", {}, "The most connected"), make("ul", {}, ...names));
    },
  };
}
