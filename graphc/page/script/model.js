// What follows from the step: who uses whom, gradients and updates by their forward node and weight, costs, the overflow order.

const graphs = data.graphs;
const outer = graphs.node.indexOf(-1);
const isOuter = (node) => node.graph === outer;

function listed(pairs) {
  const found = new Map();
  for (const [key, value] of pairs) found.has(key) ? found.get(key).push(value) : found.set(key, [value]);
  return found;
}

const users = listed(nodes.flatMap((node) => [...new Set(node.inputs.map(([id]) => id))].map((id) => [id, node])));
const waiters = listed(nodes.flatMap((node) => node.after.map((id) => [id, node])));
const gradients = listed(nodes.filter((n) => n.region === "backward" && n.fwd !== null).map((n) => [n.fwd, n]));
const callsOf = listed(calls.flatMap((call) => call.nodes.map((id) => [id, call])));
const buffersOf = listed(buffers.flatMap((buffer) => buffer.values.map((id) => [id, buffer])));
const inner = listed(graphs.node.map((owner, k) => [owner, k]).filter(([owner]) => owner !== -1));
const byGraph = listed(nodes.map((node) => [node.graph, node]));

// ---- weights and what updates them

const parameters = nodes.filter((node) => node.op === "Param" && isOuter(node));
const silent = new Set(["Input", "Param", "Constant"]);

function reached(from) {
  const seen = new Set(from),
    stack = [...from];
  while (stack.length) {
    const id = stack.pop();
    for (const next of [...(users.get(id) ?? []), ...(waiters.get(id) ?? [])]) {
      if (!seen.has(next.id)) {
        seen.add(next.id);
        stack.push(next.id);
      }
    }
  }
  return seen;
}

// What a step of one's own does with gradients stands in no region of its own: it comes behind them all the same.
const late = reached(
  nodes.filter((n) => (n.region === "backward" && n.fwd !== null) || n.op === "ClearFloatStatus").map((n) => n.id),
);
const isForward = (node) => node.region === "forward" && isOuter(node) && !silent.has(node.op) && !late.has(node.id);

// It belongs to a weight as long as it depends on the gradient of that one alone.
function adopted() {
  for (const node of nodes) {
    if (node.param !== null || node.region !== "forward" || !late.has(node.id) || !isOuter(node)) continue;
    const names = new Set(
      node.inputs
        .map(([id]) => byId.get(id))
        .filter((from) => from && late.has(from.id))
        .map(
          (from) => from.param ?? (from.region === "backward" && from.name.startsWith("grad.") ? from.name.slice(5) : undefined),
        ),
    );
    const [name] = names;
    if (names.size === 1 && name !== undefined) node.param = name;
  }
}
adopted();
const owned = listed(
  nodes.filter((n) => n.param !== null && n.region !== "backward" && n.op !== "Param").map((n) => [n.param, n]),
);
const named = new Set(nodes.map((node) => node.name));
const isTrained = (param) => !/trainable=False/.test(param.attrs) && (owned.has(param.name) || named.has(`grad.${param.name}`));
const trained = new Set(parameters.filter(isTrained).map((param) => param.id));
const updates = new Map(graphs.updates[outer].map(([param, value]) => [param, Number(/\d+/.exec(value)[0])]));
const forward = nodes.filter(isForward);

// The forward node that reads a parameter first: where its update stands.
const readers = new Map();
for (const node of forward) {
  for (const [id] of node.inputs) if (byId.get(id)?.op === "Param" && !readers.has(id)) readers.set(id, node.id);
}
const weightsAt = listed([...readers].filter(([id]) => trained.has(id)).map(([id, reader]) => [reader, byId.get(id)]));

// State that the forward part writes, moving averages for instance: it does not pass the gate.
function writtenForward() {
  const found = [];
  for (const [id, value] of updates) {
    const written = byId.get(value),
      reader = readers.get(id);
    if (!trained.has(id) && written && isForward(written)) found.push([reader ?? value, byId.get(id)]);
  }
  return listed(found);
}
const stateAt = writtenForward();

const updateNodes = (param) => owned.get(param.name) ?? [];
// Nodes of branches and loops stand with the node that holds them.
function within(list) {
  const held = list.flatMap((node) => inner.get(node.id) ?? []).flatMap((graph) => byGraph.get(graph) ?? []);
  return held.length ? [...list, ...within(held)] : list;
}

// What belongs to no forward node and to no single weight.
function leftOver() {
  const placed = within(forward),
    own = new Set(placed.map((node) => node.id));
  for (const node of within(placed.flatMap((node) => gradients.get(node.id) ?? []))) own.add(node.id);
  for (const param of [...weightsAt.values()].flat()) for (const node of updateNodes(param)) own.add(node.id);
  return nodes.filter((node) => (!silent.has(node.op) || callsOf.has(node.id)) && !own.has(node.id));
}
const shared = leftOver();

// ---- the overflow order

function overflowOrder() {
  const check = nodes.find((node) => node.op === "GetFloatStatus" && isOuter(node));
  if (!check) return null;
  let clear = byId.get(check.inputs[0][0]);
  while (clear?.op === "Depend") clear = byId.get(clear.inputs[0][0]);
  if (clear?.op !== "ClearFloatStatus") return null;
  const behind = reached([clear.id]),
    decided = reached([check.id]);
  const tested = check.inputs.slice(1).map(([id]) => id);
  const update = nodes.find((node) => node.op === "If" && isOuter(node) && decided.has(node.id));
  return {
    loss: byId.get(clear.after[0]),
    clear,
    held: (waiters.get(clear.id) ?? [])[0],
    check,
    update,
    tested: tested.length,
    ordered: tested.filter((id) => behind.has(id)).length,
    last: update && (waiters.get(update.id) ?? [])[0],
  };
}
const order = overflowOrder();

// ---- costs: milliseconds of a profiled step, else floating point operations

const timed = profile !== null;
const cost = (call) => (timed ? profile.ms[call.k] : call.flops);
const costText = timed ? time : work;
const allCost = total(calls, cost);
// Calls that compute no node: copies to where a value must be.
const copying = total(
  calls.filter((call) => !call.nodes.length),
  cost,
);

const SIZES = { b1: 1, i8: 1, u8: 1, i16: 2, f16: 2, bf16: 2, i32: 4, f32: 4, i64: 8, f64: 8, c64: 8, c128: 16 };
const sizes = new Map();
function sizeOf(type) {
  if (!sizes.has(type)) {
    const [, dtype, shape] = /^(\w+)\[([\d,]*)\]/.exec(type) ?? [];
    sizes.set(
      type,
      dtype ? (SIZES[dtype] ?? 4) * shape.split(",").reduce((n, axis) => n * (axis === "" ? 1 : Number(axis)), 1) : 0,
    );
  }
  return sizes.get(type);
}
const bytesOf = (node) => total(node.types, sizeOf);

// A call that computes several nodes: its cost is shared among them by their bytes, products counting 64 times.
const weight = (node) => Math.max(bytesOf(node), 64) * (/MatMul|Conv|Attention/.test(node.op) ? 64 : 1);
const shareOf = new Map();
for (const call of calls) {
  const of = call.nodes.map((id) => byId.get(id)).filter(Boolean),
    all = total(of, weight);
  for (const node of of) shareOf.set(node.id, (shareOf.get(node.id) ?? 0) + (cost(call) * weight(node)) / all);
}

// {value, exact} of a set of nodes; exact where every call that computes one of them computes nothing else.
function costOf(list) {
  const inside = new Set(list.map((node) => node.id));
  let exact = true;
  for (const id of inside) {
    if (exact && (callsOf.get(id) ?? []).some((call) => call.nodes.some((other) => !inside.has(other)))) exact = false;
  }
  return { value: total([...inside], (id) => shareOf.get(id) ?? 0), exact };
}
