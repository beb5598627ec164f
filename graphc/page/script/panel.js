// The panel at the side: a node, a row, or the step at a glance. On a phone it is a sheet at the bottom.

function panel(title, ...parts) {
  const side = document.getElementById("side");
  side.replaceChildren(
    element(
      "div",
      { class: "sidehead" },
      element("h2", {}, title),
      element("button", { class: "close", "aria-label": "close", onclick: () => clear() }, "×"),
    ),
    ...parts.filter(Boolean),
  );
  side.scrollTop = 0;
  document.getElementById("said").textContent = title;
}
const section = (title, ...children) => element("section", {}, element("h3", {}, title), ...children);
const code = (text, kind = "") => element("pre", { class: kind }, text);

function nodeLink(id) {
  const node = byId.get(id);
  if (!node) return element("span", { class: "dim", title: gone.get(id) ?? null }, `%${id}${gone.has(id) ? "" : " (gone)"}`);
  return element(
    "a",
    {
      href: `#%${id}`,
      title: nodeText(node),
      onclick: (event) => {
        event.preventDefault();
        select(id);
      },
    },
    `%${id} ${node.op}`,
  );
}
function nodeLinks(ids, most = 8) {
  const made = ids.slice(0, most).flatMap((id, k) => (k ? [", ", nodeLink(id)] : [nodeLink(id)]));
  return ids.length > most ? [...made, ` and ${count(ids.length - most)} more`] : made;
}
const linkList = (pairs) =>
  element(
    "div",
    { class: "list" },
    ...pairs.map(([id, about]) => element("div", {}, nodeLink(id), element("span", { class: "dim" }, about))),
  );
const lineOf = (id) => (byId.has(id) ? typeText(byId.get(id)) : (gone.get(id) ?? ""));

// ---- a node

function showNode(node) {
  const cell = node.cell >= 0 ? cells[node.cell] : null;
  panel(
    `%${node.id} ${node.op}`,
    element(
      "p",
      { class: "where" },
      cell ? element("span", { title: cell.class }, `${cell.path || cell.class} `) : null,
      cell && cell.path ? element("span", { class: "dim" }, cell.class) : null,
    ),
    code(nodeText(node), "wrap"),
    sourceOf(node),
    gradientOf(node),
    neighbours(node),
    historyOf(node),
    kernelsOf(node),
    memoryOf_(node),
    orderOf(node),
  );
}

function excerpt(file, line) {
  const pieces = data.source[file] ?? [];
  const piece = pieces.find(([first, lines]) => first <= line && line < first + lines.length);
  if (!piece) return null;
  const made = element("pre", { class: "source" }),
    [first, lines] = piece;
  for (let number = Math.max(first, line - 3); number <= Math.min(line + 3, first + lines.length - 1); number++) {
    made.append(
      element(
        "span",
        { class: number === line ? "line here" : "line" },
        element("i", {}, String(number)),
        lines[number - first] || " ",
      ),
    );
  }
  return made;
}

// The user's innermost line, and how they got there.
function sourceOf(node) {
  if (!node.locs.length) return null;
  return section(
    "source",
    ...node.locs.slice(0, 4).map((loc, k) => {
      const file = data.locs.file[loc],
        line = data.locs.line[loc],
        name = `${data.files[file]}:${line}`,
        shown = excerpt(file, line);
      if (k && shown) return element("details", {}, element("summary", { class: "at" }, `called from ${name}`), shown);
      return element(
        "div",
        {},
        element("div", { class: "at" }, k ? `called from ${name}` : name),
        shown ?? (k ? null : element("div", { class: "dim" }, "the file was not at hand when the page was made")),
      );
    }),
  );
}

function gradientOf(node) {
  const own = gradients.get(node.id) ?? [];
  if (node.region === "backward" && node.fwd !== null) return section("gradient of", linkList([[node.fwd, lineOf(node.fwd)]]));
  if (node.op === "Param")
    return section("updated by", linkList(updateNodes(node).map((n) => [n.id, `${n.region} ${lineOf(n.id)}`])));
  if (node.param !== null)
    return section("for the weight", linkList(parameters.filter((p) => p.name === node.param).map((p) => [p.id, p.name])));
  return own.length ? section("gradient", linkList(own.map((n) => [n.id, n.name || lineOf(n.id)]))) : null;
}

function neighbours(node) {
  const to = users.get(node.id) ?? [];
  return section(
    "data",
    element(
      "div",
      { class: "list" },
      node.inputs.length
        ? element(
            "div",
            {},
            element("span", { class: "dim" }, "reads"),
            element("span", {}, ...nodeLinks([...new Set(node.inputs.map(([id]) => id))])),
          )
        : null,
      to.length
        ? element("div", {}, element("span", { class: "dim" }, "read by"), element("span", {}, ...nodeLinks(to.map((n) => n.id))))
        : element("div", { class: "dim" }, "read by no node: a result, or a new value of a weight"),
    ),
  );
}

// Back to what it was made from, and forward to what became of it: one line per rewrite.
const madeBy = listed(rewrites.flatMap((r) => r.to.map((id) => [id, r])));
const became = listed(rewrites.flatMap((r) => r.from.map((id) => [id, r])));

function historyLines(id, next, side) {
  const seen = new Set(),
    lines = [],
    waiting = [id];
  while (waiting.length && lines.length < 12) {
    for (const rewrite of next.get(waiting.shift()) ?? [])
      if (!seen.has(rewrite.k)) {
        seen.add(rewrite.k);
        lines.push(rewrite);
        waiting.push(...rewrite[side].filter((other) => other !== id));
      }
  }
  return lines;
}

function historyOf(node) {
  const back = historyLines(node.id, madeBy, "from").filter((r) => !(r.from.length === 1 && r.from[0] === node.id)),
    on = historyLines(node.id, became, "to");
  const first = passes.find((pass) => pass.added.includes(node.id));
  const line = (rewrite, ids, word) =>
    element(
      "div",
      {},
      element("span", { class: "pass" }, rewrite.pass),
      element("span", {}, rewrite.rule ? `${rewrite.rule} ` : "", element("span", { class: "dim" }, word), ...nodeLinks(ids, 5)),
    );
  const lines = [
    ...back.map((r) => line(r, r.from, "from ")),
    first && !back.length
      ? element("div", {}, element("span", { class: "pass" }, first.name), element("span", {}, "made it"))
      : null,
    !first && !back.length
      ? element("div", {}, element("span", { class: "pass" }, "trace"), element("span", {}, "as your code says"))
      : null,
    ...on.map((r) => line(r, r.to, "into ")),
  ];
  return section("history", element("div", { class: "history" }, ...lines.filter(Boolean)));
}

function kernelsOf(node) {
  const own = callsOf.get(node.id) ?? [];
  if (!own.length)
    return section(
      "kernel",
      element(
        "div",
        { class: "dim" },
        silent.has(node.op)
          ? "no code: it is there when the step begins"
          : "no code of its own: a view, or folded into its users",
      ),
    );
  return section(
    own.length > 1 ? "kernels" : "kernel",
    ...own.slice(0, 3).map((call) => callPart(call, node)),
    own.length > 3 ? element("div", { class: "dim" }, `and ${own.length - 3} more calls`) : null,
  );
}

function callPart(call, node) {
  const others = call.nodes.filter((id) => id !== node?.id),
    ir = kernels.get(call.kernel),
    line = stepLines.get(call.line);
  const rate =
    timed && cost(call) > 0
      ? [
          call.flops ? `${three(call.flops / cost(call) / 1e6)} Gflop/s` : "",
          call.bytes ? `${three(call.bytes / cost(call) / 1e6)} GB/s` : "",
        ]
          .filter(Boolean)
          .join(", ")
      : "";
  return element(
    "div",
    { class: "kernel" },
    element(
      "div",
      {},
      element("code", {}, call.kernel),
      timed ? element("b", {}, ` ${time(cost(call))}`) : null,
      timed ? element("span", { class: "dim" }, " exact") : null,
    ),
    element(
      "div",
      { class: "dim" },
      [
        `call ${count(call.k + 1)} of ${count(calls.length)}`,
        call.threads > 1 ? `${call.threads} threads` : "one thread",
        rate || (call.flops ? work(call.flops) : ""),
        ...call.branch.map(([id, arm]) => `${arm} of %${id}`),
      ]
        .filter(Boolean)
        .join(" · "),
    ),
    others.length
      ? element("div", {}, element("span", { class: "dim" }, node ? "with " : "computes "), ...nodeLinks(others, 6))
      : null,
    line ? element("div", {}, element("span", { class: "dim" }, `step.py:${call.line}`), code(line)) : null,
    ir ? irPart(ir) : null,
  );
}

function irPart({ lines, text }) {
  const more = lines - text.split("\n").length;
  return element(
    "details",
    {},
    element("summary", {}, `LLVM IR, ${plural(lines, "line")}`),
    code(more > 0 ? `${text}\n… ${plural(more, "more line")}: graphc dump writes all of kernels.ll` : text, "ir"),
  );
}

function memoryOf_(node) {
  const own = buffersOf.get(node.id) ?? [];
  return section(
    "memory",
    ...(own.length ? own.map((buffer) => bufferPart(buffer, node)) : [element("div", { class: "dim" }, "none of its own")]),
  );
}

function bufferPart(buffer, node) {
  const others = buffer.values.filter((id) => id !== node.id),
    life = element("div", { class: "life", title: "its life within the step" }),
    part = element("i", { class: `m-${buffer.class}` });
  if (buffer.space === "arena" && buffer.first >= 0) {
    part.style.left = `${(100 * buffer.first) / calls.length}%`;
    part.style.width = `${Math.max(0.6, (100 * (buffer.last - buffer.first + 1)) / calls.length)}%`;
    life.append(part);
  }
  return element(
    "div",
    {},
    element(
      "div",
      {},
      element("b", {}, bytes(buffer.bytes)),
      ` ${buffer.class}, buffer ${buffer.id} `,
      element(
        "span",
        { class: "dim" },
        buffer.space === "arena" ? `at ${count(buffer.offset)} of the arena` : `in ${buffer.space}`,
      ),
    ),
    buffer.space === "arena" && buffer.first >= 0
      ? element(
          "div",
          {},
          life,
          element(
            "a",
            {
              href: `#memory/${buffer.first + 1}`,
              onclick: (event) => {
                event.preventDefault();
                state.call = buffer.first;
                show("memory");
              },
            },
            `alive from call ${count(buffer.first + 1)} to ${count(buffer.last + 1)}`,
          ),
        )
      : null,
    others.length ? element("div", {}, element("span", { class: "dim" }, "shared with "), ...nodeLinks(others, 6)) : null,
  );
}

// Who waits for whom: order edges alone, nothing flows along them.
function orderOf(node) {
  const before = node.after,
    after = waiters.get(node.id) ?? [];
  if (!before.length && !after.length) return null;
  return section(
    "order",
    element(
      "div",
      { class: "list" },
      ...before.map((id) => element("div", {}, element("span", { class: "dim" }, "waits for"), nodeLink(id))),
      ...after.slice(0, 8).map((n) => element("div", {}, nodeLink(n.id), element("span", { class: "dim" }, "waits for it"))),
    ),
  );
}

// ---- a row

function showRow(row, part = null) {
  state.selected = null;
  const own = factsOf(row),
    list = row.list ?? (part === "gradient" ? own.gradient : part === "update" ? own.updating.slice(0, 400) : own.first);
  const cell = row.cell >= 0 ? cells[row.cell] : null,
    computed = [...within(own.every), ...own.backward, ...own.updating, ...(row.list ?? [])],
    kernelSet = [...new Set(computed.flatMap((n) => callsOf.get(n.id) ?? []))].sort((a, b) => cost(b) - cost(a));
  panel(
    row.label ? row.label + (row.folds ? ` ×${own.times}` : "") : `%${own.first[0]?.id}`,
    cell ? element("p", { class: "where" }, `${cell.class} `, element("span", { class: "dim" }, cell.path)) : null,
    cell && cell.loc !== null ? excerpt(data.locs.file[cell.loc], data.locs.line[cell.loc]) : null,
    row.list
      ? null
      : section(
          "in numbers",
          facts3([
            ["forward", manyText(own.first.length, own.times), costText(own.parts[0].value)],
            ["gradient", manyText(own.gradient.length, own.times), costText(own.parts[1].value)],
            ["update", plural(own.weights.length, "weight"), costText(own.parts[2].value)],
          ]),
          element(
            "p",
            { class: "dim" },
            [
              own.exact ? "" : `${timed ? "times" : "flops"} are shares where kernels reach over the row`,
              own.saved ? `${bytes(own.saved)} saved for the gradient` : "",
            ]
              .filter(Boolean)
              .join(" · "),
          ),
        ),
    kernelSet.length
      ? section(
          "kernels, exact",
          element(
            "div",
            { class: "list" },
            ...kernelSet
              .slice(0, 8)
              .map((call) =>
                element(
                  "div",
                  {},
                  element("span", { class: "num" }, costText(cost(call))),
                  element("span", {}, `${call.family} `, ...nodeLinks(call.nodes, 2)),
                ),
              ),
            kernelSet.length > 8
              ? element(
                  "div",
                  { class: "dim" },
                  `and ${count(kernelSet.length - 8)} more, ${costText(total(kernelSet.slice(8), cost))}`,
                )
              : null,
          ),
        )
      : null,
    section(
      part ?? "nodes",
      element(
        "div",
        { class: "list nodes" },
        ...list.slice(0, 200).map((n) => element("div", {}, nodeLink(n.id), element("span", { class: "dim" }, n.types[0]))),
        list.length > 200 ? element("div", { class: "dim" }, `and ${count(list.length - 200)} more: open the row`) : null,
      ),
    ),
  );
  document.body.classList.add("sheet");
  mark();
  drawLines(...visible());
  remember();
}

const facts3 = (lines) =>
  element("table", {}, ...lines.map((line) => element("tr", {}, ...line.map((text, k) => element(k ? "td" : "th", {}, text)))));

// ---- the step at a glance

// An op with its Cell, as there are many of a name.
function opTitle(node) {
  const cell = cells[node?.cell]?.path.split(".").at(-1);
  return node ? (cell ? `${cell} · ${node.op}` : node.op) : "";
}

function overview() {
  const leafs = layout.rows.filter((row) => row.leaf),
    slow = [...leafs]
      .sort((a, b) => factsOf(b).value - factsOf(a).value)
      .slice(0, 8)
      .filter((row) => percent(factsOf(row).value / allCost));
  const regions = ["forward", "backward", "overflow", "optimizer", "state"]
    .map((name) => [name, nodes.filter((node) => node.region === name)])
    .filter(([, list]) => list.length);
  const title = (row) => (row.label || opTitle(factsOf(row).first[0])) + (row.folds ? ` ×${factsOf(row).times}` : ""),
    here = aliveAt(peakCall);
  panel(
    "At a glance",
    section(
      "regions",
      facts3(
        regions.map(([name, list]) => [
          name,
          plural(list.length, "node"),
          costOf(list).value ? costText(costOf(list).value) : "",
        ]),
      ),
    ),
    order
      ? section(
          "overflow order",
          element(
            "p",
            {},
            element(
              "b",
              { class: order.ordered === order.tested ? "good" : "bad" },
              order.ordered === order.tested ? "holds" : "broken",
            ),
            `: ${order.ordered} of ${plural(order.tested, "tested gradient")} ${order.tested === 1 ? "is" : "are"} `,
            "computed after the status is cleared, and ",
            order.update ? nodeLink(order.update.id) : "the update",
            " waits for the check",
          ),
        )
      : null,
    slow.length
      ? section(
          timed ? "slowest rows" : "most flops",
          element(
            "div",
            { class: "bars" },
            ...slow.map((row) => {
              const go = () => {
                state.row = row.key;
                scrollTo(row);
                showRow(row);
              };
              return bar(title(row), factsOf(row).value / allCost, shareText(factsOf(row)), "plain", go);
            }),
          ),
          timed
            ? null
            : element(
                "p",
                { class: "dim" },
                "No times: ",
                element("code", {}, "graphc profile TARGET --record t.json"),
                " measures, ",
                element("code", {}, "graphc page t.json"),
                " shows them.",
              ),
        )
      : null,
    inArena.length
      ? section(
          `memory peak, ${bytes(peakBytes)}`,
          element(
            "div",
            { class: "bars" },
            ...summedBy(here, (b) => b.class).map(([name, value]) => bar(name, value / peakBytes, bytes(value), `m-${name}`)),
          ),
          element(
            "p",
            {},
            element(
              "a",
              {
                href: "#memory",
                onclick: (event) => {
                  event.preventDefault();
                  show("memory");
                },
              },
              "the timeline",
            ),
          ),
        )
      : null,
    section(
      "passes",
      element(
        "p",
        {},
        passes.length
          ? `${passes.length} passes, ${plural(passes[0].nodes, "node")} traced, ${count(passes.at(-1).nodes)} in the end: `
          : "none recorded ",
        element(
          "a",
          {
            href: "#passes",
            onclick: (event) => {
              event.preventDefault();
              show("passes");
            },
          },
          "step through them",
        ),
      ),
    ),
  );
}
