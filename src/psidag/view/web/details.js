// What is known of the chosen variable: its equation, its causes and its effects.

import { find, make, number, percent, plural } from "./dom.js";

const MOST = 25;
const TERMS = 12;

const dot = (role) => make("span", { class: `dot ${role}`, "aria-hidden": "true" });

export function startDetails(model, { choose, clear, explore, list }) {
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
        make("span", { class: edges.weight[k] < 0 ? "weight negative" : "weight positive", title: "weight ± standard error" }, weightText(k)),
      ),
    );
    return make("div", { class: className }, make("h4", {}, dot(className), `${title} (${numbers.length})`), make("ul", {}, ...items), ...more(numbers));
  }

  function weightText(k) {
    const error = edges.error?.[k];
    const support = edges.support?.[k];
    return `${number(edges.weight[k])}${error == null ? "" : ` ± ${number(error)}`}${support == null ? "" : ` · ${percent(support)}`}`;
  }

  const more = (numbers) => (numbers.length > MOST ? [make("p", { class: "hint" }, `and ${plural(numbers.length - MOST, "weaker one")}`)] : []);

  function stats(v) {
    const entries = [["mean", number(nodes.mean[v])], ["sd", number(nodes.sd[v])], ["explained by causes", percent(nodes.explained[v])]];
    if (nodes.nonlinearity_p?.[v] != null) entries.push(["p of linearity", number(nodes.nonlinearity_p[v])]);
    return make("dl", { class: "stats" }, ...entries.map(([key, value]) => make("div", {}, make("dt", {}, key), make("dd", {}, value))));
  }

  return {
    show(v) {
      panel.replaceChildren(
        make("div", { class: "head" }, make("h3", {}, dot("chosen"), nodes.name[v]), make("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: clear }, "✕")),
        equation(v),
        stats(v),
        edgeList("Causes", model.parents[v], edges.source, "cause"),
        edgeList("Effects", model.children[v], edges.target, "effect"),
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
      panel.replaceChildren(make("h3", {}, "No variable chosen"), make("p", { class: "hint" }, hint), make("h4", {}, "The most connected"), make("ul", {}, ...names));
    },
  };
}
