// A box with suggestions, as the ARIA pattern of a combobox with a list has it.

import { degree } from "./model.js";
import { find, make, plural } from "./dom.js";

const MOST = 8;

export function startSearch(model, choose) {
  const input = find("search");
  const list = find("suggestions");
  const lower = model.nodes.name.map((name) => name.toLowerCase());
  let found = [];
  let active = -1;

  function suggest() {
    found = matches(lower, input.value.trim().toLowerCase(), model);
    active = found.length ? 0 : -1;
    list.replaceChildren(
      ...found.map((v, k) =>
        make(
          "li",
          { id: `suggestion-${k}`, role: "option", onmousedown: (event) => (event.preventDefault(), take(k)) },
          make("span", { class: "name" }, model.nodes.name[v]),
          make("small", {}, plural(degree(model, v), "edge")),
        ),
      ),
    );
    if (input.value.trim() && !found.length) list.append(make("li", { class: "none" }, "No variable has this in its name"));
    mark();
    open(input.value.trim() !== "");
  }

  function open(wanted) {
    list.hidden = !wanted;
    input.setAttribute("aria-expanded", String(wanted));
  }

  function mark() {
    [...list.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === active)));
    if (active >= 0) input.setAttribute("aria-activedescendant", `suggestion-${active}`);
    else input.removeAttribute("aria-activedescendant");
  }

  function take(k) {
    if (found[k] === undefined) return;
    input.value = model.nodes.name[found[k]];
    open(false);
    choose(found[k]);
  }

  input.addEventListener("input", suggest);
  input.addEventListener("focus", () => input.value && suggest());
  input.addEventListener("blur", () => open(false));
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) {
      active = (active + step + found.length) % found.length;
      mark();
    } else if (event.key === "Enter") take(active);
    else if (event.key === "Escape") open(false);
    else return;
    event.preventDefault();
  });
}

// Names that are it, then those that begin with it, then those that have it; the most connected first among equals.
function matches(lower, wanted, model) {
  if (!wanted) return [];
  const ranked = [];
  lower.forEach((name, v) => {
    const at = name.indexOf(wanted);
    if (at >= 0) ranked.push([name === wanted ? 0 : at === 0 ? 1 : 2, -model.reach[v], v]);
  });
  ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return ranked.slice(0, MOST).map((entry) => entry[2]);
}
