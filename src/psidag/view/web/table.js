// A table of any length: only the rows in view are there. Sorted by its heads, searched by names, walked by arrow keys.

import { count, find, make } from "./dom.js";

const ROW = 36;
const SPARE = 6;
// Paper gets this many rows; all of them would be a book.
const PRINTED = 100;
const collator = new Intl.Collator("en", { numeric: true });

/**
 * columns: [{ key, title, value(k), text(k), names, wide }], where `names` marks columns that the search looks at
 * and `wide` those that a phone leaves out; size: number of rows; choose(k): what Enter or a click does.
 */
export function makeTable(host, { id, label, columns, size, sorted, choose }) {
  const all = Array.from({ length: size }, (_, k) => k);
  const haystack = all.map((k) => columns.filter((c) => c.names).map((c) => c.text(k).toLowerCase()).join("\n"));
  let rows = all;
  let order = sorted ?? null;
  let active = 0;
  let printing = false;

  const filter = make("input", { id: `${id}-filter`, type: "search", placeholder: "Part of a name", autocomplete: "off" });
  const found = make("p", { class: "found", role: "status" });
  const body = make("tbody");
  const heads = columns.map((column) => {
    const button = make("button", { type: "button", onclick: () => sortBy(column) }, column.title);
    return make("th", { scope: "col", class: kind(column), title: column.hint }, button);
  });
  const table = make(
    "table",
    { "aria-label": label, "aria-rowcount": size + 1 },
    make("thead", {}, make("tr", {}, ...heads)),
    body,
  );
  const frame = make("div", { class: "frame", tabindex: "0", role: "group", "aria-label": `${label}: rows` }, table);
  host.replaceChildren(
    make("div", { class: "controls" }, make("div", { class: "field" }, make("label", { for: filter.id }, `Search the ${label.toLowerCase()}`), filter), found),
    frame,
  );

  function kind(column) {
    return `${column.names ? "name" : "number"}${column.wide ? " wide" : ""}`;
  }

  function sortBy(column) {
    const falling = order?.key === column.key ? !order.falling : !column.names;
    order = { key: column.key, falling };
    update();
  }

  function update() {
    const wanted = filter.value.trim().toLowerCase();
    rows = wanted ? all.filter((k) => haystack[k].includes(wanted)) : [...all];
    const column = columns.find((c) => c.key === order?.key);
    if (column) rows.sort((a, b) => compare(column.value(a), column.value(b), order.falling));
    heads.forEach((head, k) => {
      const chosen = columns[k] === column;
      head.setAttribute("aria-sort", chosen ? (order.falling ? "descending" : "ascending") : "none");
    });
    found.textContent = rows.length === size ? `${count(size)} rows` : `${count(rows.length)} of ${count(size)} rows`;
    active = 0;
    frame.scrollTop = 0;
    draw();
  }

  function draw() {
    if (printing) return body.replaceChildren(...Array.from({ length: Math.min(rows.length, PRINTED) }, (_, r) => row(r)), ...rest());
    const first = Math.max(0, Math.floor(frame.scrollTop / ROW) - SPARE);
    const last = Math.min(rows.length, first + Math.ceil(frame.clientHeight / ROW) + 2 * SPARE);
    const shown = [];
    for (let r = first; r < last; r++) shown.push(row(r));
    body.replaceChildren(space(first * ROW), ...shown, space((rows.length - last) * ROW));
  }

  // On paper, a line about what is not there.
  function rest() {
    if (rows.length <= PRINTED) return [];
    return [make("tr", {}, make("td", { colspan: String(columns.length) }, `… and ${count(rows.length - PRINTED)} more, which the page itself has`))];
  }

  function space(height) {
    const filler = make("tr", { "aria-hidden": "true", class: "space" }, make("td"));
    filler.style.height = `${height}px`;
    filler.hidden = height === 0;
    return filler;
  }

  function row(r) {
    const cells = columns.map((column) => make("td", { class: kind(column), title: column.names ? column.text(rows[r]) : null }, column.text(rows[r])));
    const chosen = r === active;
    return make(
      "tr",
      { id: chosen ? `${id}-active` : null, class: chosen ? "active" : "", "aria-rowindex": r + 2, onclick: () => ((active = r), draw(), choose(rows[r])) },
      ...cells,
    );
  }

  function walk(event) {
    const page = Math.max(1, Math.floor(frame.clientHeight / ROW) - 2);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (event.target !== frame) return;
    if (step !== undefined) {
      active = Math.max(0, Math.min(rows.length - 1, active + step));
      const top = active * ROW;
      const room = frame.clientHeight - 2 * ROW;
      if (top < frame.scrollTop) frame.scrollTop = top;
      else if (top > frame.scrollTop + room) frame.scrollTop = top - room;
      draw();
      frame.setAttribute("aria-activedescendant", `${id}-active`);
    } else if (event.key === "Enter" && rows.length) choose(rows[active]);
    else return;
    event.preventDefault();
  }

  filter.addEventListener("input", update);
  frame.addEventListener("scroll", draw, { passive: true });
  frame.addEventListener("keydown", walk);
  new ResizeObserver(draw).observe(frame);
  for (const event of ["beforeprint", "afterprint"]) {
    window.addEventListener(event, () => {
      printing = event === "beforeprint";
      draw();
    });
  }
  update();
  return {
    search(text) {
      filter.value = text;
      update();
      find(filter.id).focus();
    },
  };
}

function compare(a, b, falling) {
  if (a == null || b == null) return (a == null) - (b == null);
  const way = typeof a === "string" ? collator.compare(a, b) : a - b;
  return falling ? -way : way;
}
