// The graph on the screen: sigma.js draws it, this says what, where and in which colour.

import Graph from "graphology";
import Sigma from "sigma";
import { createEdgeArrowProgram, EdgeRectangleProgram } from "sigma/rendering";
import { createEdgeCurveProgram } from "@sigma/edge-curve";
import { find, number } from "./dom.js";
import { bend, boxesOf, place, stretch } from "./layout.js";
import { degree, neighbours } from "./model.js";
import { drawHover, drawLabel } from "./labels.js";
import { colours, onTheme } from "./theme.js";

const PADDING = 34;
const LETTER = 7.5;
const BENDABLE = 150;
const ARROWS = 6000;
const NAMED_NEIGHBOURS = 60;
const SURVEYABLE = 120;
const MANY_EDGES = 60;
const WEIGHTED = 24;
const HEAD = { extremity: "target", lengthToThicknessRatio: 5, widenessToThicknessRatio: 4.2 };

export function startDrawing(model, { onNode, onEdge, onHover, onNothing }) {
  const host = find("drawing");
  const graph = new Graph({ type: "directed" });
  const state = { shown: null, chosen: null, edge: null, hovered: null, near: new Map(), keeps: () => true, ink: colours(), below: false };
  const sigma = new Sigma(graph, host, {
    defaultEdgeType: "headless",
    // Drawn in this order: what comes later lies on top.
    edgeProgramClasses: {
      headless: EdgeRectangleProgram,
      straight: createEdgeArrowProgram(HEAD),
      plainCurve: createEdgeCurveProgram(),
      curve: createEdgeCurveProgram({ arrowHead: { ...HEAD, widenessToThicknessRatio: 3.2 } }),
    },
    defaultDrawNodeLabel: (context, data, settings) => drawLabel(context, data, settings, state),
    defaultDrawNodeHover: (context, data, settings) => drawHover(context, data, settings, state),
    nodeReducer: (key, data) => nodeLook(state, Number(key), data),
    edgeReducer: (key, data) => edgeLook(state, data, state.edge === null ? graph.hasExtremity(key, state.chosen) : Number(key) === state.edge),
    edgeLabelSize: 12,
    edgeLabelFont: "system-ui, sans-serif",
    labelFont: "system-ui, sans-serif",
    labelSize: 13,
    labelWeight: "500",
    stagePadding: PADDING,
    minEdgeThickness: 0.8,
    zIndex: true,
    minCameraRatio: 0.01,
    maxCameraRatio: 4,
    allowInvalidContainer: true,
    // What can be picked is settled here once and for all; it is switched off where edges are too many to aim at.
    enableEdgeEvents: true,
  });

  function rebuild() {
    const width = Math.max(100, host.clientWidth - 2 * PADDING);
    const height = Math.max(100, host.clientHeight - 2 * PADDING);
    const placed = place(model, state.shown);
    const upright = host.clientHeight > host.clientWidth;
    const room = roomFor(placed, upright ? width : height);
    state.below = upright || room >= 36;
    state.room = upright ? Math.min(Math.max(room, 72), 160) : state.below ? 150 : 190;
    const sparse = placed.members.length > 150 || (upright && room < 48);
    // Names stand right of their vertices: those of the last layer need room.
    const side = state.below ? 0 : Math.min(state.room, width / 4, widest(placed));
    const points = state.below ? inside(placed, width, height) : stretch(placed, width - side, height);
    fill(placed.members, points);
    sigma.setCustomBBox({ x: [0, width], y: [0, height] });
    sigma.setSetting("labelRenderedSizeThreshold", placed.members.length > 1000 ? 1.5 : 0);
    sigma.setSetting("labelDensity", sparse ? 0.8 : 3);
    sigma.setSetting("labelGridCellSize", sparse ? (upright ? 90 : 70) : 40);
    sigma.refresh();
  }

  const nameWidth = (v) => LETTER * model.nodes.name[v].length;

  // Names stand under their vertices: where they would be cut at the sides, everything moves in.
  function inside(placed, width, height) {
    const points = stretch(placed, width, height);
    let left = 0;
    let right = 0;
    for (const [v, { x }] of points) {
      const half = Math.min(state.room, nameWidth(v)) / 2;
      left = Math.max(left, half - x - PADDING);
      right = Math.max(right, x + half - width - PADDING);
    }
    if (!left && !right) return points;
    const narrow = stretch(placed, width - left - right, height, height > width);
    for (const point of narrow.values()) point.x += left;
    return narrow;
  }

  function widest({ members, x }) {
    const last = members.reduce((far, v) => Math.max(far, x[v]), -Infinity);
    return members.reduce((most, v) => (x[v] > last - 0.8 ? Math.max(most, nameWidth(v)) : most), 0);
  }

  function fill(members, points) {
    const { source, target } = model.edges;
    const sizeOf = sizes(members.length);
    const inside = (v) => !state.shown || state.shown.has(v);
    graph.clear();
    for (const v of members) {
      const { x, y } = points.get(v);
      graph.addNode(v, { x, y, size: sizeOf(degree(model, v)), label: model.nodes.name[v] });
    }
    const held = [];
    for (let k = 0; k < model.m; k++) if (inside(source[k]) && inside(target[k])) held.push(k);
    const curved = held.length <= BENDABLE;
    const boxes = curved ? boxesOf(points, (v) => Math.min(state.room, nameWidth(v)), state.below) : [];
    const strong = model.strength[Math.floor(held.length * 0.05)] || 1;
    state.many = held.length > MANY_EDGES;
    for (const k of held) {
      const curvature = curved ? bend(points, boxes, source[k], target[k]) : 0;
      const straight = curvature === 0;
      // The head grows with the line: in a small picture both can be thicker.
      const thick = (members.length <= 40 ? 2.2 : 1.2) + 2.4 * Math.sqrt(Math.min(1, model.strength[k] / strong));
      const headed = model.directed(k) && held.length <= ARROWS;
      const type = straight ? (headed ? "straight" : "headless") : headed ? "curve" : "plainCurve";
      const size = held.length <= ARROWS ? thick : 0.8;
      const label = `${number(model.edges.weight[k])}${model.directed(k) ? "" : "?"}`;
      graph.addDirectedEdgeWithKey(k, source[k], target[k], { k, curvature, type, size, label, negative: model.edges.weight[k] < 0 });
    }
    sigma.setSetting("renderEdgeLabels", held.length <= (host.clientWidth < 500 ? WEIGHTED / 3 : WEIGHTED));
    sigma.setSetting("enableEdgeEvents", held.length <= ARROWS);
  }

  function hover(k, at) {
    state.hovered = k;
    host.style.cursor = k === null ? "" : "pointer";
    onHover(k, at);
    redraw();
  }

  function redraw() {
    sigma.refresh({ skipIndexation: true });
  }

  onTheme(() => {
    state.ink = colours();
    redraw();
  });
  sigma.on("clickNode", ({ node }) => onNode(Number(node)));
  sigma.on("clickEdge", ({ edge }) => onEdge(Number(edge)));
  sigma.on("clickStage", onNothing);
  sigma.on("enterEdge", ({ edge, event }) => hover(Number(edge), event));
  sigma.on("leaveEdge", () => hover(null));
  sigma.on("enterNode", () => (host.style.cursor = "pointer"));
  sigma.on("leaveNode", () => (host.style.cursor = ""));
  host.addEventListener("keydown", (event) => steer(sigma, event, onNothing));
  let last = host.clientWidth * 10_000 + host.clientHeight;
  new ResizeObserver(() => {
    const now = host.clientWidth * 10_000 + host.clientHeight;
    if (now !== last) rebuild();
    last = now;
  }).observe(host);

  return {
    show(shown) {
      state.shown = shown;
      sigma.getCamera().setState({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
      rebuild();
    },
    has: (v) => graph.hasNode(v),
    chooseEdge(k) {
      state.edge = k;
      state.chosen = null;
      state.near = new Map([[model.edges.source[k], model.directed(k) ? "cause" : "chosen"], [model.edges.target[k], model.directed(k) ? "effect" : "chosen"]]);
      state.named = true;
      sigma.refresh();
    },
    choose(v) {
      state.chosen = v;
      state.edge = null;
      state.near = new Map();
      if (v !== null) {
        for (const k of model.parents[v]) state.near.set(model.edges.source[k], "cause");
        for (const k of model.children[v]) state.near.set(model.edges.target[k], "effect");
        state.named = neighbours(model, v).length <= NAMED_NEIGHBOURS;
      }
      // Not only a redraw: what is drawn over what changes.
      sigma.refresh();
    },
    goTo(v) {
      if (graph.order <= SURVEYABLE) return;
      const held = [v, ...neighbours(model, v)].filter((u) => graph.hasNode(u)).map((u) => sigma.getNodeDisplayData(String(u)));
      const [left, right] = span(held.map((at) => at.x));
      const [low, high] = span(held.map((at) => at.y));
      const ratio = Math.min(1, Math.max(0.08, 1.3 * Math.max(right - left, high - low)));
      sigma.getCamera().animate({ x: (left + right) / 2, y: (low + high) / 2, ratio }, { duration: motion() });
    },
    keep(keeps) {
      state.keeps = keeps;
      redraw();
    },
    counts() {
      return { nodes: graph.order, edges: graph.reduceEdges((sum, key) => sum + (state.keeps(Number(key)) ? 1 : 0), 0) };
    },
    // What a picture of what is on the screen takes: places in pixels, looks, names.
    scene() {
      const { width, height } = sigma.getDimensions();
      const nodes = graph.mapNodes((key, held) => ({ ...nodeLook(state, Number(key), held), ...sigma.graphToViewport(held), name: held.label, size: sigma.scaleSize(held.size) }));
      const at = new Map(graph.mapNodes((key) => key).map((key, k) => [key, nodes[k]]));
      const edges = graph.mapEdges((key, held, from, to) => ({ ...edgeLook(state, held, state.edge === null ? graph.hasExtremity(key, state.chosen) : Number(key) === state.edge), from: at.get(from), to: at.get(to), headed: model.directed(held.k), weighed: sigma.getSetting("renderEdgeLabels") }));
      return { width, height, nodes, edges: edges.filter((edge) => !edge.hidden), ink: state.ink, below: state.below, room: state.room };
    },
    edgeScreen(k) {
      const { left, top } = host.getBoundingClientRect();
      const [a, b] = graph.extremities(String(k)).map((v) => sigma.graphToViewport(graph.getNodeAttributes(v)));
      const bend = graph.getEdgeAttribute(String(k), "curvature") ?? 0;
      return { x: left + (a.x + b.x) / 2 - (bend * (a.y - b.y)) / 2, y: top + (a.y + b.y) / 2 - (bend * (b.x - a.x)) / 2 };
    },
    screen(v) {
      const { left, top } = host.getBoundingClientRect();
      const at = sigma.graphToViewport(graph.getNodeAttributes(v));
      return { x: left + at.x, y: top + at.y };
    },
    zoom: (out) => (out ? sigma.getCamera().animatedUnzoom({ duration: motion() }) : sigma.getCamera().animatedZoom({ duration: motion() })),
    reset: () => sigma.getCamera().animatedReset({ duration: motion() }),
  };
}

const motion = () => (window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 250);

const span = (values) => [Math.min(...values), Math.max(...values)];

// Pixels between neighbours of the fullest layer.
function roomFor(placed, length) {
  const held = new Map();
  for (const v of placed.members) held.set(Math.round(placed.x[v]), (held.get(Math.round(placed.x[v])) ?? 0) + 1);
  return length / Math.max(1, ...held.values());
}

function sizes(shown) {
  const [small, large] = shown <= 40 ? [7, 13] : shown <= 120 ? [5, 11] : shown <= 600 ? [2.8, 8] : shown <= 3000 ? [1.6, 6] : [0.8, 3];
  return (joined) => Math.min(large, small + Math.sqrt(joined) * (large - small) * 0.22);
}

function nodeLook(state, v, data) {
  const { ink, chosen } = state;
  const look = { ...data, color: ink.node };
  if (chosen === null && state.edge === null) return look;
  if (v === chosen) return { ...look, color: ink.chosen, forceLabel: true, zIndex: 3, size: data.size * 1.25, bold: true };
  const role = state.near.get(v);
  if (role) return { ...look, color: ink[role], forceLabel: state.named, zIndex: 2 };
  return { ...look, color: ink.faint, label: "", zIndex: 0 };
}

function edgeLook(state, data, touches) {
  const { ink, chosen } = state;
  if (!state.keeps(data.k)) return { ...data, hidden: true };
  const color = data.negative ? ink.negative : ink.positive;
  if (data.k === state.hovered) return { ...data, color: ink.chosen, zIndex: 3, size: data.size + 0.8 };
  if (chosen === null && state.edge === null) return { ...data, color: state.many ? mix(color, ink.surface, 0.35) : color };
  if (touches) return { ...data, color, zIndex: 2, size: data.size + 0.6 };
  // Without heads, which would lie over the chosen edges.
  return { ...data, color: ink["faint-edge"], zIndex: 0, label: "", type: data.type === "straight" ? "headless" : data.type };
}

// WebGL blends over what is there already; mixed colours stay what they are.
function mix(colour, ground, share) {
  const parts = [colour, ground].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return `#${parts[0].map((value, k) => Math.round(value * (1 - share) + parts[1][k] * share).toString(16).padStart(2, "0")).join("")}`;
}

function steer(sigma, event, onNothing) {
  const camera = sigma.getCamera();
  const step = 0.12 * camera.ratio;
  const pans = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
  if (pans[event.key]) camera.setState({ x: camera.x + pans[event.key][0], y: camera.y + pans[event.key][1] });
  else if (event.key === "+" || event.key === "=") camera.animatedZoom({ duration: motion() });
  else if (event.key === "-") camera.animatedUnzoom({ duration: motion() });
  else if (event.key === "0") camera.animatedReset({ duration: motion() });
  else if (event.key === "Escape") onNothing();
  else return;
  event.preventDefault();
}
