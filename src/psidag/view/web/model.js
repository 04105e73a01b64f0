// The data of the page, and who is joined to whom.

export function readModel(text) {
  const held = JSON.parse(text);
  const { nodes, edges } = held;
  const d = nodes.name.length;
  const m = edges.source.length;
  const parents = lists(edges.target, d);
  const children = lists(edges.source, d);
  const strength = Float64Array.from(edges.standardised, (value, k) => Math.abs(value ?? edges.weight[k]));
  const reach = new Float64Array(d);
  for (let k = 0; k < m; k++) {
    reach[edges.source[k]] += strength[k];
    reach[edges.target[k]] += strength[k];
  }
  const directed = (k) => !edges.directed || edges.directed[k] === 1;
  return { ...held, d, m, parents, children, strength, reach, directed, index: new Map(nodes.name.map((name, v) => [name, v])) };
}

// For each vertex the numbers of its edges; edges come strongest first, and so do these.
function lists(ends, d) {
  const found = Array.from({ length: d }, () => []);
  ends.forEach((v, k) => found[v].push(k));
  return found;
}

// The two ends of an edge with what is between them.
export const edgeName = (model, k) => `${model.nodes.name[model.edges.source[k]]} ${model.directed(k) ? "→" : "—"} ${model.nodes.name[model.edges.target[k]]}`;

// Why the edge points as it does, in one sentence.
export function why(model, k) {
  const reason = model.reasons[model.edges.because?.[k] ?? -1];
  return reason ?? "The direction was given, or nothing was recorded about it.";
}

export const degree = (model, v) => model.parents[v].length + model.children[v].length;

export function neighbours(model, v) {
  const { source, target } = model.edges;
  return [...model.parents[v].map((k) => source[k]), ...model.children[v].map((k) => target[k])];
}

// Vertices around the given ones, nearest and most strongly joined first, as many as asked for at the most.
export function around(model, centres, most, keeps = () => true) {
  const found = new Set(centres);
  let edge = [...found];
  while (edge.length && found.size < most) {
    const next = [];
    for (const v of edge) {
      for (const k of [...model.parents[v], ...model.children[v]].sort((a, b) => a - b)) {
        const u = model.edges.source[k] === v ? model.edges.target[k] : model.edges.source[k];
        if (found.has(u) || found.size >= most || !keeps(k)) continue;
        found.add(u);
        next.push(u);
      }
    }
    edge = next;
  }
  return found;
}

export function hubs(model, most) {
  const ranked = Array.from({ length: model.d }, (_, v) => v).sort((a, b) => model.reach[b] - model.reach[a]);
  return ranked.slice(0, most);
}
