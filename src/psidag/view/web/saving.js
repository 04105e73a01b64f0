// Away from the page: the edges as CSV, the picture as SVG and PNG, the whole screen, and paper.

import { find, makeSvg } from "./dom.js";

const SHARP = 2;

export function startSaving(model, drawing) {
  find("save-csv").addEventListener("click", () => save("edges.csv", "text/csv", edgesCsv(model)));
  if (!drawing) {
    for (const id of ["save-svg", "save-png", "full"]) find(id).hidden = true;
    return;
  }
  find("save-svg").addEventListener("click", () => save("graph.svg", "image/svg+xml", text(picture(drawing.scene()))));
  find("save-png").addEventListener("click", () => paint(drawing.scene()));
  find("full").hidden = !document.fullscreenEnabled;
  find("full").addEventListener("click", () => (document.fullscreenElement ? document.exitFullscreen() : find("stage").requestFullscreen()));
  // Paper gets lines and letters instead of what happens to be on the screen's canvas.
  window.addEventListener("beforeprint", () => find("paper").replaceChildren(picture(drawing.scene())));
}

export function edgesCsv(model) {
  const { nodes, edges } = model;
  const columns = ["weight", "error", "standardised", "evidence", "probability", "connection", "support", "reverse"].filter((key) => edges[key]);
  const rows = [["source", "target", "directed", "because", ...columns]];
  for (let k = 0; k < model.m; k++) {
    rows.push([nodes.name[edges.source[k]], nodes.name[edges.target[k]], model.directed(k), model.labels[edges.because?.[k]] ?? "", ...columns.map((key) => edges[key][k] ?? "")]);
  }
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

function cell(value) {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const text = (svg) => new XMLSerializer().serializeToString(svg);

function save(name, kind, content) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function paint(scene) {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = SHARP * scene.width;
    canvas.height = SHARP * scene.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save("graph.png", "image/png", blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text(picture(scene)))}`;
}

// The scene as an SVG element; its looks are attributes, so that it stands alone.
function picture({ width, height, nodes, edges, ink, below, room }) {
  const svg = makeSvg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, sans-serif", "font-size": 13 });
  svg.append(makeSvg("rect", { width, height, fill: ink.surface }));
  for (const edge of [...edges].sort((a, b) => (a.zIndex ?? 1) - (b.zIndex ?? 1))) svg.append(...edgeShapes(edge, ink));
  for (const node of nodes) svg.append(makeSvg("circle", { cx: round(node.x), cy: round(node.y), r: round(node.size), fill: node.color }));
  for (const node of nodes) if (node.label) svg.append(nameShape(node, ink, below, room));
  return svg;
}

function edgeShapes({ from, to, curvature = 0, color, size, headed, weighed, label }, ink) {
  const bend = { x: (from.x + to.x) / 2 - curvature * (from.y - to.y), y: (from.y + to.y) / 2 - curvature * (to.x - from.x) };
  const away = unit(bend, to);
  const tip = { x: to.x - away.x * to.size, y: to.y - away.y * to.size };
  const head = headed ? 5 * size : 0;
  const end = { x: tip.x - away.x * head, y: tip.y - away.y * head };
  const path = `M${round(from.x)} ${round(from.y)}Q${round(bend.x)} ${round(bend.y)} ${round(end.x)} ${round(end.y)}`;
  const shapes = [makeSvg("path", { d: path, fill: "none", stroke: color, "stroke-width": round(size) })];
  if (headed) {
    const side = { x: -away.y * 2.1 * size, y: away.x * 2.1 * size };
    const corners = [tip, { x: end.x + side.x, y: end.y + side.y }, { x: end.x - side.x, y: end.y - side.y }];
    shapes.push(makeSvg("polygon", { points: corners.map((p) => `${round(p.x)},${round(p.y)}`).join(" "), fill: color }));
  }
  if (weighed && label) {
    const at = { x: (from.x + 2 * bend.x + to.x) / 4, y: (from.y + 2 * bend.y + to.y) / 4 };
    shapes.push(makeSvg("text", { x: round(at.x), y: round(at.y - 3), "text-anchor": "middle", "font-size": 12, fill: ink.muted, stroke: ink.surface, "stroke-width": 3, "paint-order": "stroke" }, label));
  }
  return shapes;
}

function nameShape(node, ink, below, room) {
  const letters = Math.max(4, Math.floor(room / 7.2));
  const name = node.label.length > letters ? `${node.label.slice(0, letters - 1)}…` : node.label;
  const place = below ? { x: round(node.x), y: round(node.y + node.size + 14), "text-anchor": "middle" } : { x: round(node.x + node.size + 4), y: round(node.y + 4) };
  return makeSvg("text", { ...place, fill: ink.ink, stroke: ink.surface, "stroke-width": 4, "stroke-linejoin": "round", "paint-order": "stroke" }, name);
}

function unit(a, b) {
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  return { x: (b.x - a.x) / length, y: (b.y - a.y) / length };
}

const round = (value) => Math.round(value * 10) / 10;
