// Where rows and columns stand, for the width that there is.

const HEIGHT = 26,
  TURN = 92;
const layout = { rows: [], rowOf: new Map(), rowOfParam: new Map(), rowOfShared: new Map(), columns: [], width: 0, arcs: [] };
const hasGradient = gradients.size > 0,
  hasUpdate = weightsAt.size + stateAt.size > 0 || shared.length > 0;

// [name, least width, share of the rest]: what is left out on a narrow screen has width 0.
function columnsFor(width) {
  const narrow = width < 620,
    tight = hasGradient && width < 1000;
  const plan = [
    ["tree", narrow ? Math.min(150, width * 0.36) : tight ? 170 : 214, 0],
    ["file", narrow || tight ? 0 : 112, 0], // Of which a part is for the arcs.
    ["forward", narrow ? 50 : 120, 5],
    ["saved", !hasGradient ? 0 : narrow ? 6 : 54, 0],
    ["gradient", !hasGradient ? 0 : narrow ? 50 : 130, 5],
    ["gate", !hasUpdate ? 0 : narrow ? 14 : 34, 0],
    ["update", !hasUpdate ? 0 : narrow ? 62 : tight ? 114 : 140, 0],
    ["cost", narrow ? 0 : 86, 0],
    ["alive", narrow || !inArena.length ? 0 : tight ? 78 : 98, 0],
  ];
  const rest = Math.max(0, width - total(plan, ([, least]) => least)),
    shares = total(plan, ([, least, share]) => (least ? share : 0)) || 1;
  let x = 0;
  return plan.map(([name, least, share]) => {
    const wide = Math.floor(least + (least ? (rest * share) / shares : 0));
    x += wide;
    return { name, x: x - wide, width: wide };
  });
}
const column = (name) => layout.columns.find((c) => c.name === name);

function arrange() {
  layout.rows = buildRows();
  layout.rowOf = new Map();
  layout.rowOfParam = new Map();
  layout.rowOfShared = new Map();
  let leaf = 0;
  for (const row of layout.rows) {
    row.leafIndex = row.leaf ? leaf++ : leaf;
    // A header holds its nodes until the rows below it take them.
    const list = row.list ?? row.all.flatMap(forwardOf);
    for (const node of list) (row.list ? layout.rowOfShared : layout.rowOf).set(node.id, row);
  }
  for (const row of layout.rows)
    if (row.leaf)
      for (const node of row.all.flatMap(forwardOf)) {
        for (const param of [...(weightsAt.get(node.id) ?? []), ...(stateAt.get(node.id) ?? [])])
          layout.rowOfParam.set(param.name, row);
      }
  layout.most = Math.max(1e-12, ...layout.rows.filter((row) => row.leaf).map((row) => factsOf(row).value));
  layout.mostPart = Math.max(
    1e-12,
    ...layout.rows.filter((row) => row.leaf).flatMap((row) => factsOf(row).parts.map((part) => part.value)),
  );
  layout.arcs = residuals();
}

// What is shared by all updates stands below the turn.
const topOf = (row) => row.index * HEIGHT + (row.kind === "shared" && order ? TURN : 0);
const middle = (row) => topOf(row) + HEIGHT / 2;
const bottom = () => layout.rows.filter((row) => row.kind !== "shared").length * HEIGHT;

// Edges that pass over a row: those of neighbours are left out, and so is what constants, weights and inputs feed.
function residuals() {
  const found = new Map();
  const add = (from, to, side) => {
    const distance = Math.abs(from.leafIndex - to.leafIndex);
    if (from === to || distance <= 1 || !from.leaf || !to.leaf) return;
    found.set(`${side}${from.index}-${to.index}`, {
      from: Math.min(from.index, to.index),
      to: Math.max(from.index, to.index),
      side,
      distance,
    });
  };
  for (const row of layout.rows)
    if (row.leaf && row.all.length) {
      const own = factsOf(row);
      for (const node of own.first)
        for (const [id] of node.inputs) {
          const from = layout.rowOf.get(id);
          if (from && from.index < row.index) add(from, row, "forward");
        }
      for (const node of own.gradient)
        for (const [id] of node.inputs) {
          const source = byId.get(id),
            computed = source?.region === "backward" && source.fwd !== null && source.inputs.length > 0,
            from = computed ? layout.rowOf.get(source.fwd) : undefined;
          if (from && from.index > row.index) add(from, row, "gradient");
        }
    }
  return [...found.values()];
}
