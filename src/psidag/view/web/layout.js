// Places on the screen. The whole graph comes laid out; a part of it is packed anew, layer by layer.

const SWEEPS = 8;
// Fuller layers are staggered.
const COLUMN = 16;
const STAGGER = 0.5;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

// Coordinates of the vertices in units of one vertex: as they came, or packed if only a part is shown.
export function place(model, shown) {
  const { nodes } = model;
  if (!shown) return { x: nodes.x, y: nodes.y, members: Array.from({ length: model.d }, (_, v) => v) };
  const members = [...shown];
  const x = {};
  const y = {};
  const depth = longestPaths(model, members, shown);
  const layers = [];
  for (const v of members) (layers[depth.get(v)] ??= []).push(v);
  for (const layer of layers) {
    layer.sort((a, b) => nodes.y[a] - nodes.y[b]);
    spread(layer, y);
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wish = new Map(layer.map((v) => [v, barycentre(model, shown, v, y)]));
      layer.sort((a, b) => wish.get(a) - wish.get(b));
      spread(layer, y);
    }
  }
  for (const layer of layers) {
    const shift = layer.length > COLUMN ? STAGGER : 0;
    layer.forEach((v, k) => (x[v] = depth.get(v) + shift * (((k * GOLDEN) % 1) - 0.5)));
  }
  return { x, y, members };
}

function longestPaths(model, members, shown) {
  const { source, target } = model.edges;
  const ordered = [...members].sort((a, b) => model.nodes.position[a] - model.nodes.position[b]);
  const depth = new Map(ordered.map((v) => [v, 0]));
  for (const v of ordered) {
    for (const k of model.children[v]) {
      if (shown.has(target[k])) depth.set(target[k], Math.max(depth.get(target[k]), depth.get(v) + 1));
    }
  }
  for (const v of [...ordered].reverse()) {
    if (model.parents[v].some((k) => shown.has(source[k]))) continue;
    const below = model.children[v].filter((k) => shown.has(target[k])).map((k) => depth.get(target[k]));
    if (below.length) depth.set(v, Math.min(...below) - 1);
  }
  return depth;
}

function barycentre(model, shown, v, y) {
  const { source, target } = model.edges;
  let sum = 0;
  let count = 0;
  for (const k of model.parents[v]) if (shown.has(source[k])) (sum += y[source[k]]), count++;
  for (const k of model.children[v]) if (shown.has(target[k])) (sum += y[target[k]]), count++;
  return count ? sum / count : y[v];
}

function spread(layer, y) {
  layer.forEach((v, k) => (y[v] = (k + 0.5) / layer.length));
}

// Stretch to the shape of the frame: causes left, or on top where the frame is higher than wide.
export function stretch({ x, y, members }, width, height, upright = height > width) {
  const across = range(members, roomy(members, x));
  const along = range(members, y);
  const points = new Map();
  for (const v of members) {
    const far = across(v);
    const side = along(v);
    points.set(v, upright ? { x: side * width, y: (1 - far) * height } : { x: far * width, y: (1 - side) * height });
  }
  return points;
}

// Full layers, between which most edges run, get more room than those of a few vertices.
function roomy(members, x) {
  const held = new Map();
  for (const v of members) held.set(Math.round(x[v]), (held.get(Math.round(x[v])) ?? 0) + 1);
  const first = Math.min(...held.keys());
  const last = Math.max(...held.keys());
  const start = [0];
  for (let k = first; k < last; k++) start.push(start.at(-1) + 2 + Math.sqrt(Math.min(held.get(k) ?? 0, held.get(k + 1) ?? 0)));
  const width = (k) => (start[k + 1] ?? start[k] + 3) - start[k];
  const warped = {};
  for (const v of members) {
    const k = Math.max(0, Math.min(Math.floor(x[v] - first), start.length - 1));
    warped[v] = start[k] + (x[v] - first - k) * width(k);
  }
  return warped;
}

function range(members, values) {
  let low = Infinity;
  let high = -Infinity;
  for (const v of members) {
    low = Math.min(low, values[v]);
    high = Math.max(high, values[v]);
  }
  return (v) => (high > low ? (values[v] - low) / (high - low) : 0.5);
}

const BENDS = [0, -0.06, 0.06, -0.12, 0.12, -0.2, 0.2, -0.3, 0.3];
// No edge passes a vertex closer than this many pixels if it can help it: its weight stands there, too.
const NEAR = 18;
const SAMPLES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

// How far an edge bends so as to run through the fewest of the boxes (of vertices and names); not at all, if it can.
export function bend(points, boxes, from, to) {
  const a = points.get(from);
  const b = points.get(to);
  let best = BENDS[0];
  let fewest = Infinity;
  for (const curvature of BENDS) {
    const middle = { x: (a.x + b.x) / 2 - (b.y - a.y) * curvature, y: (a.y + b.y) / 2 + (b.x - a.x) * curvature };
    const path = SAMPLES.map((t) => ({ x: quadratic(a.x, middle.x, b.x, t), y: quadratic(a.y, middle.y, b.y, t) }));
    let hits = 0;
    for (const box of boxes) {
      if (box.owner === from || box.owner === to) continue;
      for (const p of path) if (p.x > box.left && p.x < box.right && p.y > box.low && p.y < box.high) hits++;
    }
    if (hits < fewest) [best, fewest] = [curvature, hits];
    if (!fewest) break;
  }
  return best;
}

const quadratic = (a, middle, b, t) => (1 - t) * (1 - t) * a + 2 * t * (1 - t) * middle + t * t * b;

// The room that vertices and their names take, in the coordinates of `points` (upwards).
export function boxesOf(points, nameWidth, below) {
  const boxes = [];
  for (const [owner, { x, y }] of points) {
    const wide = nameWidth(owner);
    boxes.push({ owner, left: x - NEAR, right: x + NEAR, low: y - NEAR, high: y + NEAR });
    boxes.push(below ? { owner, left: x - wide / 2, right: x + wide / 2, low: y - 40, high: y - 10 } : { owner, left: x + 8, right: x + 12 + wide, low: y - 8, high: y + 8 });
  }
  return boxes;
}
