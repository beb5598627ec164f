// The step as objects, from the columns that graphc/page/packing.py has written. Names in it may hold anything: they get into
// the page as text only. The parts of the script stand in one function, which main.js closes.
(() => {
"use strict";
const data = globalThis.graphcStep;
delete globalThis.graphcStep;

const looked = ({ t, k }) => k.map((at) => t[at]);
const parsed = ({ t, k }) => {
  const read = t.map((text) => JSON.parse(text));
  return k.map((at) => read[at]);
};
const summed = (values) => {
  let sum = 0;
  return values.map((step) => (sum += step));
};

function ragged({ n, v }) {
  const all = summed(v);
  let at = 0;
  return n.map((count) => all.slice(at, (at += count)));
}

function aligned({ n, v }, bases) {
  let at = 0;
  return n.map((count, k) => v.slice(at, (at += count)).map((far) => bases[k] - far));
}

// An object per place of columns of one length.
function rowsOf(columns) {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, k) => Object.fromEntries([["k", k], ...names.map((name) => [name, columns[name][k]])]));
}

function readNodes(packed) {
  const id = summed(packed.id);
  const inputs = aligned(packed.inputs, id).map((row) => row.map((node) => [node, 0]));
  const [rows = [], places = [], slots = []] = packed.slots;
  rows.forEach((row, k) => {
    inputs[row][places[k]][1] = slots[k];
  });
  return rowsOf({
    id,
    inputs,
    op: looked(packed.op),
    name: packed.name,
    types: parsed(packed.types),
    after: aligned(packed.after, id),
    attrs: looked(packed.attrs),
    cell: summed(packed.cell),
    locs: parsed(packed.locs),
    region: looked(packed.region),
    fwd: packed.fwd.map((far, k) => (far ? id[k] - far : null)),
    param: looked(packed.param),
    graph: summed(packed.graph),
  });
}

const nodes = readNodes(data.nodes);
const byId = new Map(nodes.map((node) => [node.id, node]));
const calls = rowsOf({
  kernel: looked(data.calls.kernel),
  family: looked(data.calls.family),
  nodes: ragged(data.calls.nodes),
  reads: ragged(data.calls.reads),
  writes: ragged(data.calls.writes),
  branch: parsed(data.calls.branch),
  line: summed(data.calls.line),
  flops: data.calls.flops,
  bytes: data.calls.bytes,
  threads: data.calls.threads,
});
const buffers = rowsOf({
  id: summed(data.buffers.id),
  type: looked(data.buffers.type),
  bytes: data.buffers.bytes,
  space: looked(data.buffers.space),
  offset: data.buffers.offset,
  first: summed(data.buffers.first),
  last: summed(data.buffers.last),
  values: ragged(data.buffers.values),
  class: looked(data.buffers.class),
  name: data.buffers.name,
});
const rewrites = rowsOf({
  pass: looked(data.history.pass),
  rule: looked(data.history.rule),
  from: ragged(data.history.from),
  to: ragged(data.history.to),
});
const passes = rowsOf({
  name: data.passes.name,
  nodes: data.passes.nodes,
  ms: data.passes.ms,
  removed: ragged(data.passes.removed),
  added: ragged(data.passes.added),
  changed: ragged(data.passes.changed),
});
const gone = new Map(summed(data.passes.gone.id).map((id, k) => [id, data.passes.gone.text[k]]));
const cells = rowsOf(data.cells);
const kernels = new Map(data.kernels.name.map((name, k) => [name, { lines: data.kernels.lines[k], text: data.kernels.text[k] }]));
const stepLines = new Map(summed(data.step.line).map((line, k) => [line, data.step.text[k]]));
const profile = data.profile;

// ---- elements and words

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes, listeners (on...) and children; what is no element becomes text.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function shape(tag, attributes, parent) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

const count = (value) => value.toLocaleString("en");
const three = (value) => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(value >= 10 ? 3 : 2))));
const inUnits = (units) => (value) => {
  const [name, size] = units.find(([, least]) => value >= least) ?? units.at(-1);
  return value === 0 ? `0 ${name}` : `${three(value / size)} ${name}`;
};
const bytes = inUnits([
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
  ["B", 1],
]);
const work = inUnits([
  ["Gflop", 1e9],
  ["Mflop", 1e6],
  ["kflop", 1e3],
  ["flop", 1],
]);
const time = inUnits([
  ["s", 1e3],
  ["ms", 1],
  ["µs", 1e-3],
]);
const percent = (share) =>
  share >= 0.0995 ? `${(100 * share).toFixed(0)}%` : share >= 0.0005 ? `${(100 * share).toFixed(1)}%` : "";
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
const fileName = (path) => path.split("/").at(-1);
const total = (list, of) => list.reduce((sum, item) => sum + of(item), 0);

function place(loc) {
  return loc === undefined || loc === null ? "" : `${fileName(data.files[data.locs.file[loc]])}:${data.locs.line[loc]}`;
}

const valueText = ([node, slot]) => `%${node}${slot ? `#${slot}` : ""}`;
const typeText = (node) => (node.types.length === 1 ? node.types[0] : `(${node.types.join(", ")})`);

function nodeText(node) {
  const name = node.name ? ` ${node.name}` : "";
  const attrs = node.attrs ? ` {${node.attrs}}` : "";
  const after = node.after.length ? ` after(${node.after.map((id) => `%${id}`).join(", ")})` : "";
  return `%${node.id}${name}: ${typeText(node)} = ${node.op}(${node.inputs.map(valueText).join(", ")})${attrs}${after}`;
}
