// Lines over the rows: rails, residual arcs, crossings of the gate, the turn at the bottom, edges of what is selected.

function drawLines(from, to) {
  for (const svg of [canvas.lines, canvas.over]) {
    svg.replaceChildren();
    svg.setAttribute("width", layout.width);
    svg.setAttribute("height", layout.rows.length * HEIGHT + TURN);
  }
  const first = Math.max(0, from * HEIGHT),
    last = Math.min(layout.rows.length, to) * HEIGHT,
    fw = column("forward"),
    bw = column("gradient"),
    gate = column("gate");
  shape("line", { class: "rail fw", x1: fw.x + 14, x2: fw.x + 14, y1: first, y2: bottom() }, canvas.lines);
  if (bw.width) shape("line", { class: "rail bw", x1: bw.x + 14, x2: bw.x + 14, y1: first, y2: bottom() }, canvas.lines);
  if (order)
    shape(
      "line",
      {
        class: "gateline",
        x1: gate.x + gate.width / 2,
        x2: gate.x + gate.width / 2,
        y1: 0,
        y2: Math.min(last + HEIGHT, bottom()),
      },
      canvas.lines,
    );
  for (let index = from; index < Math.min(to, layout.rows.length); index++) crossings(layout.rows[index]);
  for (const arc of layout.arcs) if (arc.to >= from && arc.from < to) drawArc(arc);
  if (state.selected !== null) selectedEdges();
}

function crossings(row) {
  if (!row.leaf || row.kind === "shared") return;
  const own = factsOf(row),
    y = middle(row),
    gate = column("gate"),
    gradient = column("gradient"),
    saved = column("saved"),
    fw = column("forward");
  if (own.saved && saved.width)
    shape("line", { class: "savedline", x1: fw.x + fw.width - 4, x2: saved.x + saved.width, y1: y, y2: y }, canvas.lines);
  if (own.weights.length && gate.width)
    shape(
      "line",
      { class: order ? "cross" : "plaincross", x1: gradient.x + gradient.width - 3, x2: gate.x + gate.width + 2, y1: y, y2: y },
      canvas.lines,
    );
}

function drawArc({ from, to, side, distance }) {
  const y1 = middle(layout.rows[from]),
    y2 = middle(layout.rows[to]),
    narrow = layout.width < 620;
  const bend = Math.min(narrow ? 12 : 46, 8 + 7 * Math.log2(distance + 1));
  if (side === "forward") {
    const x = column("forward").x + 1;
    shape("path", { class: "arc fw", d: `M${x} ${y1}C${x - bend} ${y1 + 4} ${x - bend} ${y2 - 4} ${x} ${y2}` }, canvas.lines);
  } else {
    const x = column("gate").x + 1,
      small = Math.min(bend, column("gate").width / 2 - 2 + (8 * Math.log2(distance)) / 4);
    shape(
      "path",
      { class: "arc bw", d: `M${x - 4} ${y1}C${x + small} ${y1 + 4} ${x + small} ${y2 - 4} ${x - 4} ${y2}` },
      canvas.lines,
    );
  }
}

// ---- the turn: loss, clear, loss scale, and up again

function drawTurn() {
  const y = bottom(),
    fw = column("forward"),
    bw = column("gradient");
  if (!order) return;
  const x1 = fw.x + 14,
    x2 = bw.x + 14,
    low = y + 34,
    narrow = layout.width < 620;
  const turn = shape(
    "svg",
    { class: "lines turn", "aria-hidden": "true", width: layout.width, height: layout.rows.length * HEIGHT + TURN },
    canvas.body,
  );
  shape(
    "path",
    {
      class: "turnline",
      d: `M${x1} ${y}V${low - 8}Q${x1} ${low} ${x1 + 8} ${low}H${x2 - 8}Q${x2} ${low} ${x2} ${low - 8}V${y + 12}`,
    },
    turn,
  );
  shape("path", { class: "turnhead", d: `M${x2 - 5} ${y + 13}L${x2} ${y + 3}L${x2 + 5} ${y + 13}Z` }, turn);
  const pill = (x, at, text, node, about, kind = "") => {
    if (!node) return;
    const made = element(
      "button",
      {
        class: `pill ${kind}`,
        "data-pill": node.id,
        title: `${nodeText(node)}\n${about}`,
        onclick: (event) => {
          event.stopPropagation();
          select(node.id, false);
        },
      },
      text,
    );
    made.style.left = `${10 + x}px`;
    made.style.top = `${at}px`;
    canvas.body.append(made);
  };
  const gap = x2 - x1,
    gate = column("gate");
  pill(x1 + 12, low - 11, narrow ? "1" : gap > 210 ? "1 loss" : "1", order.loss, "computed before the status is cleared");
  pill(
    x1 + (narrow ? 42 : gap > 210 ? 74 : 40),
    low - 11,
    narrow ? "2" : "2 clear status",
    order.clear,
    "what overflowed before is forgotten",
  );
  pill(
    x2 + 14,
    low - 11,
    narrow ? "3 scale" : "3 loss scale starts the gradient",
    order.held,
    "waits for the cleared status",
    "warmer",
  );
  pill(
    gate.x + gate.width / 2 - (narrow ? 62 : 92),
    low + 16,
    narrow ? "4 finite?" : "4 finite? then update",
    order.update ?? order.check,
    `tests ${plural(order.tested, "gradient")}`,
    "red",
  );
  if (order.last && !narrow) pill(x1 + 12, low + 16, "5 loss is returned", order.last, "waits for the update");
}

// ---- what is selected

function selectedEdges() {
  const node = byId.get(state.selected),
    here = placeOf(state.selected);
  if (!node || !here) return;
  const link = (from, to, kind) => {
    const a = placeOf(from),
      b = placeOf(to);
    if (!a || !b || a.row === b.row) return;
    const [x1, s1] = anchor(a, b),
      [x2, s2] = anchor(b, a),
      y1 = middle(a.row),
      y2 = middle(b.row);
    const bend = x1 === x2 ? 26 : Math.max(18, Math.abs(x2 - x1) / 2.5);
    shape(
      "path",
      { class: `edge ${kind}`, d: `M${x1} ${y1}C${x1 + s1 * bend} ${y1} ${x2 + s2 * bend} ${y2} ${x2} ${y2}` },
      canvas.over,
    );
    shape("circle", { class: `edge ${kind}`, cx: x2, cy: y2, r: 3 }, canvas.over);
  };
  for (const [id] of node.inputs) link(id, node.id, "input");
  for (const user of users.get(node.id) ?? []) link(node.id, user.id, "output");
  for (const id of node.after) link(id, node.id, "waits");
  for (const waiter of waiters.get(node.id) ?? []) link(node.id, waiter.id, "waits");
}

// [x, direction] where an edge leaves a box: towards the other one, to the left within a column.
function anchor(here, there) {
  const c = column(here.part === "forward" ? "forward" : here.part === "backward" ? "gradient" : "update");
  const rank = { forward: 0, backward: 1, update: 2 };
  return rank[there.part] > rank[here.part] ? [c.x + c.width - 4, 1] : [c.x, -1];
}
