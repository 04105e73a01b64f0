// Two small charts, drawn anew at the width that there is.

import { count, make, makeSvg, number } from "./dom.js";

const HEIGHT = 200;
const MARGIN = { left: 56, right: 14, top: 12, bottom: 34 };

function frame(figure, caption, label, draw) {
  const holder = make("div", { class: "chart" });
  figure.replaceChildren(make("figcaption", {}, caption), holder);
  const redraw = () => {
    const width = Math.max(240, holder.clientWidth);
    const svg = makeSvg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
    draw(svg, width - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom);
    holder.replaceChildren(svg);
  };
  new ResizeObserver(redraw).observe(figure);
  redraw();
}

const at = (low, high, size) => (value) => (high > low ? ((value - low) / (high - low)) * size : size / 2);

function axes(svg, width, height, xTicks, yTicks, xTitle) {
  const { left, top } = MARGIN;
  for (const [place, text] of yTicks) {
    const y = top + height - place;
    svg.append(makeSvg("line", { class: "grid", x1: left, x2: left + width, y1: y, y2: y }));
    svg.append(makeSvg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, text));
  }
  for (const [place, text] of xTicks) {
    const anchor = place === width && text.length > 2 ? "end" : "middle";
    svg.append(makeSvg("text", { x: left + place, y: top + height + 16, "text-anchor": anchor }, text));
  }
  svg.append(makeSvg("text", { class: "axis", x: left + width / 2, y: top + height + 31, "text-anchor": "middle" }, xTitle));
}

export function drawTrace(figure, trace) {
  const rounds = trace.round.length;
  if (!rounds) {
    figure.replaceChildren(make("figcaption", {}, "Convergence"), make("p", { class: "hint" }, "The graph was not searched for, so there are no rounds to show."));
    return;
  }
  const series = [["loss", trace.loss], ["projected", trace.projected]].filter(([, values]) => values.some((value) => value != null));
  const finite = series.flatMap(([, values]) => values.filter((value) => value != null));
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const label = `Loss over ${rounds} rounds, from ${number(trace.loss[0])} to ${number(trace.loss[rounds - 1])}`;
  frame(figure, "Convergence: loss after each round", label, (svg, width, height) => {
    const x = at(trace.round[0], trace.round[rounds - 1], width);
    const y = at(low, high, height);
    const xTicks = [...new Set([0, Math.floor((rounds - 1) / 2), rounds - 1])].map((k) => [x(trace.round[k]), count(trace.round[k])]);
    const yTicks = (high > low ? [low, (low + high) / 2, high] : [low]).map((value) => [y(value), number(value)]);
    axes(svg, width, height, xTicks, yTicks, "round");
    for (const [name, values] of series) {
      const points = values.map((value, k) => (value == null ? null : [MARGIN.left + x(trace.round[k]), MARGIN.top + height - y(value)])).filter(Boolean);
      svg.append(makeSvg("polyline", { class: name, points: points.map((point) => point.join(",")).join(" ") }));
      if (points.length <= 60) for (const [cx, cy] of points) svg.append(makeSvg("circle", { class: name, cx, cy, r: 3 }));
    }
  });
  if (series.length > 1) figure.append(make("p", { class: "hint" }, "Solid: within the order found. Dashed: right after the projection to an order."));
}

export function drawNoise(figure, model) {
  const logs = model.nodes.noise.filter((value) => value > 0).map((value) => Math.log10(value * value));
  if (!logs.length) return;
  let low = Math.floor(4 * logs.reduce((a, b) => Math.min(a, b))) / 4;
  let high = Math.ceil(4 * logs.reduce((a, b) => Math.max(a, b))) / 4;
  if (high - low < 0.5) [low, high] = [low - 0.25, high + 0.25];
  const bins = Math.max(8, Math.min(40, Math.ceil(Math.sqrt(logs.length)) * 2));
  const counts = new Array(bins).fill(0);
  for (const value of logs) counts[Math.min(bins - 1, Math.floor(((value - low) / (high - low)) * bins))]++;
  const most = Math.max(...counts);
  const label = `How many variables have which residual variance, from ${number(10 ** low)} to ${number(10 ** high)}`;
  frame(figure, "Residual variance: values close together if noise is equal", label, (svg, width, height) => {
    const y = at(0, most, height);
    const yTicks = [...new Set([0, Math.round(most / 2), most])].map((value) => [y(value), count(value)]);
    const ticks = [0, 1 / 3, 2 / 3, 1].map((share) => [share * width, number(Number((10 ** (low + share * (high - low))).toPrecision(2)))]);
    axes(svg, width, height, ticks, yTicks, "residual variance (log scale)");
    counts.forEach((value, k) => {
      if (!value) return;
      const size = width / bins;
      svg.append(makeSvg("rect", { class: "bin", x: MARGIN.left + k * size + 0.5, y: MARGIN.top + height - y(value), width: Math.max(1, size - 1), height: y(value) }));
    });
  });
}
