// The rows: forward nodes in execution order as a tree of Cells, repeated Cells folded, and what a first glance opens.

const GLANCE = 30;

const chains = new Map();
// The Cells from the outermost one to this one.
function chainOf(cell) {
  if (cell < 0) return [];
  if (!chains.has(cell)) chains.set(cell, [...chainOf(cells[cell].parent), cell]);
  return chains.get(cell);
}

// A list of Cells has no row of its own: its members stand in it under their whole name, blocks.0.
const isList = (cell) => /^(CellList|CellDict|)$/.test(cells[cell].class) && cells[cell].path !== "";
const visibleChain = (cell) => chainOf(cell).filter((index) => !isList(index));

function labelOf(cell, above) {
  const path = cells[cell].path,
    outside = above === undefined ? "" : cells[above].path;
  return (outside !== "" && path.startsWith(`${outside}.`) ? path.slice(outside.length + 1) : path) || cells[cell].class;
}

function commonDepth(list) {
  const first = list.length ? visibleChain(list[0].cell) : [];
  return list.reduce((depth, node) => {
    const chain = visibleChain(node.cell);
    let k = 0;
    while (k < depth && chain[k] === first[k]) k++;
    return k;
  }, first.length);
}

// Items are nodes, or groups {label, cell, items, nodes, key}. Runs, not sets: a Cell that is called twice has two rows.
function grouped(list, depth, key) {
  const items = [],
    seen = new Map();
  let run = null;
  for (const node of list) {
    const chain = visibleChain(node.cell);
    if (chain.length <= depth) {
      items.push(node);
      run = null;
      continue;
    }
    if (run === null || run.cell !== chain[depth]) {
      run = { cell: chain[depth], label: labelOf(chain[depth], chain[depth - 1]), nodes: [] };
      items.push(run);
    }
    run.nodes.push(node);
  }
  for (const item of items)
    if (item.nodes) {
      const times = (seen.get(item.label) ?? 0) + 1;
      seen.set(item.label, times);
      item.key = `${key}/${item.label}${times > 1 ? `#${times}` : ""}`;
      item.items = grouped(item.nodes, depth + 1, item.key);
    }
  return items.map((item) => (item.nodes ? item : branched(item, depth, key)));
}

// A node with subgraphs, an If, a While or a Scan, is a group of what they hold.
function branched(node, depth, key) {
  if (!inner.has(node.id)) return node;
  const own = `${key}/%${node.id}`;
  const arms = inner
    .get(node.id)
    .map((graph) => {
      const list = (byGraph.get(graph) ?? []).filter((n) => n.region === "forward" && !silent.has(n.op));
      const armKey = `${own}/${graphs.attribute[graph]}`;
      return { label: graphs.attribute[graph], cell: -1, nodes: list, key: armKey, items: grouped(list, depth, armKey) };
    })
    .filter((arm) => arm.nodes.length);
  return arms.length
    ? { label: node.op, cell: -1, owner: node, key: own, items: arms, nodes: [node, ...arms.flatMap((arm) => arm.nodes)] }
    : node;
}

const signatures = new Map();
function signature(item) {
  if (!item.items) return `${item.op}${item.types}`;
  if (item.signature === undefined) {
    const text = item.items.map(signature).join(" ");
    if (!signatures.has(text)) signatures.set(text, `(${signatures.size})`);
    item.signature = signatures.get(text);
  }
  return item.signature;
}

const rootDepth = commonDepth(forward);
const tree = grouped(forward, rootDepth, "");
const rootName = rootDepth ? cells[visibleChain(forward[0].cell)[rootDepth - 1]].path : "";

// Neighbours of the same signature as one run: [[first, ..., last], ...] of places in the list. Those that are to be seen one by
// one are runs of their own.
function runsOf(items) {
  const runs = [];
  items.forEach((item, k) => {
    const before = items[k - 1],
      same = before?.items && item.items && item.nodes.length > 1 && signature(before) === signature(item);
    same ? runs.at(-1).push(k) : runs.push([k]);
  });
  return runs.flatMap((run) => (state.unfolded.has(items[run[0]].key) ? run.map((k) => [k]) : [run]));
}

const isLibrary = (cell) =>
  cell >= 0 &&
  cells[cell].loc !== null &&
  /(^|[\\/])graphc[\\/](nn|mint|experimental)[\\/]/.test(data.files[data.locs.file[cells[cell].loc]]);

// Opens the largest group again and again, until there are about as many rows as fit on a screen.
function firstGlance() {
  const open = new Set(),
    sizeOfRun = (items) => runsOf(items).length;
  const closed = (items) =>
    runsOf(items)
      .filter((run) => items[run[0]].items)
      .map((run) => ({ item: items[run[0]], size: total(run, (k) => items[k].nodes.length) }));
  const waiting = closed(tree);
  let rows = sizeOfRun(tree);
  while (waiting.length) {
    waiting.sort((a, b) => a.size - b.size);
    const { item } = waiting.pop(),
      more = sizeOfRun(item.items);
    if (item.nodes.length < 2 || (isLibrary(item.cell) && forward.length > 40)) continue;
    // Rather some rows too many than a picture of three boxes.
    if (rows + more > GLANCE && (rows >= GLANCE / 2 || rows + more > 2 * GLANCE)) continue;
    open.add(item.key);
    rows += more;
    waiting.push(...closed(item.items));
  }
  return open;
}

function everyKey(items, found = new Set()) {
  for (const item of items)
    if (item.items) {
      found.add(item.key);
      everyKey(item.items, found);
    }
  return found;
}

// A name for a run of Cells: blocks.0–3.
function runLabel(first, last) {
  const [, head, from] = /^(.*?)(\d+)$/.exec(first.label) ?? [],
    [, tail, to] = /^(.*?)(\d+)$/.exec(last.label) ?? [];
  return head !== undefined && head === tail ? `${head}${from}–${to}` : `${first.label} … ${last.label}`;
}

// A row: {key, label, depth, all, open, leaf}. `all` are the items that it stands for, the folded ones too, all of one form.
function buildRows() {
  const found = [];
  const visit = (copies, depth) => {
    for (const run of runsOf(copies[0])) {
      const all = copies.flatMap((items) => run.map((k) => items[k])),
        first = all[0];
      if (!first.items) {
        found.push({ kind: "node", key: `%${first.id}`, depth, all, leaf: true });
        continue;
      }
      const label = run.length > 1 ? runLabel(first, copies[0][run.at(-1)]) : first.label;
      const single = first.nodes.length === 1 && !first.items[0].items;
      if (single) {
        found.push({
          kind: "node",
          key: `%${first.nodes[0].id}`,
          label,
          depth,
          all: all.map((g) => g.nodes[0]),
          cell: first.cell,
          leaf: true,
        });
        continue;
      }
      const open = state.open.has(first.key);
      const folds = run.length > 1;
      const row = { kind: "group", key: first.key, label, depth, all, open, leaf: !open, cell: first.cell, folds };
      // An If or a loop that is open stands on its row itself: its gradient and its weights are those of no node inside.
      found.push(open && first.owner ? { ...row, all: all.map((item) => item.owner), leaf: true, holder: true } : row);
      if (open)
        visit(
          all.map((item) => item.items),
          depth + 1,
        );
    }
  };
  visit([tree], 0);
  return [...found, ...sharedRows()].map((row, index) => ({ ...row, index }));
}

// What belongs to no forward node and to no single weight: loss scale, check and what all weights share.
function sharedRows() {
  const groups = [
    ["loss scale and check", shared.filter((n) => n.region !== "optimizer")],
    ["shared by all updates", shared.filter((n) => n.region === "optimizer")],
  ];
  return groups
    .filter(([, list]) => list.length)
    .map(([label, list]) => ({
      kind: "shared",
      key: `/${label}`,
      label,
      depth: 0,
      all: [],
      leaf: true,
      list,
      copies: list.some((n) => n.region === "optimizer"),
    }));
}

const forwardOf = (item) => (item.items ? item.nodes : [item]);

// What stands on a row: nodes of the first copy, all nodes, gradients, weights, costs, saved bytes. Computed once.
const facts = new WeakMap();
function factsOf(row) {
  if (facts.has(row)) return facts.get(row);
  const every = row.all.flatMap(forwardOf),
    first = row.all.length ? forwardOf(row.all[0]) : [];
  const gradientOf = (list) => list.flatMap((node) => gradients.get(node.id) ?? []);
  const weights = every.flatMap((node) => weightsAt.get(node.id) ?? []),
    written = every.flatMap((node) => stateAt.get(node.id) ?? []);
  const backward = within(gradientOf(every)),
    updating = weights.flatMap(updateNodes),
    others = row.list ?? [];
  // What stands inside an open If has rows of its own.
  const parts = [costOf(row.holder ? every : within(every)), costOf(backward), costOf([...updating, ...others])];
  if (row.copies) parts[2].value += copying;
  const made = {
    first,
    every,
    gradient: gradientOf(first),
    backward,
    weights,
    written,
    updating,
    parts,
    times: row.all.length,
    value: total(parts, (part) => part.value),
    exact: parts.every((part) => part.exact),
    saved: total(every, savedOf),
    memory: memoryOf(row),
  };
  facts.set(row, made);
  return made;
}

// Bytes alive when the row's forward is done and when its gradient begins, [least, most] over the copies it stands for.
function memoryOf(row) {
  const range = (of) => {
    const values = row.all.map(of).filter((v) => v !== null);
    return values.length ? [Math.min(...values), Math.max(...values)] : null;
  };
  const at = (list, pick) => {
    const found = within(list).flatMap((node) => (callsOf.get(node.id) ?? []).map((call) => alive[call.k]));
    return found.length ? Math[pick](...found) : null;
  };
  return {
    forward: range((item) => at(forwardOf(item), "max")),
    backward: range((item) =>
      at(
        forwardOf(item).flatMap((node) => gradients.get(node.id) ?? []),
        "max",
      ),
    ),
  };
}

// The row on which a node stands, and the part of it: forward, gradient, update.
function placeOf(id) {
  const node = byId.get(id);
  if (!node) return null;
  if (node.region === "backward" && node.fwd !== null && layout.rowOf.has(node.fwd))
    return { row: layout.rowOf.get(node.fwd), part: "backward" };
  if (layout.rowOf.has(id)) return { row: layout.rowOf.get(id), part: "forward" };
  const param = node.param ?? (node.op === "Param" ? node.name : null);
  if (param !== null && layout.rowOfParam.has(param)) return { row: layout.rowOfParam.get(param), part: "update" };
  if (layout.rowOfShared.has(id)) return { row: layout.rowOfShared.get(id), part: "update" };
  // Of what stands in a branch or loop and has no row the place of the node that holds it.
  return isOuter(node) ? null : placeOf(graphs.node[node.graph]);
}

// The node that stands for one of a branch or loop of a gradient or an update: the outermost that holds it.
function standsFor(node) {
  return isOuter(node) || node.region === "forward" ? node : standsFor(byId.get(graphs.node[node.graph]));
}

// Opens what a node stands in, unfolding a repeated Cell if it is not the one that is shown.
function reveal(id) {
  const node = standsFor(byId.get(id));
  const param = node.param !== null ? parameters.find((p) => p.name === node.param) : node.op === "Param" ? node : undefined;
  const target = node.region === "backward" && node.fwd !== null ? node.fwd : param ? readers.get(param.id) : node.id;
  const path = (items) => {
    for (const run of runsOf(items)) {
      for (const k of run) {
        const item = items[k];
        if (item.id === target) return [];
        if (!item.items) continue;
        if (item.owner?.id === target) return [item.key];
        if (!within(item.nodes).some((n) => n.id === target)) continue;
        if (k !== run[0]) state.unfolded.add(items[run[0]].key);
        return [item.key, ...(path(item.items) ?? [])];
      }
    }
    return null;
  };
  const keys = path(tree) ?? [];
  const before = state.open.size + state.unfolded.size;
  for (const key of keys) state.open.add(key);
  return state.open.size + state.unfolded.size !== before || keys.length > 0;
}
