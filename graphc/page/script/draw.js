// The picture: a sticky head, and of the rows those that can be seen.

const canvas = { scroller: null, body: null, head: null, rows: new Map(), lines: null };

function stepView(parent) {
  canvas.head = element("div", { class: "heads" });
  canvas.body = element("div", {
    class: "rows",
    role: "treegrid",
    tabindex: "0",
    "aria-label": "the step, one row per forward node or Cell",
    onfocus: () => state.row === null && canvas.body.matches(":focus-visible") && move(0),
  });
  canvas.scroller = element("div", { class: "scroller", onscroll: scrolled }, canvas.head, canvas.body);
  parent.append(canvas.scroller);
  canvas.body.addEventListener("click", clicked);
  resize();
}

function resize() {
  const width = Math.max(canvas.scroller.clientWidth, 320);
  layout.width = width;
  layout.columns = columnsFor(width - 20);
  canvas.scroller.style.setProperty("--columns", layout.columns.map((c) => `${c.width}px`).join(" "));
  canvas.scroller.style.setProperty("--width", `${width}px`);
  canvas.scroller.classList.toggle("narrow", width < 620);
  rearrange();
}

function rearrange() {
  arrange();
  canvas.body.replaceChildren();
  canvas.rows.clear();
  canvas.body.style.height = `${layout.rows.length * HEIGHT + (order ? TURN : 24)}px`;
  canvas.body.setAttribute("aria-rowcount", layout.rows.length);
  canvas.lines = shape("svg", { class: "lines", "aria-hidden": "true" }, canvas.body);
  canvas.over = shape("svg", { class: "lines over", "aria-hidden": "true" }, canvas.body);
  if (!layout.rows.length) canvas.body.append(element("p", { class: "dim" }, "Nothing is computed: what goes in comes out."));
  drawHeads();
  drawTurn();
  paint();
}

function drawHeads() {
  const narrow = layout.width < 620;
  const words = {
    tree: "Cell",
    file: "source",
    forward: "forward ↓",
    saved: narrow ? "" : "saved",
    gradient: narrow ? "grad ↑" : "gradient ↑",
    gate: "",
    update: narrow ? "update" : "update →",
    cost: timed ? "time" : "flops",
    alive: "alive ↓ ↑",
  };
  const about = {
    tree: "the Cells, in the order in which they run",
    file: "the line in your source",
    saved: "activations that are kept for the gradient",
    gate: "every gradient passes the overflow check before it updates its weight",
    cost: timed
      ? "measured share of the step; ≈ where a kernel computes nodes of several rows: its time is shared among them by bytes"
      : "share of the step's floating point operations; profile the step for times",
    alive: "bytes of activations and gradients alive: left when the row's forward is done, right when its gradient runs",
  };
  canvas.head.replaceChildren(
    ...layout.columns.map((c) =>
      element("span", { class: `h-${c.name}`, title: about[c.name] ?? null }, c.width > 30 ? words[c.name] : ""),
    ),
  );
  if (order) {
    const passed = order.ordered === order.tested;
    canvas.head.append(
      element(
        "button",
        {
          class: `gatehead${passed ? "" : " wrong"}`,
          title:
            `%${order.check.id} GetFloatStatus tests ${plural(order.tested, "gradient")}; ` +
            `${passed ? "all are" : `only ${order.ordered} are`} computed after the status is cleared`,
          onclick: () => select(order.check.id),
        },
        layout.width < 1000 ? "finite?" : `finite? tests ${order.tested}`,
      ),
    );
    const gate = column("gate"),
      button = canvas.head.lastChild;
    button.style.left = `${10 + gate.x + gate.width / 2}px`;
  }
}

let painting = 0;
// Draws anew when other rows come near; in between the browser moves what is there.
function scrolled() {
  cancelAnimationFrame(painting);
  painting = requestAnimationFrame(() => canvas.scroller && String(visible()) !== canvas.drawn && paint());
}

// Which rows are in the window, with some around them, in steps of eight.
function visible() {
  const height = state.printing ? Infinity : canvas.scroller.clientHeight,
    top = state.printing ? 0 : canvas.scroller.scrollTop;
  const snapped = (rows, round) => round(rows / 8) * 8;
  return [
    Math.max(0, snapped(top / HEIGHT, Math.floor) - 8),
    Math.min(layout.rows.length, snapped((top + height) / HEIGHT, Math.ceil) + 8),
  ];
}

function paint() {
  const [from, to] = visible();
  for (const [index, made] of canvas.rows)
    if (index < from || index >= to) {
      made.remove();
      canvas.rows.delete(index);
    }
  for (let index = from; index < to; index++)
    if (!canvas.rows.has(index)) {
      const made = drawRow(layout.rows[index]);
      canvas.rows.set(index, made);
      canvas.body.append(made);
    }
  canvas.drawn = String([from, to]);
  drawLines(from, to);
  mark();
}

function drawRow(row) {
  const own = factsOf(row),
    made = element("div", {
      class: `row ${row.kind}${row.open ? " open" : ""}`,
      id: `row-${row.index}`,
      role: "row",
      "aria-level": row.depth + 1,
      "aria-rowindex": row.index + 1,
      "data-row": row.index,
      "aria-expanded": row.kind === "group" ? String(row.open) : null,
    });
  made.style.top = `${topOf(row)}px`;
  made.append(
    treeCell(row, own),
    element(
      "span",
      { class: "file", role: "gridcell" },
      element("bdi", {}, column("file").width ? sourceOfRow(row, own) : ""),
    ),
  );
  if (row.open && !row.holder) return made;
  if (row.kind === "shared") {
    made.append(element("span"), element("span"), element("span"), element("span"), sharedBox(row, own));
  } else
    made.append(
      element("span", { class: "boxes", role: "gridcell" }, forwardBox(row, own)),
      savedMark(own),
      gradientBoxes(row, own),
      element("span", { class: "gate" }),
      updateBoxes(row, own),
    );
  made.append(costCell(own), aliveCell(own));
  return made;
}

// The line of a node, or where the construct of an open Cell is.
function sourceOfRow(row, own) {
  if (row.kind === "node" || row.holder) return place(own.first[0].locs[0]);
  return row.open && row.cell >= 0 && !isLibrary(row.cell) ? place(cells[row.cell].loc) : "";
}

// How often a loop of known length runs.
const turnsOf = (node) => /(^|, )length=(\d+)/.exec(node.attrs)?.[2];

function treeCell(row, own) {
  const made = element("span", { class: "tree", role: "rowheader" });
  made.style.paddingLeft = `${row.depth * (layout.width < 620 ? 8 : 14)}px`;
  if (row.kind !== "group") made.append(element("span", { class: "toggle" }));
  else
    made.append(
      element(
        "button",
        { class: "toggle", "data-do": "toggle", tabindex: "-1", "aria-label": row.open ? "close" : "open" },
        row.open ? "▾" : "▸",
      ),
    );
  if (row.label)
    made.append(
      element("span", { class: "label", title: row.all[0]?.key?.slice(1).replaceAll("/", ".") ?? row.label }, row.label),
    );
  if (row.folds)
    made.append(
      element("button", { class: "times", "data-do": "unfold", tabindex: "-1", title: "show each of them" }, `×${own.times}`),
    );
  else if (state.unfolded.has(row.key))
    made.append(element("button", { class: "times", "data-do": "fold", tabindex: "-1", title: "fold what repeats" }, "fold"));
  const turns = row.holder || row.all[0]?.owner ? turnsOf(own.first[0]) : undefined;
  if (row.cell >= 0 || turns) made.append(element("span", { class: "class" }, turns ? `${turns} turns` : cells[row.cell].class));
  return made;
}

const heat = (value, most) => Math.min(1, Math.sqrt(value / most));
function warm(made, list) {
  if (!state.colour) return;
  const { value, exact } = costOf(list);
  made.classList.add("warm");
  made.classList.toggle("estimated", !exact && value > 0);
  made.style.setProperty("--heat", heat(value, layout.mostPart).toFixed(3));
}

// A box of nodes. ids: those that a click selects, the first of them.
function box(kind, list, label, more, title, heated = list) {
  const made = element(
    "button",
    { class: `box ${kind}`, tabindex: "-1", "data-node": list[0]?.id, title },
    element("span", { class: "what" }, label),
    more ? element("span", { class: "type" }, more) : null,
  );
  warm(made, heated);
  return made;
}
const manyText = (number, times) => `${plural(number, "node")}${times > 1 ? ` ×${times}` : ""}`;
// In a box: a phone has no room for the factor, which stands beside the Cell's name.
const boxText = (number, times) => manyText(number, layout.width < 620 ? 1 : times);

function forwardBox(row, own) {
  const last = own.first.at(-1),
    type = last.types[0];
  if (row.kind === "group" && !row.holder)
    return box(
      "fw",
      own.first,
      boxText(own.first.length, own.times),
      type,
      `${manyText(own.first.length, own.times)}, to ${typeText(last)}`,
      own.every,
    );
  return box(
    "fw",
    own.first,
    own.first[0].op + (own.times > 1 && layout.width >= 620 ? ` ×${own.times}` : ""),
    type,
    nodeText(own.first[0]),
    own.every,
  );
}

const savedMark = (own) =>
  element(
    "span",
    {
      class: own.saved ? "saved" : "",
      role: "gridcell",
      title: own.saved ? `${bytes(own.saved)} of activations are kept for the gradient` : null,
    },
    own.saved && layout.width >= 620 ? element("span", {}, bytes(own.saved)) : "",
  );

function gradientBoxes(row, own) {
  const made = element("span", { class: "boxes", role: "gridcell" }),
    list = own.gradient,
    room = column("gradient").width;
  if (!list.length) return made;
  if (row.kind === "group" || list.length > Math.max(1, Math.floor(room / 84))) {
    made.append(
      box(
        "bw",
        list,
        row.kind === "group" || list.length > 1 ? boxText(list.length, own.times) : list[0].op,
        list.length === 1 ? list[0].types[0] : "",
        list.slice(0, 12).map(nodeText).join("\n"),
        own.backward,
      ),
    );
  } else
    for (const node of list)
      made.append(
        box(
          node.name ? "bw final" : "bw",
          [node],
          node.op,
          list.length === 1 ? node.types[0] : "",
          nodeText(node),
          list.length === 1 ? own.backward : [node],
        ),
      );
  return made;
}

const shortName = (param) => param.name.split(".").at(-1) || `%${param.id}`;
function updateBoxes(row, own) {
  const made = element("span", { class: "boxes", role: "gridcell" }),
    { weights, written } = own;
  if (weights.length) {
    const size = bytes(total(weights, bytesOf)),
      names = [...new Set(weights.map(shortName))];
    const label =
      names.length === 1 && weights.length <= own.times
        ? names[0] + (weights.length > 1 ? ` ×${weights.length}` : "")
        : layout.width < 620
          ? size
          : plural(weights.length, "weight");
    made.append(
      box(
        "up",
        own.updating.length ? own.updating : weights,
        label,
        size,
        weights
          .slice(0, 12)
          .map((p) => `${p.name}: ${p.types[0]}, ${plural(updateNodes(p).length, "node")}`)
          .join("\n"),
      ),
    );
  }
  if (written.length) {
    const names = [...new Set(written.map(shortName))];
    made.append(
      box(
        "state",
        written,
        weights.length ? "" : written.length > 1 ? plural(written.length, "average") : names[0],
        weights.length ? "" : bytes(total(written, bytesOf)),
        `written forward, not held back by the check:\n${written
          .slice(0, 12)
          .map((p) => p.name)
          .join("\n")}`,
        [],
      ),
    );
    if (weights.length) made.lastChild.classList.add("small");
  }
  return made;
}

const sharedBox = (row, own) =>
  element(
    "span",
    { class: "boxes", role: "gridcell" },
    box("up shared", row.list, plural(row.list.length, "node"), "", row.list.slice(0, 12).map(nodeText).join("\n")),
  );

// A share of the whole; marked where it is an estimate.
function shareText(own) {
  const text = percent(own.value / allCost);
  return text && !own.exact ? `≈${text}` : text;
}

function costCell(own) {
  const made = element("span", { class: "cost", role: "gridcell" });
  if (column("cost").width === 0 || !own.value) return made;
  const bars = element("span", { class: "split" });
  ["fw", "bw", "up"].forEach((kind, k) => {
    const part = element("i", { class: kind });
    part.style.width = `${(100 * own.parts[k].value) / layout.most}%`;
    bars.append(part);
  });
  const parts = ["forward", "gradient", "update"].map((name, k) => `${name} ${costText(own.parts[k].value)}`).join(", ");
  const how = own.exact ? "" : "\n≈ kernels that also compute nodes of other rows are shared by bytes";
  made.title = `${own.exact ? "" : "about "}${costText(own.value)}: ${parts}${how}`;
  made.append(bars, element("span", { class: "num" }, shareText(own)));
  return made;
}

function aliveCell(own) {
  const made = element("span", { class: "alive", role: "gridcell" });
  if (column("alive").width === 0 || (!own.memory.forward && !own.memory.backward)) return made;
  const side = (range, kind) => {
    const part = element("span", { class: kind });
    if (range) {
      const [least, most] = range.map((value) => `${(100 * value) / (peakBytes || 1)}%`),
        outside = element("i", { class: "to" }),
        inside = element("i", {});
      outside.style.width = most;
      inside.style.width = least;
      part.append(outside, inside);
      part.classList.toggle("top", range[1] >= peakBytes * 0.9999);
    }
    return part;
  };
  const words = (range) =>
    range ? (range[0] === range[1] ? bytes(range[1]) : `${bytes(range[0])} to ${bytes(range[1])}`) : "nothing runs";
  made.title = `forward: ${words(own.memory.forward)}\ngradient: ${words(own.memory.backward)}`;
  made.append(side(own.memory.forward, "left"), side(own.memory.backward, "right"));
  return made;
}

function clicked(event) {
  const at = event.target.closest(".row");
  if (!at) return;
  const row = layout.rows[Number(at.dataset.row)],
    what = event.target.closest("[data-do]")?.dataset.do,
    node = event.target.closest("[data-node]");
  state.row = row.key;
  if (what === "unfold") return change(() => state.unfolded.add(row.key));
  if (what === "fold") return change(() => state.unfolded.delete(row.key));
  if (node) {
    const one = row.kind === "node" || (row.holder && node.classList.contains("fw"));
    const only = !one && factsOf(row).first.length + factsOf(row).gradient.length !== 1 && !node.classList.contains("state");
    return only
      ? showRow(row, node.classList.contains("bw") ? "gradient" : node.classList.contains("up") ? "update" : "forward")
      : select(Number(node.dataset.node), false);
  }
  if (row.kind === "group") return toggle(row);
  showRow(row);
}

function change(what) {
  const top = canvas.scroller.scrollTop;
  what();
  rearrange();
  canvas.scroller.scrollTop = top;
  paint();
  remember();
}
const toggle = (row) => change(() => (state.open.has(row.key) ? state.open.delete(row.key) : state.open.add(row.key)));

// Classes for what is selected, found and current.
function mark() {
  const chosen = state.selected === null ? null : placeOf(state.selected);
  canvas.body.removeAttribute("aria-activedescendant");
  for (const [index, made] of canvas.rows) {
    const row = layout.rows[index];
    const current = row.key === state.row;
    made.classList.toggle("current", current);
    made.setAttribute("aria-selected", String(current));
    if (current) canvas.body.setAttribute("aria-activedescendant", made.id);
    made.classList.toggle("hit", state.hitRows.has(row));
    made.classList.toggle("dim", state.hitRows.size > 0 && !state.hitRows.has(row));
    for (const part of made.querySelectorAll(".box")) {
      const kind = part.classList.contains("fw") ? "forward" : part.classList.contains("bw") ? "backward" : "update";
      const own = Number(part.dataset.node) === state.selected,
        whole = made.querySelectorAll(`.box.${part.classList[1]}`).length === 1;
      part.classList.toggle("chosen", chosen?.row === row && chosen.part === kind && (own || whole));
    }
  }
}
